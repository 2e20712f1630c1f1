"""``cachelog why`` and ``cachelog diff --coverage``: causes, paths and cells."""

from pathlib import Path

import pytest

from tests.model.cells import coverage
from tests.model.changes import Causes, counterparts
from tests.model.states import State
from tests.schema.comparisons.test_causes import BASE, EARLIER, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import fail, run_in, succeed_in
from tests.snapshots.factories import a_spec

REFS = ("develop~1", "develop")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of an earlier revision, of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), EARLIER, BASE, HEAD)


EXPECTED = Causes(BASE, HEAD, counterparts(BASE, HEAD))
"""The causes according to the model."""


def hash_of_head(name: str) -> str:
    """Return the hash of the only spec of a package in head."""
    (spec,) = HEAD.of_package(name)
    return spec.hash


@pytest.mark.parametrize(
    "arguments",
    [
        ("why",),
        ("why", f"/{hash_of_head('app')[:9]}"),
        ("diff", "--stat"),
        ("notes",),
    ],
    ids=" ".join,
)
def test_default_is_the_last_change(world: World, arguments: tuple[str, ...]) -> None:
    """The newest revision of the main series, and the one before it."""
    command, *options = arguments
    expected = run_in(world, command, *REFS, *options)
    assert expected.code == 0
    assert run_in(world, *arguments).out == expected.out


def test_removed_and_added_specs_have_reasons(world: World) -> None:
    """A replaced spec has its replacement; one without a counterpart, only the reason."""
    digest = hash_of_head("app")
    (before, _) = EXPECTED.starts[digest]
    assert f"replaced by {digest}" in run_in(world, "why", *REFS, f"/{before}").out
    assert "added: returned" in run_in(world, "why", *REFS, "new").out
    assert "removed: package gone" in run_in(world, "why", *REFS, "old").out


def test_ambiguous_counterparts_are_reported(tmp_path: Path) -> None:
    """If one of two equal specs of a page is removed and one rebuilt, it is unknown which."""
    before, after = ([a_spec(f"{label}", name="a") for label in labels] for labels in ("12", "3"))
    world = published(tmp_path, State(before), State(after))
    text = "1 of 2 was rebuilt; it is unknown which"
    for command in ("diff", "why"):
        arguments = (command, *REFS, *(["a"] if command == "why" else []))
        assert run_in(world, *arguments).out.count(text) == 2
    specs = run_in(world, "why", *REFS, "a", "--json").json["specs"]
    assert [spec["ambiguous"] for spec in specs] == [True] * 3
    query = """query($base: String!, $head: String!) {
      compare(base: $base, head: $head) { specs { nodes { ambiguous whyAmbiguous } } }
    }"""
    nodes = world.data(query, base=REFS[0], head=REFS[1])["compare"]["specs"]["nodes"]
    assert nodes == [{"ambiguous": True, "whyAmbiguous": text}] * 3


def test_unchanged_package_is_no_error(world: World) -> None:
    """A message says that it is unchanged."""
    result = run_in(world, "why", "develop", "develop", "app")
    assert (result.code, result.out, result.err) == (0, "", "Nothing changed.\n")


def test_single_argument_is_a_package(world: World) -> None:
    """The error states how to name two revisions."""
    error = fail("why", "develop", catalog=world.catalog.location)
    assert error.startswith("cachelog: PACKAGE: neither revision has 'develop'")
    assert error.endswith("to compare revisions, write BASE HEAD, or BASE..HEAD\n")


def test_json_has_causes_and_paths(world: World) -> None:
    """The causes by their keys, and each spec with its path."""
    report = run_in(world, "why", *REFS, "--json").json
    assert report["format"] == 2
    keys = [cause["key"] for cause in report["causes"]]
    assert [cause["package"] for cause in report["causes"]] == [
        cause.package for cause in EXPECTED.ordered()
    ]
    assert sum(cause["num_specs"] for cause in report["causes"]) == len(EXPECTED.main)
    for spec in report["specs"]:
        if spec["hash"] in EXPECTED.main:
            assert spec["counterpart"] == EXPECTED.starts[spec["hash"]][0]
            assert spec["cause"] == keys[EXPECTED.ordered().index(EXPECTED.main[spec["hash"]])]
            assert {*spec["causes"]} <= {*keys}
            path = [(step["before"], step["after"]) for step in spec["path"]]
            assert EXPECTED.is_shortest_path(spec["hash"], path)
    (app,) = run_in(world, "why", *REFS, f"/{hash_of_head('app')}", "--json").json["specs"]
    assert app["name"] == "app"


def test_coverage_lists_lost_and_gained_cells(world: World) -> None:
    """Lost and gained cells, and the nearest specs of a lost one."""
    cells = coverage(BASE, HEAD, ["stack", "target"])
    result = succeed_in(world, "diff", *REFS, "--coverage", "stack,target")
    lines = [line[2:] for line in result.lines if line[:3] in ("  -", "  +")]
    assert lines == [
        f"{'-' if cell.is_lost else '+'} {' '.join(cell.cell.values)}" for cell in cells
    ]
    nearest = [line.split()[1] for line in result.lines if line.strip().startswith("nearest:")]
    assert nearest == [cell.nearest[0] for cell in cells if cell.nearest]
    lost = sum(cell.is_lost for cell in cells)
    assert result.lines[-1] == (f"{lost} lost, {len(cells) - lost} gained (package, stack, target)")
    assert run_in(world, "diff", *REFS, "--coverage", "", "--exit-code").code == 1
    same = ("develop", "develop", "--coverage", "stack", "--exit-code")
    assert run_in(world, "diff", *same).code == 0


def test_coverage_json_is_restricted_to_a_stack(world: World) -> None:
    """The hashes of the nearest specs; ``--stack`` restricts the cells."""
    cells = coverage(BASE, HEAD, ["stack"])
    report = run_in(world, "diff", *REFS, "--coverage", "stack", "--json").json
    assert report["by"] == ["stack"]
    assert report["only"] == {"package": None, "stack": None, "matching": None}
    assert [
        (row["kind"] == "lost", row["package"], row["values"], tuple(row["nearest"]))
        for row in report["coverage"]
    ] == [(cell.is_lost, cell.cell.package, [*cell.cell.values], cell.nearest) for cell in cells]
    report = run_in(world, "diff", *REFS, "--coverage", "stack", "--stack", "hep", "--json").json
    assert report["only"]["stack"] == "hep"
    assert {row["package"] for row in report["coverage"]} == {"lone"}

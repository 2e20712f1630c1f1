"""``cachelog why`` and ``cachelog diff --coverage``: causes, paths and cells."""

from pathlib import Path

import pytest

from tests.model.cells import coverage
from tests.model.changes import Causes, counterparts
from tests.model.states import State
from tests.schema.comparisons.test_causes import BASE, EARLIER, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import ask
from tests.snapshots.factories import a_spec

REFS = ("develop~1", "develop")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of an earlier state, of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), EARLIER, BASE, HEAD)


@pytest.fixture(scope="module")
def expected() -> Causes:
    """Return what the records say."""
    return Causes(BASE, HEAD, counterparts(BASE, HEAD))


def hash_of_head(name: str) -> str:
    """Return the hash of the only spec of a package in head."""
    (spec,) = HEAD.of_package(name)
    return spec.hash


def test_the_causes(world: World, expected: Causes) -> None:
    """A line each, what explains most first, with numbers that add up."""
    done = ask(world, "why", *REFS)
    assert (done.code, done.err) == (0, "")
    _, summary, head, *lines = done.lines
    assert summary.startswith(f"{len(expected.main)} specs replaced another")
    assert head.split() == ["rebuilt", "reached", "cause"]
    for line, cause in zip(lines, expected.ordered(), strict=True):
        num_specs, num_involved, title = line.split(maxsplit=2)
        assert int(num_specs) == len(expected.specs(cause))
        assert int(num_involved) == len(expected.involved_in(cause))
        assert (cause.package or "") in title
    assert ask(world, "why", "..".join(REFS)).out == done.out


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
def test_without_revisions_the_last_change_is_explained(
    world: World, arguments: tuple[str, ...]
) -> None:
    """The newest revision of the main series, and the one before it."""
    command, *others = arguments
    expected = ask(world, command, *REFS, *others)
    assert expected.code == 0
    assert ask(world, *arguments).out == expected.out


def test_one_spec(world: World, expected: Causes) -> None:
    """What it replaced, and the path to its main cause; any prefix names it."""
    digest = hash_of_head("app")
    (before, _) = expected.starts[digest]
    done = ask(world, "why", *REFS, f"/{digest[:8]}")
    assert (done.code, done.err) == (0, "")
    assert done.lines[1].startswith(digest)
    assert f"replaced {before}" in done.out
    steps = [line for line in done.lines if " → " in line and "↳" in line]
    assert len(steps) == expected.distance(digest)
    assert (expected.main[digest].package or "") in steps[-1]
    assert done.out in ask(world, "why", *REFS, "app").out
    assert f"replaced by {digest}" in ask(world, "why", *REFS, f"/{before}").out


@pytest.mark.parametrize(
    ("name", "text"), [("new", "added: returned"), ("old", "removed: package gone")]
)
def test_what_has_no_counterpart(world: World, name: str, text: str) -> None:
    """The reason alone."""
    assert text in ask(world, "why", *REFS, name).out


def test_what_is_ambiguous(tmp_path: Path) -> None:
    """Of two equal specs of a page, one gone and one rebuilt, it is not known which."""
    before, after = ([a_spec(f"{label}", name="a") for label in labels] for labels in ("12", "3"))
    world = published(tmp_path, State(before), State(after))
    text = "1 of 2 was rebuilt; which is not known"
    for command in ("diff", "why"):
        arguments = (command, *REFS, *(["a"] if command == "why" else []))
        assert ask(world, *arguments).out.count(text) == 2
    specs = ask(world, "why", *REFS, "a", "--json").json["specs"]
    assert [spec["ambiguous"] for spec in specs] == [True] * 3
    query = """query($base: String!, $head: String!) {
      compare(base: $base, head: $head) { specs { nodes { ambiguous whyAmbiguous } } }
    }"""
    nodes = world.data(query, base=REFS[0], head=REFS[1])["compare"]["specs"]["nodes"]
    assert nodes == [{"ambiguous": True, "whyAmbiguous": text}] * 3


def test_nothing_to_explain(world: World) -> None:
    """A package without changes is no error."""
    done = ask(world, "why", "develop", "develop", "app")
    assert (done.code, done.out, done.err) == (0, "", "Nothing changed.\n")


def test_one_revision_is_no_package(world: World) -> None:
    """A single word is a package; the error says how two revisions are written."""
    done = ask(world, "why", "develop")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("cachelog: PACKAGE: neither revision has 'develop'")
    assert done.err.endswith("to compare revisions, write BASE HEAD, or BASE..HEAD\n")


def test_why_as_json(world: World, expected: Causes) -> None:
    """The causes by their keys, and each spec with its path."""
    facts = ask(world, "why", *REFS, "--json").json
    assert facts["format"] == 2
    keys = [cause["key"] for cause in facts["causes"]]
    assert [cause["package"] for cause in facts["causes"]] == [
        cause.package for cause in expected.ordered()
    ]
    assert sum(cause["num_specs"] for cause in facts["causes"]) == len(expected.main)
    for spec in facts["specs"]:
        if spec["hash"] in expected.main:
            assert spec["counterpart"] == expected.starts[spec["hash"]][0]
            assert spec["cause"] == keys[expected.ordered().index(expected.main[spec["hash"]])]
            assert {*spec["causes"]} <= {*keys}
            path = [(step["before"], step["after"]) for step in spec["path"]]
            assert expected.is_shortest_path(spec["hash"], path)
    (one,) = ask(world, "why", *REFS, f"/{hash_of_head('app')}", "--json").json["specs"]
    assert one["name"] == "app"


def test_coverage(world: World) -> None:
    """Lost and gained cells, and below a lost one what is nearest."""
    cells = coverage(BASE, HEAD, ["stack", "target"])
    done = ask(world, "diff", *REFS, "--coverage", "stack,target")
    assert (done.code, done.err) == (0, "")
    printed = [line[2:] for line in done.lines if line[:3] in ("  -", "  +")]
    assert printed == [f"{'-' if it.is_lost else '+'} {' '.join(it.cell.values)}" for it in cells]
    nearest = [line.split()[1] for line in done.lines if line.strip().startswith("nearest:")]
    assert nearest == [it.nearest[0] for it in cells if it.nearest]
    lost = sum(it.is_lost for it in cells)
    assert done.lines[-1] == (f"{lost} lost, {len(cells) - lost} gained (package, stack, target)")
    assert ask(world, "diff", *REFS, "--coverage", "", "--exit-code").code == 1
    assert ask(world, "diff", "develop", "develop", "--coverage", "stack", "--exit-code").code == 0


def test_coverage_as_json(world: World) -> None:
    """With the hashes of what is nearest; of a stack only its own cells."""
    cells = coverage(BASE, HEAD, ["stack"])
    facts = ask(world, "diff", *REFS, "--coverage", "stack", "--json").json
    assert facts["by"] == ["stack"]
    assert facts["only"] == {"package": None, "stack": None, "matching": None}
    assert [(it["kind"] == "lost", it["package"], it["values"]) for it in facts["coverage"]] == [
        (it.is_lost, it.cell.package, [*it.cell.values]) for it in cells
    ]
    assert [tuple(it["nearest"]) for it in facts["coverage"]] == [it.nearest for it in cells]
    facts = ask(world, "diff", *REFS, "--coverage", "stack", "--stack", "hep", "--json").json
    assert facts["only"]["stack"] == "hep"
    assert {it["package"] for it in facts["coverage"]} == {"lone"}

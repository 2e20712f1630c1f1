"""``cachelog why`` and ``cachelog diff --coverage``: causes, paths and cells."""

import re

import pytest

from tests.model.cells import coverage
from tests.model.changes import Causes, counterparts
from tests.schema.comparisons.test_causes import BASE, EARLIER, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import fail, run_in, succeed_in

REFS = ("develop~1", "develop")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of an earlier revision, of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), EARLIER, BASE, HEAD)


EXPECTED = Causes(BASE, HEAD, counterparts(BASE, HEAD))
"""The causes according to the model."""


(APP,) = (spec.hash for spec in HEAD.of_package("app"))


@pytest.mark.parametrize("line", ["why", f"why /{APP[:9]}", "diff --stat", "notes"])
def test_default_is_the_last_change(world: World, line: str) -> None:
    """The newest revision of the main series, and the one before it."""
    command, *options = line.split()
    expected = succeed_in(world, command, *REFS, *options)
    assert run_in(world, command, *options).out == expected.out


def test_removed_and_added_specs_have_reasons(world: World) -> None:
    """A replaced spec has its replacement; one without a counterpart, the reason alone."""
    (before, _) = EXPECTED.starts[APP]
    assert f"app {before[:7]} → {APP[:7]}" in run_in(world, "why", *REFS, f"/{before}").out
    assert re.search(r"^  \+ .*: returned$", run_in(world, "why", *REFS, "new").out, re.M)
    assert re.search("^  - .*: package gone$", run_in(world, "why", *REFS, "old").out, re.M)
    unchanged = run_in(world, "why", "develop", "develop", "app")
    assert unchanged.lines[1:] == ["nothing changed"]
    error = fail("why", "develop", catalog=world.catalog.location)  # the name of a package
    assert error.startswith("cachelog: PACKAGE: neither revision has 'develop'")
    assert error.endswith("to compare revisions, write BASE HEAD, or BASE..HEAD\n")


def test_coverage_lists_lost_and_gained_cells(world: World) -> None:
    """Lost and gained cells, and the nearest specs of a lost one; ``--stack`` restricts them."""
    cells = coverage(BASE, HEAD, ["stack", "target"])
    result = succeed_in(world, "diff", *REFS, "--coverage", "stack", "--coverage", "target")
    lost_and_gained = [line[2:] for line in result.lines if line[:3] in ("  -", "  +")]
    lines = [line.partition(":")[0] for line in lost_and_gained]
    expected = [f"{'-' if cell.is_lost else '+'} {' '.join(cell.cell.values)}" for cell in cells]
    assert lines == expected
    nearest = re.findall(": nearest (\\w+) ", "\n".join(lost_and_gained))
    assert nearest == [cell.nearest[0][:7] for cell in cells if cell.nearest]
    lost = sum(cell.is_lost for cell in cells)
    assert result.lines[-1] == (f"{lost} lost, {len(cells) - lost} gained (package, stack, target)")
    assert run_in(world, "diff", *REFS, "--coverage", "stack", "--exit-code").code == 1
    same = ("develop", "develop", "--coverage", "stack", "--exit-code")
    assert run_in(world, "diff", *same).code == 0
    report = run_in(world, "diff", *REFS, "--coverage", "stack", "--stack", "hep", "--json").json
    (row,) = report["compare"]["coverage"]["nodes"]
    (cell,) = (cell for cell in coverage(BASE, HEAD, ["stack"]) if cell.cell.package == "lone")
    assert (row["kind"] == "LOST", row["packageName"]) == (cell.is_lost, "lone")
    assert tuple(row["values"]) == cell.cell.values

"""What can no longer be had: all of it, with the reasons, and what there is instead."""

from hypothesis import given

from snapshots.models import Spec
from snapshots.notes.sections import FEW
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import told


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_every_package_version_and_place_that_is_lost(base: list[Spec], head: list[Spec]) -> None:
    """Found by sets of records; what is lost with a package or a stack is told with that."""
    lost = told(base, head).no_longer_available
    names, left = {spec.name for spec in base}, {spec.name for spec in head}
    assert {change.name for change in lost.packages} == names - left
    before, after = ({(spec.name, spec.version) for spec in specs} for specs in (base, head))
    assert {(change.package, change.version) for change in lost.versions} == {
        row for row in before - after if row[0] in left
    }
    stacks = [{stack for spec in specs for stack in spec.stacks} for specs in (base, head)]
    is_told = all(stack - {"root"} for stack in stacks)
    places = [
        {
            (spec.name, (stack, spec.target))
            for spec in specs
            for stack in spec.stacks
            if stack != "root"
        }
        for specs in (base, head)
    ]
    if is_told:
        assert {(change.package, change.values) for change in lost.coverage} == {
            (name, (stack, target))
            for name, (stack, target) in places[0] - places[1]
            if name in left and stack in stacks[1]
        }
    for package in lost.packages:
        assert sum(package.reasons.values()) == package.num_specs
    for version in lost.versions:
        assert sum(version.reasons.values()) == version.num_specs
        assert set(version.replaced_by) <= {
            spec.version for spec in head if spec.name == version.package
        }


def test_a_package_that_went_with_its_stacks() -> None:
    """Said only where all of its stacks were removed."""
    old = [
        a_spec("1", name="a", stacks=("gone", "root")),
        a_spec("2", name="b", stacks=("gone", "kept", "root")),
        a_spec("3", name="c", stacks=("kept", "root")),
    ]
    lost = told(old, old[2:]).no_longer_available
    assert [(package.name, package.with_stacks) for package in lost.packages] == [
        ("a", ["gone"]),
        ("b", []),
    ]


def test_what_took_the_place_of_a_version() -> None:
    """Newest first; older only where all of them are."""
    old = [a_spec("1", version="1.5"), a_spec("2", version="1.5", target="m1")]
    new = [a_spec("3", version="1.4"), a_spec("4", version="1.6", target="m1")]
    (both,) = told(old, new).no_longer_available.versions
    assert (both.replaced_by, both.is_older, both.reasons) == (
        ["1.6", "1.4"],
        False,
        {"replaced": 2},
    )
    (older,) = told(old[:1], new[:1]).no_longer_available.versions
    assert (older.replaced_by, older.is_older) == (["1.4"], True)
    other = a_spec("5", version="1.3", target="m1")
    (none,) = told([*old[:1], other], [other]).no_longer_available.versions
    assert (none.replaced_by, none.is_older, none.reasons) == ([], False, {"version_gone": 1})


def test_what_is_nearest_is_told_where_a_place_lost_few() -> None:
    """A whole stack that moved to another target is not a list of hundreds of neighbours."""
    for count in (FEW, FEW + 1):
        old = [a_spec(f"o{n}", name=f"p{n}", target="m1") for n in range(count)]
        new = [a_spec(f"n{n}", name=f"p{n}", target="m2") for n in range(count)]
        cells = told(old, new).no_longer_available.coverage
        assert [len(cell.nearest) for cell in cells] == [int(count == FEW)] * count

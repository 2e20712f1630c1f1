"""Coverage: lost and gained cells and their nearest specs, against the model."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes import coverage as coverage_module
from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageDimension,
    coverage,
    usual_dimensions,
)
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from tests.expensive import FEWER_EXAMPLES
from tests.model import cells as model
from tests.model.explained import compared
from tests.model.states import State
from tests.snapshots.changes.states import compare, pairs
from tests.snapshots.factories import a_spec

STACK, TARGET, OPERATING_SYSTEM, PLATFORM, COMPILER, COMPILER_NAME, VERSION = CoverageDimension
LOST, GAINED = CoverageChangeKind
DIMENSIONS = st.lists(st.sampled_from(CoverageDimension), max_size=8)


def without_nearest(changes: Iterable[CoverageChange]) -> list[tuple[object, ...]]:
    """Return the changes without their nearest specs."""
    return [(change.kind, change.package, change.values, change.num_specs) for change in changes]


def in_terms_of_the_model(change: CoverageChange, head: Frame) -> model.CellChange:
    """Return a change in the model's form."""
    return model.CellChange(
        change.kind is LOST,
        model.Cell(change.package, change.values),
        change.num_specs,
        tuple(map(head.hashes.at, change.nearest)),
    )


def check(base: State, head: State, dimensions: Sequence[CoverageDimension]) -> None:
    """Assert that cells, their order, numbers and nearest specs are those of the model."""
    comparison = compared(base, head)
    changes = [
        in_terms_of_the_model(change, comparison.head)
        for change in coverage(comparison, dimensions)
    ]
    assert changes == model.coverage(base, head, [dimension.value for dimension in dimensions])


@given(pairs(), DIMENSIONS, st.sampled_from([1, 40, coverage_module.MAX_MARKED]))
@example(([], []), [], 40)
def test_against_the_model(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension], most: int
) -> None:
    """The model agrees for any dimensions, whether combinations are marked or numbered first."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(coverage_module, "MAX_MARKED", most)
        base, head = map(State, states)
        check(base, head, dimensions)


@FEWER_EXAMPLES
@given(pairs(), DIMENSIONS)
def test_find_and_select(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension]
) -> None:
    """Cells are found by package and values, and selected by kind and by package search."""
    table = coverage(compare(*states), dimensions)
    records = list(table)
    for kinds in ([], [LOST], [GAINED, LOST]):
        assert list(table.select(kinds)) == [record for record in records if record.kind in kinds]
    assert list(table.select(search="LIB1")) == [
        record for record in records if "lib1" in record.package.lower()
    ]
    for position, record in enumerate(records):
        assert table.find(record.package, record.values) == position
        assert table.find(record.package, [*record.values, "more"]) is None
        assert table.find("nope", record.values) is None
        if record.values:
            assert table.find(record.package, ["nope", *record.values[1:]]) is None


BASE = [
    a_spec("1", stacks=("e4s", "hep", "root"), target="m1"),
    a_spec("2", stacks=("e4s", "root"), target="m1", compiler=None),
    a_spec("3", name="lib10", stacks=("root",), target="zen4"),
    a_spec("4", name="lib2", stacks=("hep", "root"), target="zen4", version="1.10"),
]
HEAD = [
    a_spec("1", stacks=("hep", "root"), target="m1"),
    a_spec("5", stacks=("hep", "root"), target="m1", compiler="gcc@13.1.0"),
    a_spec("6", name="lib10", stacks=("e4s", "root"), target="zen4"),
    a_spec("7", name="lib2", stacks=("hep",), target="zen4", version="1.9"),
    a_spec("8", name="lib2", stacks=("hep",), target="zen4", version="1.9", variants=()),
]


@pytest.mark.parametrize(
    ("dimension", "facts"), [(COMPILER, {"compiler": None}), (STACK, {"stacks": ("root",)})]
)
def test_unlisted_dimension(dimension: CoverageDimension, facts: dict[str, object]) -> None:
    """If a side lists no compilers, or no stacks, none of them is lost or gained."""
    without = [replace(spec, **facts) for spec in BASE]
    assert not coverage(compare(BASE, without), [dimension])
    assert not coverage(compare(without, BASE), [TARGET, dimension])
    assert without_nearest(
        coverage(compare([*BASE, a_spec("9", target="m2")], without), [TARGET])
    ) == [(LOST, "hdf5", ("m2",), 1)]


def test_usual_dimensions() -> None:
    """Coverage is by stack and target, or by target alone if a side lists no stacks."""
    without = [replace(spec, stacks=("root",)) for spec in BASE]
    assert usual_dimensions(compare(BASE, HEAD)) == [STACK, TARGET]
    assert usual_dimensions(compare(BASE, [])) == [STACK, TARGET]
    for sides in ((BASE, without), (without, HEAD), (without, without)):
        assert usual_dimensions(compare(*sides)) == [TARGET]

"""Coverage is what a naive walk over records says."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageDimension,
    coverage,
)
from snapshots.frames.frame import Frame
from tests.snapshots.changes.oracle import coverage as oracle
from tests.snapshots.changes.oracle.catalogs import weeks
from tests.snapshots.changes.oracle.columns import compared
from tests.snapshots.changes.oracle.real import STACKS, dates, records
from tests.snapshots.changes.oracle.states import State

DIMENSIONS = st.lists(st.sampled_from(CoverageDimension), max_size=4)


@given(weeks(), DIMENSIONS)
def test_made_up_weeks(week: tuple[State, State], dimensions: list[CoverageDimension]) -> None:
    """Cells, their order, their numbers and what is nearest agree, for any choice of dimensions."""
    assert_agreement(*week, dimensions)


@pytest.mark.parametrize("stacks", [*([it] for it in STACKS), STACKS])
@pytest.mark.parametrize("names", ["", "stack target", "version", "compiler_name operating_system"])
def test_real_weeks(stacks: Sequence[str], names: str) -> None:
    """So they do on real indexes, in both directions."""
    dimensions = [CoverageDimension(name) for name in names.split()]
    before, after = (State(*records(date, stacks)) for date in dates()[-2:])
    assert_agreement(before, after, dimensions)
    assert_agreement(after, before, dimensions)


def assert_agreement(base: State, head: State, dimensions: Sequence[CoverageDimension]) -> None:
    """Fail where a cell is not as the oracle has it."""
    expected = oracle.coverage(base, head, [it.value for it in dimensions])
    comparison = compared(base, head)
    found = coverage(comparison, dimensions)
    assert [as_oracle(it, comparison.head) for it in found] == expected


def as_oracle(change: CoverageChange, head: Frame) -> oracle.CellChange:
    """Return a change in the oracle's terms."""
    return oracle.CellChange(
        change.kind is CoverageChangeKind.LOST,
        oracle.Cell(change.package, change.values),
        change.num_specs,
        tuple(map(head.hashes.at, change.nearest)),
    )

"""Counterparts, reasons, causes and paths are what a naive walk over records says."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings

from snapshots.changes.diff import SpecChangeKind
from snapshots.demo import history
from tests.snapshots.changes.oracle.catalogs import crowds, towers, weeks
from tests.snapshots.changes.oracle.causes import Causes
from tests.snapshots.changes.oracle.counterparts import counterparts
from tests.snapshots.changes.oracle.explained import Explained
from tests.snapshots.changes.oracle.real import STACKS, dates, records
from tests.snapshots.changes.oracle.reasons import added_reasons, removed_reasons
from tests.snapshots.changes.oracle.states import State

ADDED, REMOVED, CHANGED = SpecChangeKind

Week = tuple[State, State]


@pytest.mark.no_cover
@given(weeks())
def test_reasons(week: Week) -> None:
    """Reasons and counterparts agree, those of specs that had been there before included."""
    assert_same_reasons(*week)


@pytest.mark.no_cover
@settings(max_examples=200)
@given(crowds)
def test_reasons_among_many(week: Week) -> None:
    """So they do where a package has many specs that are much alike."""
    assert_same_reasons(*week)


@pytest.mark.no_cover
@given(weeks())
def test_causes(week: Week) -> None:
    """So do causes, their order and numbers, those of each spec, and the paths to them."""
    assert_same_causes(*week)


@pytest.mark.no_cover
@settings(max_examples=50)  # each is a catalog of its own
@given(towers)
def test_far_above(week: Week) -> None:
    """So does everything where causes lie far below what they rebuilt."""
    assert_same_reasons(*week)
    assert_same_causes(*week)


def test_demo() -> None:
    """So does everything on what the demo shows, week by week."""
    snapshots = history(revisions=4, packages=40, specs=200)
    contents = [snapshot.content for snapshot in snapshots]
    states = [State(content.specs(), content.outside.specs) for content in contents]
    for base, head in pairwise(states):
        assert_same_reasons(base, head)
        assert_same_causes(base, head)


@pytest.mark.parametrize("stacks", [*([it] for it in STACKS), STACKS])
def test_real_weeks(stacks: Sequence[str]) -> None:
    """So does everything on real indexes, in both directions."""
    before, after = (State(*records(date, stacks)) for date in dates()[-2:])
    for base, head in ((before, after), (after, before)):
        assert_same_reasons(base, head)
        assert_same_causes(base, head)


def assert_same_reasons(base: State, head: State) -> None:
    """Fail where a counterpart or a reason is not as the oracle has it."""
    returned = frozenset(digest for digest in head.specs if digest < "n")
    found = Explained(base, head, returned)
    expected = counterparts(base, head)
    assert found.counterparts(ADDED) == expected
    assert found.counterparts(REMOVED) == {before: after for after, before in expected.items()}
    assert found.reasons(ADDED) == added_reasons(base, head, returned)
    assert found.reasons(REMOVED) == removed_reasons(base, head)
    assert set(found.reasons(CHANGED).values()) <= {"facts"}


def assert_same_causes(base: State, head: State) -> None:
    """Fail where a cause, its numbers or a path are not as the oracle has them."""
    pairs = counterparts(base, head)
    expected = Causes(base, head, pairs)
    found = Explained(base, head)
    num_specs = Counter(expected.main.values())
    assert found.causes == expected.ordered()
    assert found.num_specs == {it: num_specs[it] for it in expected.ordered()}
    assert found.num_involved == expected.num_involved
    assert found.together == {it: expected.together(it) for it in expected.ordered()}
    assert found.specs(involved=False) == {it: expected.specs(it) for it in found.causes}
    assert found.specs(involved=True) == {it: expected.involved_in(it) for it in found.causes}
    assert found.packages == {it: expected.packages(it) for it in expected.ordered()}
    assert found.facts == {it: expected.facts(it) for it in expected.ordered()}
    assert found.main == expected.main | {pairs[it]: main for it, main in expected.main.items()}
    for after, before in pairs.items():
        involved = found.involved[after]
        assert involved[0] == expected.main[after]
        assert set(involved) == expected.involved[after]
        assert len(involved) == len(expected.involved[after])
        assert found.involved[before] == involved
        assert expected.is_shortest_path(after, found.paths[after])
    some = [digest for digest in head.specs if digest < "n"]
    assert found.counted(some) == expected.counted(some)

"""Comparisons of two sides: the same parts in a scope, without one, and of given explanations."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.rules.measures import RuleContext, Searched
from snapshots.changes.rules.rules import judge, read_rule
from snapshots.changes.scope import ComparisonFilter
from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.models import SideInfo
from snapshots.side_comparisons import SideComparison
from tests.snapshots.changes.graphs import edge, node
from tests.snapshots.factories import a_snapshot, day

BASE = [
    node("zlib", version="1", stacks=("e4s",)),
    node("hdf5", "zlib", stacks=("e4s",)),
    node("tau", "zlib", stacks=("hep",)),
    node("gone", stacks=("hep",)),
]
HEAD = [
    node("zlib:2", version="2", stacks=("e4s",)),
    node("hdf5:2", edge("zlib:2"), stacks=("e4s",)),
    node("tau:2", edge("zlib:2"), stacks=("hep",)),
    node("new", stacks=("hep",)),
]
CAUSE = "version|zlib|1|2"

Compare = Callable[[ComparisonFilter | None], SideComparison[SideInfo, Library]]


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """Return what compares the two revisions of a catalog in a scope."""
    catalog = Catalog(str(tmp_path / "catalog"))
    for moment, specs in enumerate((BASE, HEAD), 1):
        catalog.publish([a_snapshot(specs, "develop", taken_at=day(moment))])
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    return lambda only: SideComparison(base, head, Library(catalog), only)


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (None, [8, 2, 1, 3, 1]),
        (ComparisonFilter(), [8, 2, 1, 3, 1]),
        (ComparisonFilter(stack="e4s"), [4, 1, 1, 2, 0]),
        (ComparisonFilter(package="tau"), [2, 1, 0, 1, 0]),
        (ComparisonFilter(matching="^zlib"), [4, 2, 0, 2, 0]),
        (ComparisonFilter(matching="new"), [1, 0, 0, 0, 0]),
        (ComparisonFilter(matching="gone"), [1, 0, 0, 0, 1]),
        (ComparisonFilter(stack="e4s", matching="new"), [0, 0, 0, 0, 0]),
    ],
)
def test_each_part_describes_the_scope(
    compare: Compare, only: ComparisonFilter | None, expected: list[int]
) -> None:
    """Changes, reasons, causes and coverage are those of the specs in it."""
    comparison = compare(only)
    rebuilt, replaced = map(comparison.count, (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES))
    causes = list(comparison.causes_in_scope.values())
    cells = comparison.coverage([CoverageDimension.STACK])
    changes = comparison.changes.specs
    counts = [len(changes), rebuilt, replaced]
    numbers = [cause.num_specs for cause in causes]
    assert [*counts, sum(numbers), cells.count(CoverageChangeKind.LOST)] == expected
    for cause in causes:
        assert comparison.explanation.causes.name_of(cause.number).key == CAUSE
        assert len(comparison.rows_of_cause(cause.number)) == cause.num_specs
    assert comparison.coverage((CoverageDimension.STACK,)) is cells
    notes = comparison.notes()
    assert [(cause.name.key, cause.num_specs) for cause in notes.causes if cause.num_specs] == [
        (CAUSE, number) for number in numbers if number
    ]
    assert notes.only == (only or ComparisonFilter())
    assert notes.summary.specs_added + notes.summary.specs_removed == len(changes)


@pytest.mark.parametrize(
    ("only", "error"),
    [
        (ComparisonFilter(package="zlip"), InvalidArgument),
        (ComparisonFilter(stack="e4"), InvalidArgument),
        (ComparisonFilter(matching="zlip"), UnknownPackage),
    ],
)
def test_a_name_that_neither_side_has(
    compare: Compare, only: ComparisonFilter, error: type[Exception]
) -> None:
    """It is an error, because it would read as if nothing had changed."""
    with pytest.raises(error):
        _ = compare(only).changes


def test_a_given_explanation(compare: Compare) -> None:
    """All parts follow from it; what its specs were before is not looked up."""
    whole = compare(None)
    swapped = SideComparison(whole.head, whole.base, whole.source)
    given = SideComparison(whole.base, whole.head, whole.source, explained=swapped.explanation)
    assert given.changes is swapped.explanation.comparison
    assert given.explanation is swapped.explanation
    assert not given.returned.any()
    assert np.array_equal(whole.returned, [False] * 4)


@pytest.mark.parametrize("query", ["hdf5 ^zlib@2", "hdf5 ^zlib@1"])
def test_what_rules_judge(compare: Compare, query: str) -> None:
    """It is the same whether the explanation is given, and only head without a base."""
    whole = compare(None)
    given = SideComparison(whole.base, whole.head, whole.source, explained=whole.explanation)
    rule = read_rule({"name": "a", "require": query}, lambda _: ())
    rebuilt = read_rule({"name": "b", "limit": "specs-rebuilt", "at-most": 2}, lambda _: ())
    names = whole.source.package_names
    verdict = judge([rule, rebuilt], whole.rule_context(names))
    assert [result.passed for result in verdict.results] == [query.endswith("2"), True]
    messages = [result.message for result in verdict.results]
    explained = judge([rule, rebuilt], given.rule_context(names))
    assert [result.message for result in explained.results] == messages
    after = Searched(whole.whole.head, lambda: whole.source.graph_of(whole.head))
    alone = judge([rule], RuleContext(None, after, names))
    assert alone.passed is query.endswith("2")

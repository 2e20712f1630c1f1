"""Why the made-up history changes: a few causes explain most, as in the real cache."""

from collections import Counter
from itertools import pairwise

import pytest

from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.contents import Snapshot
from snapshots.demo.machines import MACHINES
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import CauseKind
from tests.snapshots.changes.cause_records import records


@pytest.fixture(scope="module")
def weeks(revisions: list[Snapshot]) -> list[Explanation]:
    """Return why neighbours in the default history differ."""
    tables = [(it.content.table(), it.content.digest) for it in revisions]
    sides = [(table, Frame(table, digest)) for table, digest in tables]
    graphs = [DependencyGraph(table, frame.hashes) for table, frame in sides]
    frames = [frame for _, frame in sides]
    return [
        explain(Comparison(*both), *of_both)
        for both, of_both in zip(pairwise(frames), pairwise(graphs), strict=True)
    ]


def test_a_few_causes_explain_most(weeks: list[Explanation]) -> None:
    """The largest cause of a week explains about half of it, and five nearly all; all are known."""
    for week in weeks:
        causes = records(week.causes)
        numbers = [cause.num_specs for cause in causes]
        assert sum(numbers) == len(week.counterparts)
        assert numbers[0] > 0.4 * sum(numbers)
        assert sum(numbers[:5]) > 0.7 * sum(numbers)
        assert 5 < len(causes) < 40
        assert all(cause.why_unknown is None for cause in causes)
        assert len(causes[0].packages) > 20


def test_compilers_are_causes(weeks: list[Explanation]) -> None:
    """In two weeks another version of a compiler explains most: one cause for all packages."""
    compilers = {compiler.partition("@")[0] for it in MACHINES for compiler in it.compilers}
    largest = [records(week.causes)[0] for week in weeks]
    upgraded = [it for it in largest if it.package in compilers]
    assert len(upgraded) == 2
    assert {cause.kind for cause in upgraded} == {CauseKind.VERSION}
    kinds = {cause.kind for week in weeks for cause in records(week.causes)}
    assert kinds >= {CauseKind.VERSION, CauseKind.RECIPE}


def test_most_of_what_is_new_took_the_place_of_something(weeks: list[Explanation]) -> None:
    """Many specs are rebuilt, some are replaced, and the rest has its own reasons."""
    reasons = Counter[SpecChangeReason]()
    for week in weeks:
        codes = week.reasons(week.comparison.specs).tolist()
        found = Counter(REASONS[code] for code in codes)
        added = len(week.comparison.pairing.added)
        assert found[SpecChangeReason.REBUILT] > 0.3 * added
        assert 0.03 * added < found[SpecChangeReason.REPLACES] < 0.4 * added
        reasons += found
    assert reasons.keys() >= {
        SpecChangeReason.NEW_PACKAGE,
        SpecChangeReason.NEW_VERSION,
        SpecChangeReason.REPLACED,
        SpecChangeReason.PACKAGE_GONE,
        SpecChangeReason.VERSION_GONE,
        SpecChangeReason.TARGET_GONE,
        SpecChangeReason.FACTS,
    }


def test_coverage_is_lost_and_gained(weeks: list[Explanation]) -> None:
    """In every week, on some target; something of a package that stays is near to what is lost."""
    for week in weeks:
        cells = coverage(week.comparison, [CoverageDimension.STACK, CoverageDimension.TARGET])
        assert all(cells.count(kind) for kind in CoverageChangeKind)
        lost = cells.select([CoverageChangeKind.LOST])
        assert any(cell.nearest for cell in lost)
        assert any(not cell.nearest for cell in lost)

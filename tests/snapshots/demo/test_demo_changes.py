"""How the demo's history changes, from week to week, and why: as the real cache does."""

from collections import Counter
from itertools import pairwise

import pytest

from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.contents import PackageContent, Snapshot
from snapshots.demo.machines import MACHINES
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import CauseKind
from tests.snapshots.changes.cause_records import records


def hashes(package: PackageContent) -> set[str]:
    """Return the hashes of a package."""
    return {spec.hash for spec in package.specs}


def test_packages_return_after_an_outage(revisions: list[Snapshot]) -> None:
    """Many are missing for a week; if no dependency changed meanwhile, their hashes return."""
    weeks = [snapshot.content.packages for snapshot in revisions]
    returned = {
        name: bool(hashes(before[name]) & hashes(after[name]))
        for before, between, after in zip(weeks, weeks[1:], weeks[2:], strict=False)
        for name in (before.keys() & after.keys()) - between.keys()
    }
    assert len(returned) > 300 // 15
    assert 5 < sum(returned.values()) < len(returned)
    seen: set[str] = set()
    back: set[str] = set()
    for before, after in pairwise(weeks):
        assert any(before[name] is after[name] for name in before.keys() & after.keys())
        seen |= before.keys()
        back |= (seen & after.keys()) - before.keys()
    assert back == returned.keys()


# -- causes


@pytest.fixture(scope="module")
def weeks(revisions: list[Snapshot]) -> list[Explanation]:
    """Return the explanations of the differences between neighbours."""
    sides = []
    for snapshot in revisions:
        table = snapshot.content.table()
        frame = Frame(table, snapshot.content.digest)
        sides.append((frame, DependencyGraph(table, frame.hashes)))
    return [
        explain(Comparison(base, head), base_graph, head_graph)
        for (base, base_graph), (head, head_graph) in pairwise(sides)
    ]


def test_kinds_of_changes(weeks: list[Explanation]) -> None:
    """Each week has each kind of change of packages; stacks are added and removed twice or more."""
    stacks = Counter[StackChangeKind]()
    for week in weeks:
        packages = week.comparison.packages
        missing = {kind for kind in PackageChangeKind if not packages.count(kind)}
        # In the first week, no package has older versions from an upgrade yet.
        assert missing == ({PackageChangeKind.VERSIONS_CHANGED} if week is weeks[0] else set())
        stacks.update({kind: week.comparison.stacks.count(kind) for kind in StackChangeKind})
    assert all(count >= 2 for count in stacks.values())


def test_few_causes_explain_most(weeks: list[Explanation]) -> None:
    """The largest cause of a week explains about half, and five nearly all; all are known.

    In two weeks another version of a compiler explains most: one cause for all packages.
    """
    compilers = {name.partition("@")[0] for machine in MACHINES for name in machine.compilers}
    kinds, upgraded = set[CauseKind](), []
    for week in weeks:
        causes = records(week.causes)
        numbers = [cause.num_specs for cause in causes]
        assert sum(numbers) == len(week.counterparts)
        assert numbers[0] > 0.4 * sum(numbers)
        assert sum(numbers[:5]) > 0.7 * sum(numbers)
        assert 5 < len(causes) < 40
        assert all(cause.why_unknown is None for cause in causes)
        assert len(causes[0].packages) > 20
        kinds |= {cause.kind for cause in causes}
        upgraded += [causes[0].kind] if causes[0].package in compilers else []
    assert upgraded == [CauseKind.VERSION] * 2
    assert CauseKind.RECIPE in kinds


def test_most_new_specs_replace_others(weeks: list[Explanation]) -> None:
    """Many specs are rebuilt, some are replaced, and the others have various reasons.

    Coverage is lost and gained; some lost cells have similar specs, some have none.
    """
    reasons = set[SpecChangeReason]()
    for week in weeks:
        added = len(week.comparison.pairing.added)
        assert week.count(SpecChangeReason.REBUILT) > 0.3 * added
        assert 0.03 * added < week.count(SpecChangeReason.REPLACES) < 0.4 * added
        reasons |= {reason for reason in SpecChangeReason if week.count(reason)}
        cells = coverage(week.comparison, [CoverageDimension.STACK, CoverageDimension.TARGET])
        assert all(map(cells.count, CoverageChangeKind))
        nearest = [cell.nearest for cell in cells.select([CoverageChangeKind.LOST])]
        assert any(nearest)
        assert not all(nearest)
    assert reasons >= {
        SpecChangeReason.NEW_PACKAGE,
        SpecChangeReason.NEW_VERSION,
        SpecChangeReason.REPLACED,
        SpecChangeReason.PACKAGE_GONE,
        SpecChangeReason.VERSION_GONE,
        SpecChangeReason.TARGET_GONE,
    }

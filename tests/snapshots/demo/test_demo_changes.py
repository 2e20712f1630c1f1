"""How the demo's history changes, from week to week, and why: as the real cache does."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.contents import PackageContent, Snapshot
from snapshots.demo.machines import MACHINES
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import CauseKind
from snapshots.spack.versions import VersionKey, version_key
from tests.snapshots.changes.cause_records import records
from tests.snapshots.demo.test_demo import by_hash


def newest(package: PackageContent) -> VersionKey:
    """Return the sort key of a package's newest version."""
    return max(version_key(spec.version) for spec in package.specs)


def versions(package: PackageContent) -> set[str]:
    """Return the versions of a package."""
    return {spec.version for spec in package.specs}


def hashes(package: PackageContent) -> set[str]:
    """Return the hashes of a package."""
    return {spec.hash for spec in package.specs}


PackageTest = Callable[[PackageContent, PackageContent], bool]
PACKAGE_CHANGES: dict[str, PackageTest] = {
    "unchanged": lambda old, new: old is new,
    "upgraded": lambda old, new: newest(new) > newest(old),
    "downgraded": lambda old, new: newest(new) < newest(old),
    "oldest removed": lambda old, new: bool(hashes(new)) and hashes(new) < hashes(old),
    "rebuilt": lambda old, new: versions(old) == versions(new) and not hashes(old) & hashes(new),
    "partly rebuilt": lambda old, new: (
        versions(old) == versions(new)
        and len(old.specs) == len(new.specs)
        and 0 < len(hashes(old) & hashes(new)) < len(old.specs)
    ),
    "changed": lambda old, new: old is not new and hashes(old) == hashes(new),
}


@pytest.mark.parametrize("kind", PACKAGE_CHANGES)
def test_kinds_of_package_changes(revisions: list[Snapshot], kind: str) -> None:
    """Each week has each kind of change."""
    for before, after in pairwise(revisions):
        old, new = before.content.packages, after.content.packages
        if kind == "oldest removed" and before is revisions[0]:
            continue  # no package has been upgraded yet
        assert any(PACKAGE_CHANGES[kind](old[name], new[name]) for name in old.keys() & new.keys())


def test_added_and_removed_packages(revisions: list[Snapshot]) -> None:
    """Each week has at least one of both; names are never used twice."""
    earlier = set(revisions[0].content.packages)
    for before, after in pairwise(revisions):
        old, new = before.content.packages.keys(), after.content.packages.keys()
        assert new - earlier
        assert old - new or new & (earlier - old)
        earlier |= new


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
        seen |= before.keys()
        back |= (seen & after.keys()) - before.keys()
    assert back == returned.keys()


def test_added_and_removed_stacks(revisions: list[Snapshot]) -> None:
    """Specs of a removed stack stay in the cache."""
    changes = Counter[str]()
    for before, after in pairwise(revisions):
        opened = after.content.stacks - before.content.stacks
        closed = before.content.stacks - after.content.stacks
        changes.update(opened=len(opened), closed=len(closed))
        old, new = by_hash(before), by_hash(after)
        for stack in closed:
            assert any(stack in old[key].stacks for key in old.keys() & new.keys())
    assert changes["opened"] >= 2
    assert changes["closed"] >= 2


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


def test_few_causes_explain_most(weeks: list[Explanation]) -> None:
    """The largest cause of a week explains about half, and five nearly all; all are known."""
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
    compilers = {name.partition("@")[0] for machine in MACHINES for name in machine.compilers}
    causes = [records(week.causes) for week in weeks]
    upgraded = [largest for largest, *_ in causes if largest.package in compilers]
    assert [cause.kind for cause in upgraded] == [CauseKind.VERSION] * 2
    assert CauseKind.RECIPE in {cause.kind for of_week in causes for cause in of_week}


def test_most_new_specs_replace_others(weeks: list[Explanation]) -> None:
    """Many specs are rebuilt, some are replaced, and the others have various reasons."""
    reasons = Counter[SpecChangeReason]()
    for week in weeks:
        codes = week.reasons(week.comparison.specs).tolist()
        of_week = Counter(REASONS[code] for code in codes)
        num_added = len(week.comparison.pairing.added)
        assert of_week[SpecChangeReason.REBUILT] > 0.3 * num_added
        assert 0.03 * num_added < of_week[SpecChangeReason.REPLACES] < 0.4 * num_added
        reasons += of_week
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
    """In every week, on some target; some lost cells have similar specs, some have none."""
    for week in weeks:
        cells = coverage(week.comparison, [CoverageDimension.STACK, CoverageDimension.TARGET])
        assert all(cells.count(kind) for kind in CoverageChangeKind)
        nearest = [cell.nearest for cell in cells.select([CoverageChangeKind.LOST])]
        assert any(nearest)
        assert not all(nearest)

"""``forbid``: nothing of a kind may have happened, and what did is listed."""

from collections.abc import Sequence

import numpy as np

from snapshots.changes.coverage import CoverageChangeKind
from snapshots.changes.hashed_facts import mixed
from snapshots.changes.node_columns import Fingerprints
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.rules.lost_cells import lost_cells
from snapshots.changes.rules.records import Forbid, Forbidden
from snapshots.changes.rules.scopes import Scope
from snapshots.changes.rules.verdict import Breach, Breaches
from snapshots.changes.spec_changes import SpecChangeKind
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.columns import Rows, begins_of_runs, rows_where
from snapshots.frames.frame import Frame
from snapshots.wording import counted, short_hash, versioned

NOUNS = {
    Forbidden.PACKAGE_REMOVED: ("package", "removed"),
    Forbidden.PACKAGE_DOWNGRADED: ("package", "downgraded"),
    Forbidden.VERSION_REMOVED: ("version", "removed"),
    Forbidden.STACK_REMOVED: ("stack", "removed"),
    Forbidden.COVERAGE_LOST: ("cell", "lost"),
    Forbidden.SPEC_REMOVED: ("spec", "removed"),
}
"""What is counted, and what happened to it."""


def find_forbidden(demand: Forbid, scope: Scope) -> Sequence[Breach]:
    """Return everything of the kind that happened."""
    match demand.what:
        case Forbidden.PACKAGE_REMOVED:
            return _packages_removed(scope)
        case Forbidden.PACKAGE_DOWNGRADED:
            return _packages_downgraded(scope)
        case Forbidden.VERSION_REMOVED:
            return _versions_removed(scope)
        case Forbidden.STACK_REMOVED:
            return _stacks_removed(scope)
        case Forbidden.COVERAGE_LOST:
            cells = scope.cells(demand.for_each or scope.usual_dimensions)
            lost = cells.select([CoverageChangeKind.LOST])
            return lost_cells(lost, scope.sides[0], "{package} is gone")
        case Forbidden.SPEC_REMOVED:
            return _specs_removed(scope)


def _packages_removed(scope: Scope) -> Breaches:
    gone = scope.comparison.packages.select([PackageChangeKind.REMOVED])

    def breach(number: int) -> Breach:
        change = gone[number]
        rows = _rows_of(scope, change.name)
        versions = ", ".join(change.versions_before)
        message = f"{change.name} is gone: base has {counted(len(rows), 'spec')} of {versions}"
        return Breach(message, change.name, scope.comparison.base, rows)

    return Breaches(len(gone), breach)


def _packages_downgraded(scope: Scope) -> Breaches:
    fallen = scope.comparison.packages.select([PackageChangeKind.DOWNGRADED])

    def breach(number: int) -> Breach:
        change = fallen[number]
        frame, rows = scope.comparison.base, _rows_of(scope, change.name)
        code = frame.version.index[change.newest_before]
        rows = rows[frame.version.codes[rows] == code]
        message = f"{change.name} fell from {change.newest_before} to {change.newest_after}"
        return Breach(message, change.name, frame, rows)

    return Breaches(len(fallen), breach)


def _versions_removed(scope: Scope) -> Breaches:
    """Return the versions that base has of a package and head has not, in base's order."""
    base, head = scope.comparison.base, scope.comparison.head
    in_base, in_head = scope.sides
    rows = rows_where(in_base)
    ours, theirs = _versions(base, rows), _versions(head, rows_where(in_head))
    rows = rows[~np.isin(ours, theirs)]
    starts = np.flatnonzero(begins_of_runs(_versions(base, rows)))
    parts = np.split(rows, starts[1:]) if len(rows) else []

    def breach(number: int) -> Breach:
        own = parts[number]
        package, version = base.package.at(own[0]), base.version.at(own[0])
        message = f"{package} {version} is gone: base has {counted(len(own), 'spec')} of it"
        return Breach(message, package, base, own)

    return Breaches(len(parts), breach)


def _versions(frame: Frame, rows: Rows) -> Fingerprints:
    """Return a fingerprint of package and version of each row, good for both frames."""
    columns = frame.package, frame.version
    package, version = (it.fingerprints[it.codes[rows]].astype(np.uint64) for it in columns)
    return mixed(package, version)


def _stacks_removed(scope: Scope) -> Breaches:
    gone = scope.stacks(StackChangeKind.REMOVED)

    def breach(number: int) -> Breach:
        change, base = gone[number], scope.comparison.base
        rows = rows_where(scope.sides[0] & base.in_stack(change.name))
        message = f"the stack {change.name} is gone: base has {counted(len(rows), 'spec')} of it"
        return Breach(message, None, base, rows)

    return Breaches(len(gone), breach)


def _specs_removed(scope: Scope) -> Breaches:
    gone = scope.comparison.specs.select([SpecChangeKind.REMOVED])

    def breach(number: int) -> Breach:
        frame, rows = gone.base, gone.before[number : number + 1]
        spec = frame.spec(int(rows[0]))
        name = f"{versioned(spec.name, spec.version)} /{short_hash(spec.hash)}"
        message = f"{name} is gone: {spec.short}"
        return Breach(message, spec.name, frame, rows)

    return Breaches(len(gone), breach)


def _rows_of(scope: Scope, package: str) -> Rows:
    """Return the rows of a package of base that the rule is about."""
    own = scope.comparison.base.rows_of(package) or slice(0, 0)
    rows: Rows = rows_where(scope.sides[0][own]) + np.int32(own.start)
    return rows

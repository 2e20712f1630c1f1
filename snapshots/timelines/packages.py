"""The timeline of a package in a series: one entry for each revision that touched it."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Numbers
from snapshots.changes.package_changes import PackageChangeKind, package_kinds
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import History, Neighbours
from snapshots.models import RevisionInfo
from snapshots.spack.versions import VersionKey, place_in_order, total_order
from snapshots.timelines.steps import ADDED, CHANGED, KINDS, REMOVED, Events, Steps

_PACKAGE_KINDS = tuple(PackageChangeKind)


class PackageEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a package in a revision, compared with the one before it in its series.

    ``base`` is None for the first revision of the series. ``versions_added`` are the versions that
    only the new revision has, ``versions_removed`` those that only the one before had; both are
    newest first. ``reasons`` counts the specs that were added, removed and changed by reason; those
    that returned are not counted as new.
    """

    base: RevisionInfo | None
    head: RevisionInfo
    kind: PackageChangeKind
    versions_added: tuple[str, ...]
    versions_removed: tuple[str, ...]
    specs_added: int
    specs_removed: int
    specs_changed: int
    reasons: Mapping[SpecChangeReason, int]

    @property
    def step(self) -> Neighbours:
        """The two revisions."""
        return Neighbours(self.base, self.head)


class PackageTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """A package in a series: the revisions in which it was seen, and those that touched it.

    ``first_seen`` and ``last_seen`` are the first and the last revision that have a spec of it;
    revisions in between may lack it. ``entries`` are newest first.
    """

    name: str
    series: str
    first_seen: RevisionInfo
    last_seen: RevisionInfo
    entries: tuple[PackageEntry, ...]


def package_timeline(
    rows: pa.Table, name: str, series: str, history: History
) -> PackageTimeline | None:
    """Return the timeline of a package; None if no revision of the series had it.

    ``rows`` are rows of the table ``changes``: all rows of the package, and possibly others.
    """
    steps = Steps.of(history, [series])
    events = Events(rows.filter(pc.equal(rows["name"], name)), steps)
    by_kind = _counted(events, events.kinds, len(KINDS))
    num_after = np.cumsum(by_kind[ADDED] - by_kind[REMOVED])
    seen = np.flatnonzero(num_after > 0)
    if not len(seen):
        return None
    return PackageTimeline(
        name=name,
        series=series,
        first_seen=steps.revisions[seen[0]],
        last_seen=steps.revisions[seen[-1]],
        entries=tuple(_entries(events, by_kind, num_after))[::-1],
    )


def _counted(events: Events, codes: npt.NDArray[np.int8], num_codes: int) -> Numbers:
    """Return the number of events with each code (rows) at each step (columns)."""
    num_steps = len(events.steps)
    keys = codes.astype(np.int64) * num_steps + events.places
    return np.bincount(keys, minlength=num_codes * num_steps).reshape(num_codes, num_steps)


def _entries(events: Events, by_kind: Numbers, num_after: Numbers) -> list[PackageEntry]:
    """Return one entry for each step that has events, oldest first."""
    places = np.flatnonzero(by_kind.any(axis=0))
    was_there = np.concatenate(([False], num_after[:-1] > 0))
    before, after = _versions(events, places)
    newest = {
        number: (_newest(old), _newest(new))
        for number, (old, new) in enumerate(zip(before, after, strict=True))
        if old != new
    }
    kinds = package_kinds(
        was_there[places],
        num_after[places] > 0,
        by_kind[ADDED][places] > 0,
        by_kind[REMOVED][places] > 0,
        newest,
    )
    by_reason = _counted(events, events.reasons, len(REASONS))
    steps = [events.steps.neighbours[place] for place in places.tolist()]
    columns = (kinds, by_kind[:, places].T, by_reason[:, places].T)
    return [
        PackageEntry(
            base=step.base,
            head=step.head,
            kind=_PACKAGE_KINDS[kind],
            versions_added=tuple(text for text in new if text not in old),
            versions_removed=tuple(text for text in old if text not in new),
            specs_added=of_kinds[ADDED],
            specs_removed=of_kinds[REMOVED],
            specs_changed=of_kinds[CHANGED],
            reasons={
                reason: count for reason, count in zip(REASONS, of_reasons, strict=True) if count
            },
        )
        for step, old, new, kind, of_kinds, of_reasons in zip(
            steps, before, after, *(column.tolist() for column in columns), strict=True
        )
    ]


def _versions(events: Events, places: Numbers) -> tuple[list[list[str]], list[list[str]]]:
    """Return the versions before and after each of some steps, newest first."""
    texts = events.version_values
    newest_first = sorted(
        range(len(texts)), key=lambda code: total_order(texts[code]), reverse=True
    )
    present = np.zeros((len(texts), len(events.steps) + 1), np.bool_)
    present[:, 1:] = _present(events)[newest_first]
    before, after = (
        [[texts[newest_first[row]] for row in np.flatnonzero(column)] for column in columns.T]
        for columns in (present[:, places], present[:, places + 1])
    )
    return before, after


def _newest(versions: Sequence[str]) -> VersionKey | None:
    return place_in_order(versions[0]) if versions else None


def _present(events: Events) -> npt.NDArray[np.bool_]:
    """Return for each version (rows) at each step (columns) whether a spec has it.

    A changed hash counts if its version differs.
    """
    grew = np.zeros((len(events.version_values), len(events.steps)), np.int64)
    signs = np.zeros(len(KINDS), np.int64)
    signs[[ADDED, REMOVED]] = 1, -1
    np.add.at(grew, (events.versions, events.places), signs[events.kinds])
    before = np.roll(events.versions, 1)
    is_other = (events.kinds == CHANGED) & events.follows & (before != events.versions)
    np.add.at(grew, (events.versions[is_other], events.places[is_other]), 1)
    np.add.at(grew, (before[is_other], events.places[is_other]), -1)
    present: npt.NDArray[np.bool_] = np.cumsum(grew, axis=1) > 0
    return present

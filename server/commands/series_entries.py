"""The entries of a series' log: what a revision did to it, told with packages and reasons."""

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from server.commands.past import Past
from server.printing.logs import MOST_CHANGED, SeriesEntry
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.models import NOTHING
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.returns import count_returned, told_apart

_AT_FIRST, _AT_ONCE = 8, 64
"""What returned is looked up for so many entries at once: that reads the changes of most packages,
and takes as long for one of them. The first are to be seen soon."""


class _Compared(NamedTuple):
    """What the comparison of a point tells: the packages, and the hashes that came by package."""

    point: GrowthPoint
    most_changed: Sequence[PackageChange]
    num_packages: int
    added: dict[str, str]


def series_entries(past: Past, series: str, points: Iterator[GrowthPoint]) -> Iterator[SeriesEntry]:
    """Yield the entries of some points of a series, in their order, made as they are asked for.

    Raises CatalogError where a content cannot be read.
    """
    at_once = _AT_FIRST
    while batch := [_compared(past, point) for point in islice(points, at_once)]:
        yield from _entries(past, series, batch)
        at_once = _AT_ONCE


def _compared(past: Past, point: GrowthPoint) -> _Compared:
    base = point.base.digest if point.base else NOTHING
    comparison = past.library.compare(base, point.revision.digest)
    packages = comparison.packages
    added = {}
    if point.base is not None and _has_new(point):
        head = comparison.head
        rows = comparison.pairing.added
        names = (head.package.values[code] for code in head.package.codes[rows].tolist())
        added = dict(zip(map(head.hashes.at, rows.tolist()), names, strict=True))
    return _Compared(point, nlargest(MOST_CHANGED, packages, _news), len(packages), added)


def _news(change: PackageChange) -> tuple[int, bool]:
    """Return how much there is to tell of a change: of equal ones a mere rebuild tells less."""
    num_changed = change.specs_added + change.specs_removed + change.specs_changed
    return num_changed, change.kind is not PackageChangeKind.REBUILT


def _has_new(point: GrowthPoint) -> bool:
    return any(reason.value.startswith("new_") for reason in point.counts.reasons)


def _entries(past: Past, series: str, batch: Sequence[_Compared]) -> Iterator[SeriesEntry]:
    added = {text: name for compared in batch for text, name in compared.added.items()}
    rows = past.catalog.changes.changes_of(added.values(), added)
    returned = count_returned(rows, series, past.history)
    for point, most_changed, num_packages, _ in batch:
        yield SeriesEntry(
            base=point.base,
            head=point.revision,
            num_added=point.num_added,
            num_removed=point.num_removed,
            num_changed=point.num_changed,
            reasons=told_apart(point.counts, returned.get(point.revision, {})),
            most_changed=most_changed,
            num_packages=num_packages,
        )

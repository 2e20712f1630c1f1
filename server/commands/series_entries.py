"""The entries of a series' log: what a revision did to it, told with packages and reasons."""

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import islice

from server.commands.past import Past
from server.printing.logs import MOST_CHANGED, SeriesEntry
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pair_packages import PackageCounts
from snapshots.history import Neighbours
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.returns import told_apart

_AT_FIRST, _AT_ONCE = 8, 64
"""What is kept is read for so many entries at once; the first are to be seen soon."""


def series_entries(past: Past, series: str, points: Iterator[GrowthPoint]) -> Iterator[SeriesEntry]:
    """Yield the entries of some points of a series, in their order, made as they are asked for.

    Raises CatalogError where what is kept of them cannot be read.
    """
    at_once = _AT_FIRST
    while batch := list(islice(points, at_once)):
        yield from _entries(past, series, batch)
        at_once = _AT_ONCE


def _entries(past: Past, series: str, batch: Sequence[GrowthPoint]) -> Iterator[SeriesEntry]:
    pairs = [Neighbours(point.base, point.revision).pair for point in batch]
    packages = past.library.package_counts(pairs)
    returned = past.library.count_returned(past.history, series, pairs)
    for point, pair in zip(batch, pairs, strict=True):
        changed = packages.get(pair, ())
        yield SeriesEntry(
            base=point.base,
            head=point.revision,
            num_added=point.num_added,
            num_removed=point.num_removed,
            num_changed=point.num_changed,
            reasons=told_apart(point.counts, returned.get(point.revision, {})),
            most_changed=nlargest(MOST_CHANGED, changed, _news),
            num_packages=len(changed),
        )


def _news(package: PackageCounts) -> tuple[int, bool]:
    """Return how much there is to tell of a change: of equal ones a mere rebuild tells less."""
    num_changed = package.specs_added + package.specs_removed + package.specs_changed
    return num_changed, package.kind is not PackageChangeKind.REBUILT

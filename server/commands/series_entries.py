"""The entries of a series' log: what a revision did to it, told with packages and reasons."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice

from server.commands.past import Past
from server.terminal.printing.logs import MOST_CHANGED, SeriesEntry
from snapshots.changes.kept_changes import PackageCounts
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.history import Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.timelines.growth import Counts, GrowthPoint, with_returned

_AT_FIRST, _AT_ONCE = 24, 64
"""Packages are read of so many entries at once; the first are to be seen soon."""


def series_entries(past: Past, series: str, points: Iterator[GrowthPoint]) -> Iterator[SeriesEntry]:
    """Yield the entries of some points of a series, in their order, made as they are asked for.

    Raises CatalogError where what is kept of them cannot be read.
    """
    # To tell what returned reads what any revision removed: once for the first, once for the rest.
    for some in (list(islice(points, _AT_FIRST)), list(points)):
        returned = past.library.count_returned(past.history, series, map(_pair, some))
        for start in range(0, len(some), _AT_ONCE):
            yield from _entries(past, some[start : start + _AT_ONCE], returned)


def _pair(point: GrowthPoint) -> Pair:
    return Neighbours(point.base, point.revision).pair


def _entries(
    past: Past, points: Sequence[GrowthPoint], returned: Mapping[RevisionInfo, Counts]
) -> Iterator[SeriesEntry]:
    packages = past.library.package_counts(map(_pair, points))
    for point in points:
        changed = packages.get(_pair(point), ())
        yield SeriesEntry(
            base=point.base,
            head=point.revision,
            num_added=point.num_added,
            num_removed=point.num_removed,
            num_changed=point.num_changed,
            reasons=with_returned(point.counts, returned.get(point.revision, {})),
            most_changed=nlargest(MOST_CHANGED, changed, _news),
            num_packages=len(changed),
        )


def _news(package: PackageCounts) -> tuple[int, bool]:
    """Return how much there is to tell of a change: of equal ones a mere rebuild tells less."""
    num_changed = package.specs_added + package.specs_removed + package.specs_changed
    return num_changed, package.kind is not PackageChangeKind.REBUILT

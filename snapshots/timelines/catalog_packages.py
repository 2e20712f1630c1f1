"""All packages in the history of a catalog: which series have each package, or when it was removed.

All packages are computed from the packages that each pair changed, a single one from its timelines:
a few thousand rows of millions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.spack.versions import total_order
from snapshots.timelines.growth import lists_of
from snapshots.timelines.packages import package_timeline


class PackageInSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A package in a series: its ``versions``, newest first, and number of specs in ``last_seen``.

    ``first_seen`` and ``last_seen`` are the first and the last revision that have it; revisions in
    between may lack it. ``gone_in`` is the revision after the last; None if the newest revision of
    the series has it. ``num_revisions`` is the number of revisions that have it.
    """

    series: str
    versions: tuple[str, ...]
    num_specs: int
    num_revisions: int
    first_seen: RevisionInfo
    last_seen: RevisionInfo
    gone_in: RevisionInfo | None


class CatalogPackage(msgspec.Struct, frozen=True, dict=True):
    """A package in all series that ever had it: the main series first, the others in catalog order.

    There is at least one.
    """

    name: str
    in_series: tuple[PackageInSeries, ...]

    @cached_property
    def best(self) -> PackageInSeries:
        """The most relevant series: the first that currently has it, or the one that had it last.

        The catalog's main series, develop, is the one that readers usually mean.
        """
        current = (one for one in self.in_series if one.gone_in is None)
        latest = max(self.in_series, key=lambda one: one.last_seen.taken_at)
        return next(current, latest)

    @property
    def is_gone(self) -> bool:
        """Whether no series has the package in its newest revision."""
        return self.best.gone_in is not None


_Change = tuple[str, int, Sequence[str] | None, Sequence[str] | None]
"""A changed package: its name, by how many specs it grew, and the versions added and removed.

None are no versions. A plain tuple, and None for most lists: a catalog of years has so many changes
that collecting their objects as garbage would take longer than all else.
"""

_Changed = Mapping[Pair, Sequence[_Change]]
"""The packages that each pair changed."""


def catalog_packages(rows: pa.Table, history: History) -> dict[str, CatalogPackage]:
    """Return all packages by name, in the order of their names.

    ``rows`` are those of the table ``comparisons`` of all pairs, with the column ``packages``.
    """
    changed = {pair: _changes(items) for pair, items in lists_of(rows, "packages")}
    return _catalog_packages(changed, history)


def _changes(packages: pa.StructArray) -> list[_Change]:
    """Return the packages that a pair changed, from its list."""
    columns = (
        packages.field("name"),
        pc.subtract(packages.field("specs_added"), packages.field("specs_removed")),
        _if_any(packages.field("versions_added")),
        _if_any(packages.field("versions_removed")),
    )
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _if_any(lists: pa.ListArray) -> pa.ListArray:
    """Return lists with null for empty ones."""
    return pc.if_else(pc.greater(pc.list_value_length(lists), 0), lists, None)


def catalog_package(rows: pa.Table, name: str, history: History) -> CatalogPackage | None:
    """Return a single package; None if no revision had it.

    ``rows`` are rows of the table ``changes``: all rows of the package, and possibly others.
    """
    changed: dict[Pair, list[_Change]] = {}
    for series in history.series_names:
        if (timeline := package_timeline(rows, name, series, history)) is not None:
            for entry in timeline.entries:
                grew = entry.specs_added - entry.specs_removed
                change = name, grew, entry.versions_added, entry.versions_removed
                changed[entry.step.pair] = [change]
    return _catalog_packages(changed, history).get(name)


def _catalog_packages(changed: _Changed, history: History) -> dict[str, CatalogPackage]:
    by_name: dict[str, list[PackageInSeries]] = {}
    for series in sorted(history.series_names, key=lambda name: name != history.main_series):
        for name, one in _in_series(series, history.neighbours(series), changed):
            by_name.setdefault(name, []).append(one)
    return {name: CatalogPackage(name, tuple(by_name[name])) for name in sorted(by_name)}


def _in_series(
    series: str, neighbours: Sequence[Neighbours], changed: _Changed
) -> Iterator[tuple[str, PackageInSeries]]:
    """Yield each package that the series ever had."""
    by_name: defaultdict[str, list[tuple[int, _Change]]] = defaultdict(list)
    for place, step in enumerate(neighbours):
        for change in changed.get(step.pair, ()):
            by_name[change[0]].append((place, change))
    for name, changes in by_name.items():
        num_specs = num_revisions = 0
        versions = frozenset[str]()
        last = len(neighbours), num_specs, versions
        ends = [*(place for place, _ in changes[1:]), len(neighbours)]
        for (place, (_, grew, added, removed)), end in zip(changes, ends, strict=True):
            num_specs += grew
            if added or removed:
                versions = versions.union(added or ()).difference(removed or ())
            if num_specs:
                num_revisions += end - place
                last = end, num_specs, versions
        end, num_specs, versions = last
        newest_first = sorted(versions, key=total_order, reverse=True)
        yield (
            name,
            PackageInSeries(
                series=series,
                versions=tuple(newest_first),
                num_specs=num_specs,
                num_revisions=num_revisions,
                first_seen=neighbours[changes[0][0]].head,
                last_seen=neighbours[end - 1].head,
                gone_in=neighbours[end].head if end < len(neighbours) else None,
            ),
        )

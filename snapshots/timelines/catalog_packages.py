"""All packages in the history of a catalog: which series have each package, or when it was removed.

All packages are computed from the packages that each pair changed, a single one from its timelines:
a few thousand rows of millions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
import pyarrow as pa

from snapshots.changes.stored_changes import PackageCounts, packages_of
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.spack.versions import version_key
from snapshots.timelines.packages import PackageEntry, package_timeline


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


_Changed = Mapping[Pair, Sequence[tuple[str, PackageCounts | PackageEntry]]]
"""The packages that each pair changed, by name."""


def catalog_packages(rows: pa.Table, history: History) -> dict[str, CatalogPackage]:
    """Return all packages by name, in the order of their names.

    ``rows`` are those of the table ``comparisons`` of all pairs, with the column ``packages``.
    """
    changed = {
        pair: [(package.name, package) for package in of_pair]
        for pair, of_pair in packages_of(rows).items()
    }
    return _catalog_packages(changed, history)


def catalog_package(rows: pa.Table, name: str, history: History) -> CatalogPackage | None:
    """Return a single package; None if no revision had it.

    ``rows`` are rows of the table ``changes``: all rows of the package, and possibly others.
    """
    changed: dict[Pair, list[tuple[str, PackageEntry]]] = {}
    for series in history.series_names:
        if (timeline := package_timeline(rows, name, series, history)) is not None:
            changed |= {entry.step.pair: [(name, entry)] for entry in timeline.entries}
    return _catalog_packages(changed, history).get(name)


def _catalog_packages(changed: _Changed, history: History) -> dict[str, CatalogPackage]:
    by_name: dict[str, list[PackageInSeries]] = {}
    for series in sorted(history.series_names, key=lambda name: name != history.main_series):
        for name, one in _in_series(series, history.neighbours(series), changed):
            by_name.setdefault(name, []).append(one)
    return {name: CatalogPackage(name, tuple(by_name[name])) for name in sorted(by_name)}


_NOTHING = (0, 0, frozenset[str]())


def _in_series(
    series: str, neighbours: Sequence[Neighbours], changed: _Changed
) -> Iterator[tuple[str, PackageInSeries]]:
    """Yield each package that the series ever had."""
    # The places where each package changed, with its specs and versions from there on.
    states: defaultdict[str, list[tuple[int, int, frozenset[str]]]] = defaultdict(list)
    for place, step in enumerate(neighbours):
        for name, change in changed.get(step.pair, ()):
            of_name = states[name]
            _, num_specs, versions = of_name[-1] if of_name else _NOTHING
            if change.versions_added or change.versions_removed:
                versions = versions.union(change.versions_added)
                versions = versions.difference(change.versions_removed)
            num_specs += change.specs_added - change.specs_removed
            of_name.append((place, num_specs, versions))
    for name, of_name in states.items():
        ends = [*(place for place, _, _ in of_name[1:]), len(neighbours)]
        present = [(end, *it) for end, it in zip(ends, of_name, strict=True) if it[1]]
        end, _, num_specs, versions = present[-1]
        newest_first = sorted(versions, key=lambda text: (version_key(text), text), reverse=True)
        yield (
            name,
            PackageInSeries(
                series=series,
                versions=tuple(newest_first),
                num_specs=num_specs,
                num_revisions=sum(end - start for end, start, _, _ in present),
                first_seen=neighbours[of_name[0][0]].head,
                last_seen=neighbours[end - 1].head,
                gone_in=neighbours[end].head if end < len(neighbours) else None,
            ),
        )

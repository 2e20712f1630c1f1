"""A catalog opened to ask it about its past: what is missing of that is made first."""

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.library import Library
    from snapshots.history import History
    from snapshots.timelines.packages import PackageTimeline
    from snapshots.timelines.spans import HashHistory

_MOST_REASONS = 3
_MOST_JOBS = 4

_FEW = 16
"""So many pairs take one process less time than it takes to start others."""


class Past(NamedTuple):
    """A catalog's revisions, and what is known of what became of their packages and hashes."""

    catalog: "Catalog"
    history: "History"
    library: "Library"

    def complete(self, series: str | None = None) -> None:
        """Make the changes of neighbours that are missing, and keep them: of a series, or of all.

        A progress bar shows how far it is. Why some cannot be made is told on standard error: what
        asks for them raises IncompleteHistory then. Raises CatalogError where none can be kept.
        """
        from server.console import note
        from server.progress import progress
        from snapshots.catalog.filling import fill, missing_pairs

        pairs = missing_pairs(self.catalog, self.history, series)
        if not pairs:
            return
        jobs = min(_MOST_JOBS, os.cpu_count() or 1) if len(pairs) > _FEW else 1
        with progress() as notify:
            filled = fill(
                self.catalog,
                pairs,
                jobs=jobs,
                progress=lambda done, total: notify("history", done, total),
            )
        for reason in list(dict.fromkeys(filled.failures.values()))[:_MOST_REASONS]:
            note(reason)

    def hash_history(self, text: str) -> "HashHistory":
        """Return what is known of the hash that begins with a text, with or without its slash.

        Raises InvalidArgument where no revision ever had one, and AmbiguousHash.
        """
        from snapshots.errors import InvalidArgument

        prefix = text.removeprefix("/").lower()
        self.complete()
        found = self.library.hash_history(self.history, prefix)
        if found is None:
            raise InvalidArgument(
                "HASH", f"no revision has ever had one that begins with {prefix!r}"
            )
        return found

    def package_timeline(self, name: str, series: str) -> "PackageTimeline":
        """Return the timeline of a package in a series.

        Raises InvalidArgument where no revision of the series had it; it tells which series did.
        """
        from snapshots.errors import InvalidArgument

        self.complete(series)
        found = self.library.package_timeline(self.history, series, name)
        if found is None:
            reason = f"no revision of the series {series} has ever had {name!r}"
            raise InvalidArgument("PACKAGE", reason + self._where_else(name, series))
        return found

    def _where_else(self, name: str, series: str) -> str:
        """Return which other series had a package, or else which names are like it."""
        from snapshots.catalog.filling import missing_pairs
        from snapshots.nearest_names import nearest_hint, nearest_names

        others = [
            other
            for other in self.history.series_names
            if other != series
            and not missing_pairs(self.catalog, self.history, other)
            and self.library.package_timeline(self.history, other, name) is not None
        ]
        if others:
            return f"; these had it: {', '.join(others)} (--series)"
        return nearest_hint(nearest_names(name, self.library.package_names()))


def open_past(location: str) -> Past:
    """Open a catalog; raises NoCatalog, or EmptyCatalog where it has no revision."""
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.library import Library

    catalog = Catalog(location)
    return Past(catalog, catalog.require_history(), Library(catalog))


def default_series(history: "History") -> str:
    """Return the series of the newest revision, which is meant where none is named."""
    from snapshots.refs import series

    return series(history.revisions[0].tag)

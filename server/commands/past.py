"""A catalog opened to ask it about its past: what is missing of that is made first."""

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapshots.catalog.asking.library import Library
    from snapshots.catalog.catalog import Catalog
    from snapshots.history import History, Pair
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

    def complete(self, series: str | None = None) -> "Past":
        """Make the changes of neighbours that are missing, and keep them: of a series, or of all.

        A progress bar shows how far it is. Returns the past without those revisions whose changes
        cannot be made, since their content cannot be read; they are told on standard error. Their
        neighbours are told as following one another. Where no other revision is left, what
        asks for changes raises IncompleteHistory. Raises CatalogError where none can be kept.
        """
        from server.terminal.console import note
        from snapshots.catalog.asking.past import left_out
        from snapshots.catalog.filling import missing_pairs

        unreadable: dict[str, str] = {}
        past = self
        while pairs := missing_pairs(self.catalog, past.history, series):
            found = past.make(pairs)
            if found.keys() <= unreadable.keys():
                break
            unreadable |= found
            past = self._replace(history=self.history.without(unreadable))
        for reason in list(dict.fromkeys(unreadable.values()))[:_MOST_REASONS]:
            note(reason)
        if not past.has(series):
            return self
        if unreadable:
            note(str(left_out(self.history, unreadable, series)))
        return past

    def has(self, series: str | None) -> bool:
        """Tell whether there is a revision of a series, or any."""
        history = self.history
        return bool(history.revisions if series is None else history.of_series(series))

    def make(self, pairs: "Sequence[Pair]") -> dict[str, str]:
        """Make the changes of pairs, and return why contents could not be read for it."""
        from server.terminal.progress import progress
        from snapshots.catalog.filling import fill

        jobs = min(_MOST_JOBS, os.cpu_count() or 1) if len(pairs) > _FEW else 1
        with progress() as notify:
            filled = fill(
                self.catalog,
                pairs,
                jobs=jobs,
                progress=lambda done, total: notify("history", done, total),
            )
        return filled.unreadable

    def hash_history(self, text: str) -> "HashHistory":
        """Return what is known of the hash that begins with a text, with or without its slash.

        Raises InvalidArgument where no revision ever had one, and AmbiguousHash.
        """
        from snapshots.errors import InvalidArgument

        prefix = text.removeprefix("/").lower()
        past = self.complete()
        found = past.library.hash_history(past.history, prefix)
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

        past = self.complete(series)
        found = past.library.package_timeline(past.history, series, name)
        if found is None:
            reason = f"no revision of the series {series} has ever had {name!r}"
            raise InvalidArgument("PACKAGE", reason + past.where_else(name, series))
        return found

    def where_else(self, name: str, series: str) -> str:
        """Return which other series had a package, or else which names are like it.

        Whoever writes the name of a series or a tag in its place is told the option for that.
        """
        from snapshots.catalog.filling import missing_pairs
        from snapshots.wording import nearest_hint, nearest_names

        if name in self.history.series_names:
            return f"; that is a series (--series {name})"
        if name in self.history.tags:
            return f"; that is a tag (--tag {name})"
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
    from snapshots.catalog.asking.library import Library
    from snapshots.catalog.catalog import Catalog

    catalog = Catalog(location)
    return Past(catalog, catalog.require_history(), Library(catalog))


def default_series(history: "History") -> str:
    """Return the series of the newest revision, which is meant where none is named."""
    from snapshots.refs import series

    return series(history.revisions[0].tag)

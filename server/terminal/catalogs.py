"""Catalogs as the commands open them, with history queries that first compute missing changes.

The imports of this module are slow, so commands import it only when they run.
"""

import os
from collections.abc import Sequence
from functools import cache, partial
from typing import Self

import msgspec
from msgspec.structs import replace

from server.settings import settings_from
from server.terminal.console import note, progress
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.side_reader import read_side
from snapshots.errors import CatalogError, EmptyCatalog, InvalidArgument
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo, SideInfo
from snapshots.refs import parse_side, title
from snapshots.texts import few, nearest_hint, nearest_names
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import HashHistory

_MAX_REASONS = 3
_MAX_OTHERS = 5
_MAX_JOBS = 4

_FEW_PAIRS = 16
"""Up to this number of pairs, one process is faster than starting others."""


class OpenedCatalog(msgspec.Struct, frozen=True):
    """A catalog, its history, and the library that answers queries about its revisions.

    ``sides`` are the revisions and other sides that were opened by name.
    """

    catalog: Catalog
    history: History
    library: Library
    sides: tuple[SideInfo, ...] = ()

    @classmethod
    def at(cls, location: str) -> Self:
        """Return the catalog of a location, which is not read yet and need not exist."""
        catalog = Catalog(location)
        settings = settings_from(os.environ)
        library = Library(
            catalog, recipes_url=settings.recipes_url, public_url=settings.public_address()
        )
        return cls(catalog, catalog.history, library)

    def revision(self, ref: str | None) -> RevisionInfo:
        """Return the revision that a ref names, by default the newest of the main series.

        Raises what ``resolve`` and ``series_or_main`` raise.
        """
        if ref is not None:
            revision = self.history.resolve(ref)
            _note_others(self.history, ref)
            return revision
        return self.history.of_series(self.series_or_main())[0]

    def series_or_main(self, name: str | None = None) -> str:
        """Return a series, by default the main one.

        Raises what ``require_series`` raises, and EmptyCatalog.
        """
        self.history.require_series(name)
        if (series := name or self.history.main_series) is None:
            raise EmptyCatalog(self.catalog.location)
        return series

    def frame(self, side: SideInfo) -> Frame:
        """Return the frame of a revision or of another side of a comparison."""
        return self.library.frames.get(side.content)

    def row_of(self, revision: RevisionInfo, hash_: str) -> int:
        """Return the row of a hash that a revision has according to the stored history.

        Raises CatalogError if the revision does not have it.
        """
        row = self.frame(revision).hashes.find(hash_)
        if row is None:
            advice = "which it has according to the stored history; see 'cachelog verify'"
            raise CatalogError(self.catalog.location, f"{title(revision)} lacks {hash_}, {advice}")
        return row

    def complete(self, series: str | None = None, *, causes: bool = False) -> Self:
        """Compare the neighbours whose changes are missing, and store the changes.

        With ``causes``, also compare neighbours of which only the causes are missing. ``series``
        limits the comparisons to one series. A progress bar shows their progress.

        The reasons of failures are printed to standard error; queries for their changes then raise
        IncompleteHistory. Raises CatalogError if changes cannot be stored.
        """
        if pairs := missing_pairs(self.catalog, self.history, series, causes=causes):
            jobs = min(_MAX_JOBS, os.cpu_count() or 1) if len(pairs) > _FEW_PAIRS else 1
            with progress() as bars:
                filled = self.catalog.fill(pairs, jobs=jobs, progress=partial(bars, "history"))
            for reason in list(dict.fromkeys(filled.failures.values()))[:_MAX_REASONS]:
                note(reason)
        return self

    def hash_history(self, text: str) -> HashHistory:
        """Return the history of the hash that begins with a prefix, with or without its slash.

        Raises InvalidArgument if no revision ever had such a hash, and AmbiguousHash.
        """
        prefix = text.removeprefix("/").lower()
        opened = self.complete()
        history = opened.library.history_queries.hash_history(opened.history, prefix)
        if history is None:
            reason = f"no revision has ever had one that begins with {prefix!r}"
            raise InvalidArgument("HASH", reason)
        return history

    def package_timeline(self, name: str, series: str) -> PackageTimeline:
        """Return the timeline of a package in a series.

        Raises InvalidArgument if no revision of the series ever had the package. The error names
        the series that did.
        """
        opened = self.complete(series)
        timeline = opened.library.history_queries.package_timeline(opened.history, series, name)
        if timeline is None:
            reason = f"no revision of the series {series} has ever had {name!r}"
            raise InvalidArgument("PACKAGE", reason + _elsewhere(opened, name, series))
        return timeline


def open_catalog(location: str) -> OpenedCatalog:
    """Open a catalog. Raises NoCatalog, or EmptyCatalog if it has no revision."""
    opened = OpenedCatalog.at(location)
    return replace(opened, history=opened.catalog.require_history())


def open_sides(location: str, texts: Sequence[str] | None) -> tuple[OpenedCatalog, list[SideInfo]]:
    """Open a catalog, and read the sides of a comparison.

    Each text names a side. None stands for the newest revision of the main series and the one
    before it. If all sides are files, the catalog need not exist. Raises what ``open_catalog``
    and ``read_side`` raise.
    """
    opened = OpenedCatalog.at(location)
    catalog, library, settings = opened.catalog, opened.library, settings_from(os.environ)
    load_history = cache(catalog.require_history)
    if texts is None:
        latest = load_history().latest
        texts = () if latest is None else (f"{latest.tag}~1", latest.tag)
    sides = [read_side(text, library, load_history, settings.reading) for text in texts]
    for words in map(parse_side, texts):
        if not words.is_path:
            _note_others(load_history(), words.text)
    return replace(opened, history=catalog.history, sides=tuple(sides)), sides


def open_side(location: str, text: str | None) -> tuple[OpenedCatalog, SideInfo]:
    """Open a catalog, and read the side that a text names, by default the newest revision.

    Raises what ``open_sides`` and ``OpenedCatalog.revision`` raise.
    """
    if text is None:
        opened = open_catalog(location)
        return opened, opened.revision(None)
    opened, [side] = open_sides(location, [text])
    return opened, side


def _note_others(history: History, ref: str) -> None:
    """Note which other revisions have the content that a ref names by its digest alone."""
    if others := history.also_published_as(ref):
        note(f"{ref} is also published as {few(list(map(title, others)), _MAX_OTHERS)}")


def _elsewhere(opened: OpenedCatalog, name: str, series: str) -> str:
    """Return which other series had a package, or else which names are similar.

    If the name is that of a series or a tag, return the option that takes it.
    """
    history = opened.history
    if name in history.series_names:
        return f"; that is a series (--series {name})"
    if name in history.tags:
        return f"; that is a tag (--tag {name})"
    others = [
        other
        for other in history.series_names
        if other != series
        and not missing_pairs(opened.catalog, history, other)
        and opened.library.history_queries.package_timeline(history, other, name) is not None
    ]
    if others:
        return f"; these had it: {', '.join(others)} (--series)"
    return nearest_hint(nearest_names(name, opened.library.package_names()))

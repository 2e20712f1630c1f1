"""Feeds as files: the documents that a server sends, for publication by any web server."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from server.feeds import SUFFIX, FeedAddresses, entry_story
from server.output_files import write
from snapshots.catalog.history_queries import require_complete
from snapshots.errors import IncompleteHistory
from snapshots.notes.atom import package_feed, series_feed
from snapshots.notes.stories import neighbours_in_feed
from snapshots.spack.names import is_name
from snapshots.timelines.packages import PackageTimeline, package_timeline

if TYPE_CHECKING:
    from server.terminal.catalogs import OpenedCatalog
    from snapshots.sources.reports import Progress

_READ_AT_ONCE = 32

AddressesOf = Callable[[str | None], FeedAddresses]
"""Returns the addresses for the feed of a package, or with None for that of a series."""


def series_document(past: "OpenedCatalog", series: str, addresses: FeedAddresses) -> bytes:
    """Return the feed of an existing series."""
    history, library = past.history, past.library
    try:
        counts = library.history_queries.growth(history, series).counts
    except IncompleteHistory:  # a content is damaged: the feed has the totals of revisions
        counts = {}
    newest = neighbours_in_feed(history, series)
    stored = library.history_queries.stored_stories(newest)
    stories = {step: entry_story(library, step, stored.get(step.pair)) for step in newest}
    return series_feed(history, series, addresses, counts=counts, stories=stories).xml


def write_all(
    past: "OpenedCatalog",
    series_names: Iterable[str],
    folder: Path,
    addresses: AddressesOf,
    progress: "Progress",
) -> int:
    """Write the feeds of some series and of their packages; return the number of changed files.

    The packages are those of the newest revision, and those that already have a file, so that
    subscribers to the feed of a package learn of its removal.
    """
    num_written = 0
    for series in series_names:
        document = series_document(past, series, addresses(None))
        num_written += write(folder / f"{series}{SUFFIX}", document)
        names = _packages(past, series, folder / series)
        for done, timeline in enumerate(_timelines(past, series, names), 1):
            progress(f"feeds of {series}", done, len(names))
            if timeline is not None:
                feed = package_feed(timeline, addresses(timeline.name))
                num_written += write(folder / series / f"{timeline.name}{SUFFIX}", feed.xml)
    return num_written


def _timelines(
    past: "OpenedCatalog", series: str, names: Sequence[str]
) -> Iterator[PackageTimeline | None]:
    """Yield the timeline of each package, None if the series never had it.

    Changes are stored by package, so those of several consecutive packages are read at once. Raises
    IncompleteHistory if changes are missing.
    """
    require_complete(past.catalog, past.history, series)
    for start in range(0, len(names), _READ_AT_ONCE):
        some = names[start : start + _READ_AT_ONCE]
        rows = past.catalog.changes.changes_of(some)
        for name in some:
            yield package_timeline(rows, name, series, past.history)


def _packages(past: "OpenedCatalog", series: str, folder: Path) -> list[str]:
    newest = past.history.of_series(series)[0]
    return sorted({*past.library.frames.get(newest.digest).packages, *_written(folder)})


def _written(folder: Path) -> Iterator[str]:
    """Yield the names of packages that have a file in a folder."""
    if folder.is_dir():
        for file in folder.glob(f"*{SUFFIX}"):
            name = file.name.removesuffix(SUFFIX)
            if is_name(name):
                yield name

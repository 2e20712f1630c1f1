"""What lies at locations: a table of those who read them. A new one is a module and an entry."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.pages import folders
from snapshots.sources.reports import Asked, Found, PartReader
from snapshots.sources.settings import ReadSettings


class LocationReader(Protocol):
    """Reads what lies at locations of one kind; a module is one.

    Revisions tell which kind it is: see ``snapshots.models.SOURCE_KINDS``.
    """

    def claimed(self, locations: Sequence[str], settings: ReadSettings) -> Sequence[str]:
        """Return those of the locations that it reads; nothing is fetched for that."""

    def read_apart(
        self, locations: Sequence[str], asked: Asked, reader: PartReader[Found]
    ) -> Iterator[Found]:
        """Read what it claimed by ``reader``, part by part. Raises NotApart."""


READERS: list[LocationReader] = [build_caches, folders]
"""Who is offered locations, one after the other: the first that claims a location reads it."""


def read_apart(
    locations: Sequence[str], asked: Asked, reader: PartReader[Found]
) -> Iterator[Found]:
    """Read locations by ``reader``, tag by tag where they allow that.

    Raises NotApart where pages turn out not to; some snapshots are out by then. Where all pages are
    asked for as one part it is not raised.
    """
    if "" in locations:
        raise InvalidArgument("LOCATION", "is empty; write . for the folder that you are in")
    claims = []
    for source in READERS:
        own = source.claimed(locations, reader.settings)
        locations = [location for location in locations if location not in own]
        claims.append((source, own))
    if locations:
        # Not the URL itself: it may hold a login.
        scheme = locations[0].partition("://")[0]
        raise SourceError(f"{scheme}://...", "cannot be read; for a repository use --git")
    for source, own in claims:
        if own:
            yield from source.read_apart(own, asked, reader)

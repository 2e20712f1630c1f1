"""The table of the readers of ``LOCATION`` arguments.

``--git`` (git/page_history.py) and the sides of comparisons (side_files.py) do not use it.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.pages import folders
from snapshots.sources.reports import PartReader, ReadRequest, Result
from snapshots.sources.settings import ReadSettings


class LocationReader(Protocol):
    """Reads locations of one kind; implemented by a module.

    Revisions record the kind: see ``snapshots.models.SOURCE_KINDS``.
    """

    def claimed(self, locations: Sequence[str], settings: ReadSettings) -> Sequence[str]:
        """Return those of the locations that it reads, without fetching anything."""

    def read_parts(
        self, locations: Sequence[str], request: ReadRequest, reader: PartReader[Result]
    ) -> Iterator[Result]:
        """Read the locations that it claimed with ``reader``, part by part. Raises Indivisible."""


READERS: list[LocationReader] = [build_caches, folders]
"""The readers, in the order in which they can claim locations; the first claim counts."""


def read_parts(
    locations: Sequence[str], request: ReadRequest, reader: PartReader[Result]
) -> Iterator[Result]:
    """Read locations with ``reader``, tag by tag if possible.

    Raises Indivisible if pages cannot be read by tag; some snapshots may have been yielded by
    then. It is not raised if all pages are requested as one part.
    """
    if "" in locations:
        raise InvalidArgument("LOCATION", "is empty; write . for the folder that you are in")
    claims = []
    for source in READERS:
        own = source.claimed(locations, reader.settings)
        locations = [location for location in locations if location not in own]
        claims.append((source, own))
    if locations:
        # Without the URL itself, which may contain a login.
        scheme = locations[0].partition("://")[0]
        raise SourceError(f"{scheme}://...", "cannot be read; for a repository use --git")
    for source, own in claims:
        if own:
            yield from source.read_parts(own, request, reader)

"""The table of the readers of ``LOCATION`` arguments.

``--git`` (git/page_history.py) and the sides of comparisons (side_files.py) do not use it.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.pages import folders
from snapshots.sources.parts import PartExecutor, ReadRequest, Result
from snapshots.sources.settings import ReadSettings


class LocationReader(Protocol):
    """Reads locations of one kind; implemented by a module.

    Revisions record the kind: see ``snapshots.models.SOURCE_KINDS``.

    Locations are split into parts, which the executor reads, possibly in other processes: parts are
    pickled, and find everything that they need in their fields. A reader without sizes of packages
    ignores ``sizes``.
    """

    def claimed(self, locations: Sequence[str], settings: ReadSettings) -> Sequence[str]:
        """Return those of the locations that it reads, without fetching anything."""

    def read(
        self, locations: Sequence[str], request: ReadRequest, executor: PartExecutor[Result]
    ) -> Iterator[Result]:
        """Read the locations that it claimed; yield their snapshots."""


READERS: list[LocationReader] = [build_caches, folders]
"""The readers, in the order in which they can claim locations; the first claim counts."""


def read_locations(
    locations: Sequence[str], request: ReadRequest, executor: PartExecutor[Result]
) -> Iterator[Result]:
    """Read locations, tag by tag if possible; yield their snapshots."""
    if "" in locations:
        raise InvalidArgument("LOCATION", "is empty; write . for the folder that you are in")
    claims = []
    for reader in READERS:
        own = reader.claimed(locations, executor.settings)
        locations = [location for location in locations if location not in own]
        claims.append((reader, own))
    if locations:
        # Without the URL itself, which may contain a login.
        scheme = locations[0].partition("://")[0]
        raise SourceError(f"{scheme}://...", "cannot be read; for a repository use --git")
    for reader, own in claims:
        if own:
            yield from reader.read(own, request, executor)

"""Parts of an import that can be read apart from each other, here or in other processes."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

from snapshots.contents import Snapshot
from snapshots.errors import CachelogError
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

Found = TypeVar("Found")
"""What becomes of a ``Snapshot`` where it is read: itself, or its packed form."""


State = tuple[str | None, datetime | None]
"""A tag, None where none is stated, and the moment that it is stated of, if there is one."""


class PartRead(NamedTuple, Generic[Found]):
    """What was read of a part, and all ``states`` that it tells of, snapshots or not."""

    snapshots: Sequence[Found]
    states: frozenset[State]


class Part(Protocol):
    """What some snapshots are read from; it can go from process to process."""

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read it. Raises SourceError, TagNeeded and InvalidArgument."""


class PartReader(Protocol[Found]):
    """Reads parts, each with a report of its own, and makes something of their snapshots."""

    def each(self, parts: Sequence[Part]) -> Iterator[PartRead[Found]]:
        """Yield what was read of each part, in their order. Raises what the first of them does."""

    def here(self, part: Part) -> PartRead[Found]:
        """Return what was read of a part that must not leave this process."""


class ReadHere(Generic[Found]):
    """Reads parts in this process; each snapshot becomes what ``make`` makes of it."""

    def __init__(
        self, settings: ReadSettings, report: Report, make: Callable[[Snapshot], Found]
    ) -> None:
        self._settings = settings
        self._report = report
        self._make = make

    def each(self, parts: Sequence[Part]) -> Iterator[PartRead[Found]]:
        """Read one part when what was read of the one before it has been used."""
        return map(self.here, parts)

    def here(self, part: Part) -> PartRead[Found]:
        """Read a part."""
        with self._report.part() as own:
            found = part.read(self._settings, own)
        return PartRead(list(map(self._make, found.snapshots)), found.states)


class NotApart(CachelogError):
    """Parts are not what they seemed: only all of the input together says what it holds."""

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(f"{location}: cannot be read part by part")

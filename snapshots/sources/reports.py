"""What readers return beside records, and the parts that they read apart from each other.

A report collects progress, warnings, and what was left out. Parts of an import can be read in this
process or in others, each with a report of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import msgspec

from snapshots.contents import Snapshot
from snapshots.errors import CachelogError, SourceError
from snapshots.sources.settings import ReadSettings
from snapshots.texts import shortened, visible

# -- reports

_LONGEST_WARNING = 2_000

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how far it got, and the total where that is known."""


def _silent(_task: str, _done: int, _total: int | None) -> None:
    pass


class Report(msgspec.Struct, kw_only=True):
    """Collects what an import noticed.

    With ``skip_bad`` a place that cannot be read is left out and listed in ``skipped``; without it
    the first one ends the import.
    """

    skip_bad: bool = False
    progress: Progress = _silent
    skipped: list[SourceError] = []
    warnings: list[str] = []

    def bad(self, error: SourceError) -> None:
        """Note a place that cannot be read, or raise the error where nothing may be skipped."""
        if not self.skip_bad:
            raise error
        self.skipped.append(error)

    def warn(self, text: str) -> None:
        """Note something that is odd but loses nothing."""
        self.warnings.append(shortened(visible(text), _LONGEST_WARNING))

    def add(self, skipped: Iterable[SourceError], warnings: Iterable[str]) -> None:
        """Take in what was noticed elsewhere; a warning that several parts give stands once."""
        earlier = set(self.warnings)
        self.skipped += skipped
        self.warnings += [warning for warning in warnings if warning not in earlier]


# -- parts


class Asked(msgspec.Struct, frozen=True):
    """What of locations is asked for: which tags, whether with sizes, and whether as one part."""

    tags: Sequence[str] = ()
    sizes: bool = False
    is_whole: bool = False


Found = TypeVar("Found")
"""What becomes of a ``Snapshot`` where it is read: itself, or its packed form."""


State = tuple[str | None, datetime | None]
"""A tag, None where none is stated, and the moment that it is stated of, if there is one."""


class PartRead(msgspec.Struct, Generic[Found], frozen=True):
    """What was read of a part, and all ``states`` that it tells of, snapshots or not."""

    snapshots: Sequence[Found]
    states: frozenset[State]


class Part(Protocol):
    """What some snapshots are read from; it can go from process to process."""

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read it. Raises SourceError, TagNeeded and InvalidArgument."""


class PartReader(Generic[Found]):
    """Reads parts, each with a report of its own; each snapshot becomes what ``make`` makes of it.

    ``settings`` and ``report`` are those of the whole import.
    """

    def __init__(
        self, settings: ReadSettings, report: Report, make: Callable[[Snapshot], Found]
    ) -> None:
        self.settings = settings
        self.report = report
        self.make = make

    def each(self, parts: Sequence[Part]) -> Iterator[PartRead[Found]]:
        """Yield what was read of each part, in their order. Raises what the first of them does."""
        return map(self.here, parts)

    def here(self, part: Part) -> PartRead[Found]:
        """Return what was read of a part that must not leave this process."""
        own = Report(skip_bad=self.report.skip_bad, progress=self.report.progress)
        try:
            content = part.read(self.settings, own)
        finally:
            self.report.add(own.skipped, own.warnings)
        return PartRead(list(map(self.make, content.snapshots)), content.states)


class NotApart(CachelogError):
    """Parts are not what they seemed: only all of the input together says what it holds."""

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(f"{location}: cannot be read part by part")

"""Reports of imports, and the parts of an import that are read separately.

A report collects progress, warnings and skipped locations. Parts of an import can be read in this
process or in others, each with its own report.
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

_MAX_WARNING_LENGTH = 2_000

Progress = Callable[[str, int, int | None], None]
"""Called with the current task, the amount done, and the total if it is known."""


def _silent(_task: str, _done: int, _total: int | None) -> None:
    pass


class Report(msgspec.Struct, kw_only=True):
    """Collects the warnings and errors of an import.

    With ``skip_bad``, an unreadable location is skipped and listed in ``skipped``; without it, the
    first one aborts the import.
    """

    skip_bad: bool = False
    progress: Progress = _silent
    skipped: list[SourceError] = []
    warnings: list[str] = []

    def bad(self, error: SourceError) -> None:
        """Add an unreadable location, or raise the error if nothing may be skipped."""
        if not self.skip_bad:
            raise error
        self.skipped.append(error)

    def warn(self, text: str) -> None:
        """Add a warning about an anomaly that loses no data."""
        self.warnings.append(shortened(visible(text), _MAX_WARNING_LENGTH))

    def add(self, skipped: Iterable[SourceError], warnings: Iterable[str]) -> None:
        """Add the entries of another report; a warning that several parts report is listed once."""
        earlier = set(self.warnings)
        self.skipped += skipped
        self.warnings += [warning for warning in warnings if warning not in earlier]


# -- parts


class ReadRequest(msgspec.Struct, frozen=True):
    """A request to read locations: which tags, whether with sizes, and whether as one part."""

    tags: Sequence[str] = ()
    sizes: bool = False
    is_whole: bool = False


Result = TypeVar("Result")
"""The form in which a ``Snapshot`` is returned: itself, or packed."""


State = tuple[str | None, datetime | None]
"""A tag and its time, each None if it is not stated."""


class PartRead(msgspec.Struct, Generic[Result], frozen=True):
    """The result of reading a part, and all ``states`` in it, with or without snapshots."""

    snapshots: Sequence[Result]
    states: frozenset[State]


class Part(Protocol):
    """The source of some snapshots, which can be sent to another process."""

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read the part. Raises SourceError, TagNeeded and InvalidArgument."""


class PartReader(Generic[Result]):
    """Reads parts, each with its own report, and converts each snapshot with ``make``.

    ``settings`` and ``report`` are those of the entire import.
    """

    def __init__(
        self, settings: ReadSettings, report: Report, make: Callable[[Snapshot], Result]
    ) -> None:
        self.settings = settings
        self.report = report
        self.make = make

    def each(self, parts: Sequence[Part]) -> Iterator[PartRead[Result]]:
        """Yield the results of the parts, in order. Raises the error of the first that fails."""
        return map(self.here, parts)

    def here(self, part: Part) -> PartRead[Result]:
        """Return the result of a part that must be read in this process."""
        own = Report(skip_bad=self.report.skip_bad, progress=self.report.progress)
        try:
            content = part.read(self.settings, own)
        finally:
            self.report.add(own.skipped, own.warnings)
        return PartRead(list(map(self.make, content.snapshots)), content.states)


class Indivisible(CachelogError):
    """The input cannot be split into parts: its content is determined only by all of it."""

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(f"{location}: cannot be read part by part")

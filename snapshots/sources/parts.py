"""The parts of an import that are read separately, in this process or in others.

A source of which parts are independent, such as the tags of a list, is split into them. Each is
read with its own report.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import msgspec

from snapshots.contents import Snapshot
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings


class ReadRequest(msgspec.Struct, frozen=True):
    """A request to read locations.

    ``tags`` are the names or globs of the tags to read, all if there are none. With ``sizes``, the
    sizes of packages that an index does not state are fetched.
    """

    tags: Sequence[str] = ()
    sizes: bool = False


Result = TypeVar("Result")
"""The form in which a ``Snapshot`` is returned: itself, or packed."""


State = tuple[str | None, datetime | None]
"""A tag and its time, each None if it is not stated."""


class PartRead(msgspec.Struct, Generic[Result], frozen=True):
    """The result of reading a part, and all ``states`` in it, with or without snapshots."""

    snapshots: Sequence[Result]
    states: frozenset[State]


class Part(Protocol):
    """The source of some snapshots, which can be pickled to read it in another process."""

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read the part. Raises SourceError, TagNeeded and InvalidArgument."""


class PartExecutor(Generic[Result]):
    """Executes the reading of parts, each with its own report, one after another in this process.

    Each snapshot is converted with ``make``. ``settings`` and ``report`` are those of the entire
    import.
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

"""What a reader says beside the records it yields: progress, warnings, and what it left out."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from snapshots.errors import SourceError
from snapshots.wording import shortened, visible

_LONGEST_WARNING = 2_000

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how far it got, and the total where that is known."""


def _silent(_task: str, _done: int, _total: int | None) -> None:
    pass


@dataclass(kw_only=True)
class Report:
    """Collects what an import noticed.

    With ``skip_bad`` a place that cannot be read is left out and listed in ``skipped``; without it
    the first one ends the import.
    """

    skip_bad: bool = False
    progress: Progress = _silent
    skipped: list[SourceError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def bad(self, error: SourceError) -> None:
        """Note a place that cannot be read, or raise the error where nothing may be skipped."""
        if not self.skip_bad:
            raise error
        self.skipped.append(error)

    def warn(self, text: str) -> None:
        """Note something that is odd but loses nothing."""
        self.warnings.append(shortened(visible(text), _LONGEST_WARNING))

    @contextmanager
    def part(self) -> Iterator["Report"]:
        """Yield a report of a part of the import; what it collects is added to this one."""
        part = Report(skip_bad=self.skip_bad, progress=self.progress)
        try:
            yield part
        finally:
            self.add(part.skipped, part.warnings)

    def add(self, skipped: Iterable[SourceError], warnings: Iterable[str]) -> None:
        """Take in what was noticed elsewhere; a warning that several parts give stands once."""
        known = set(self.warnings)
        self.skipped += skipped
        self.warnings += [it for it in warnings if it not in known]

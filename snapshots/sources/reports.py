"""Reports of imports: their progress, warnings and skipped locations."""

from collections.abc import Callable, Iterable

import msgspec

from snapshots.errors import SourceError
from snapshots.texts import shortened, visible

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

"""The table ``runs``: imports, upkeep, verifications and backups, and what became of each."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.storage import Storage, translated
from snapshots.tables import RUNS

KEPT = timedelta(days=400)
"""The age at which upkeep forgets a run."""

REGULAR = timedelta(days=30)
"""What ran twice, and not longer ago than this, is expected to run again."""


class RunKind(StrEnum):
    """What ran."""

    IMPORT = "import"
    UPKEEP = "upkeep"
    VERIFY = "verify"
    BACKUP = "backup"


class RunResult(StrEnum):
    """What became of a run.

    - PUBLISHED: An import published revisions.
    - UNCHANGED: An import found nothing new.
    - DONE: Anything else was successful.
    - REFUSED: A gate refused what an import read.
    - FAILED: An error, or damage that a verification found.
    """

    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"

    @property
    def is_success(self) -> bool:
        """Whether nothing has to be done about it."""
        return self not in (RunResult.REFUSED, RunResult.FAILED)


class Run(msgspec.Struct, kw_only=True):
    """A row of the table.

    - kind, subject: What ran, and on which source or to which target; together its identity.
    - series: The series that an import read, sorted.
    - started_at: When it began.
    - seconds: How long it took.
    - result: What became of it.
    - message: Why it was refused or failed, in a sentence; else empty.
    - revisions: The refs of the revisions that it published.
    """

    kind: RunKind
    subject: str = ""
    series: list[str] = []
    started_at: datetime
    seconds: float = 0.0
    result: RunResult = RunResult.DONE
    message: str = ""
    revisions: list[str] = []

    @property
    def ended_at(self) -> datetime:
        """When it ended."""
        return self.started_at + timedelta(seconds=self.seconds)


class Regular(msgspec.Struct, frozen=True):
    """What runs again and again: its last run, and its last success, if there was any."""

    last: Run
    success: Run | None


def regular(runs: Iterable[Run], now: datetime) -> list[Regular]:
    """Return what is expected to run again, of runs that are newest first.

    An import or a backup is if it ran twice, the last time not longer ago than ``REGULAR``.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.kind, run.subject), []).append(run)
    return [
        Regular(same[0], next((run for run in same if run.result.is_success), None))
        for same in groups.values()
        if now - same[0].started_at < REGULAR and (len(same) > 1 or not same[0].subject)
    ]


class Runs:
    """The recorded runs of a catalog. Raises CatalogError if the store fails."""

    def __init__(self, storage: Storage) -> None:
        self._location = storage.location.text
        self._table = CatalogTable(storage, "runs", RUNS, sorted_by=["started_at"])

    def all(self) -> list[Run]:
        """Return all runs, newest first; none if the table does not exist."""
        with translated(self._location):
            try:
                rows = self._table.read().to_pylist()
            except TableNotFoundError:
                return []
        runs = msgspec.convert(rows, list[Run])
        return sorted(runs, key=lambda run: run.started_at, reverse=True)

    def add(self, run: Run) -> None:
        """Record a run. One that does not know its series has those of its last success."""
        with translated(self._location):
            if run.kind is RunKind.IMPORT and not run.series:
                same = (it for it in self.all() if it.subject == run.subject and it.series)
                run.series = next((it.series for it in same), [])
            self._table.append(pa.Table.from_pylist([msgspec.structs.asdict(run)], RUNS))
            self._table.merge()

    def forget(self, before: datetime) -> int:
        """Remove the runs that started before a moment; return their number."""
        with translated(self._location):
            limit = pa.scalar(before, RUNS.field("started_at").type)
            return self._table.drop_rows(lambda rows: pc.less(rows["started_at"], limit))

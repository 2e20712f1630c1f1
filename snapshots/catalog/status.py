"""Whether a catalog is well: its size, its newest revisions, its runs, and what needs a person."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import Regular, Run, RunKind, RunResult, regular
from snapshots.texts import minute, size

UPKEEP_OVERDUE = timedelta(days=3)
"""The age of the last successful upkeep that is a problem."""

_MIN_FREE = 0.05
"""The share of a disk that has to be free."""


class SeriesStatus(msgspec.Struct, frozen=True):
    """A series: its newest revision, and the last import that read it, if that is known."""

    name: str
    num_revisions: int
    newest: str
    taken_at: datetime
    last_import: Run | None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a catalog.

    - num_revisions, num_contents: Its numbers.
    - num_bytes: The sizes of its files; ``num_free_bytes`` are left on its disk, None elsewhere.
    - series: Its series, the main one first.
    - runs: What runs again and again, with the last result of each.
    - num_missing_pairs: The pairs of neighbours that the next upkeep compares.
    - problems: What needs a person, in sentences.
    """

    location: str
    num_revisions: int
    num_contents: int
    num_bytes: int
    num_free_bytes: int | None
    series: list[SeriesStatus]
    runs: list[Run]
    num_missing_pairs: int
    problems: list[str]


def status_of(catalog: Catalog, now: datetime) -> Status:
    """Return the state of a catalog that was refreshed; raises CatalogError if the store fails."""
    history, storage = catalog.history, catalog.storage
    runs = catalog.runs.all()
    expected = regular(runs, now)
    imports = [run for run in runs if run.kind is RunKind.IMPORT]
    disk = shutil.disk_usage(catalog.location) if storage.location.is_folder else None
    stored = catalog.changes.explained
    return Status(
        location=storage.location.text,
        num_revisions=len(history.revisions),
        num_contents=len({row.digest for row in history.rows}),
        num_bytes=catalog.num_bytes(),
        num_free_bytes=disk.free if disk else None,
        series=[
            SeriesStatus(
                name,
                len(history.of_series(name)),
                (newest := history.of_series(name)[0]).ref,
                newest.taken_at,
                next((run for run in imports if name in run.series), None),
            )
            for name in history.series_names
        ],
        runs=[it.last for it in expected],
        num_missing_pairs=sum(pair not in stored for pair in history.pairs),
        problems=[
            *_failing(expected),
            *_overdue(expected, now),
            *_full(disk.free if disk else 0, disk.total if disk else 0),
        ],
    )


def _failing(expected: list[Regular]) -> Iterator[str]:
    for it in expected:
        if not it.last.result.is_success:
            of = f" of {it.last.subject}" if it.last.subject else ""
            verb = "is refused" if it.last.result is RunResult.REFUSED else "fails"
            when = f"the last success was {minute(it.success.ended_at)}" if it.success else "always"
            yield f"{it.last.kind}{of} {verb} ({when}): {it.last.message}"


def _overdue(expected: list[Regular], now: datetime) -> Iterator[str]:
    for it in expected:
        if it.last.kind is RunKind.UPKEEP and now - it.last.ended_at > UPKEEP_OVERDUE:
            yield f"no upkeep since {minute(it.last.ended_at)} UTC"


def _full(free: int, total: int) -> Iterator[str]:
    if total and free < _MIN_FREE * total:
        yield f"the disk is nearly full: {size(free)} of {size(total)} are free"

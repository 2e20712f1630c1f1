"""Progress bars on standard error, for commands that take long."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from snapshots.sources.reports import Progress as Notify
from snapshots.sources.reports import Report
from snapshots.wording import visible


@contextmanager
def progress() -> Iterator[Notify]:
    """Show progress bars at a terminal, nothing elsewhere; yields the function to report to."""
    if not sys.stderr.isatty():
        yield Report().progress
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(task: str, done: int, total: int | None) -> None:
            if task not in tasks:
                tasks[task] = bars.add_task(visible(task), total=total)
            bars.update(tasks[task], completed=done, total=total, visible=done != total)

        yield report

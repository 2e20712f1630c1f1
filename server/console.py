"""What the commands share in talking to people and programs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from snapshots.sources.reports import Progress as Notify
from snapshots.sources.reports import Report

CatalogOption = Annotated[
    str,
    typer.Option(
        "--catalog",
        envvar="CACHELOG_CATALOG",
        metavar="LOCATION",
        help="Where the catalog is: a folder, or a URL of object storage.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
BaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="The revision that changes are counted from: TAG, TAG~N, TAG@DATE or a digest.",
    ),
]
HeadArgument = Annotated[
    str, typer.Argument(metavar="HEAD", help="The revision that changes lead to, likewise.")
]

DEFAULT_CATALOG = "catalog"


def say(text: str) -> None:
    """Print a result."""
    typer.echo(text)


def say_json(value: Any) -> None:
    """Print a result for programs."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def note(text: str) -> None:
    """Print something beside the result."""
    typer.echo(text, err=True)


@contextmanager
def progress() -> Iterator[Notify]:
    """Show progress bars while people watch; the function that comes out reports to them."""
    if not sys.stderr.isatty():
        yield Report().progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(task: str, done: int, total: int | None) -> None:
            if task not in tasks:
                tasks[task] = bars.add_task(task, total=total)
            bars.update(tasks[task], completed=done, total=total, visible=done != total)

        yield report

"""How the commands print: results to standard output, remarks to standard error, colour or none."""

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from itertools import chain, repeat
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from snapshots.errors import CachelogError, OutputError
from snapshots.texts import is_plain, visible

if TYPE_CHECKING:
    from snapshots.sources.reports import Progress as Notify  # its module imports numpy

_STYLES = re.compile(r"(\x1b\[(?:0|1|2|3[0-7])m)")
"""What ``click.style`` puts around texts: colours, bold, dim, and their end."""

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

_PREFIX = "cachelog: "

_JSON_UNSEEN = re.compile(r"[^\x20-\x7e\n]")


def prepare_streams() -> None:
    """Open closed standard streams, and let all of them take every character.

    What is written to a stream that was closed is dropped. Characters that the encoding of the
    output lacks are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def faults_end_with(code: int, *, catches: bool = True) -> Iterator[None]:
    """Print what is at fault in the context, and exit with a code; without ``catches``, raise it.

    Of the errors of the operating system only those of the standard output are faults.
    """
    try:
        yield
    except (CachelogError, OSError) as error:
        fault = error
        if not catches:
            raise
        if isinstance(error, OSError):
            if error.filename is not None or error.errno not in _OUTPUT_FAULTS:
                raise
            # Nothing more can be written there, not by Python as it ends either.
            drop_output()
            fault = OutputError("standard output", error.strerror or str(error))
        # A caret in the second line points at a character in the first.
        note(f"{_PREFIX}{fault}".replace("\n", "\n" + " " * len(_PREFIX)))
        raise SystemExit(code) from None


def drop_output() -> None:
    """Redirect the standard output to the null device."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(text: str) -> None:
    """Print a line of the result; invisible characters are escaped, except for styles."""
    click.echo(_visible(text))


def say_lines(lines: Iterable[str]) -> None:
    """Print lines of the result as they come."""
    for line in lines:
        say(line)


def say_pages(lines: Iterable[str]) -> None:
    """Print lines of the result: at a terminal that they do not fit on, through the pager.

    PAGER names the pager, as everywhere; LESS may say how less behaves. Leaving
    it before the end is no error.
    """
    say_blocks([list(lines)])


def say_blocks(blocks: Iterable[Sequence[str]]) -> None:
    """Print blocks of lines of the result as they come, with an empty line between them.

    At a terminal that they do not fit on they go through the pager, as in ``say_pages``: blocks
    are made as the reader scrolls.
    """
    rest, first = map(_block_text, blocks, chain([""], repeat("\n"))), []
    if sys.stdin.isatty() and sys.stdout.isatty():
        for text in rest:
            first.append(text)
            if "".join(first).count("\n") >= get_terminal_size().lines:
                os.environ.setdefault("LESS", "-R")
                click.echo_via_pager(chain(first, rest))
                return
    for text in chain(first, rest):
        click.echo(text, nl=False)


def _block_text(lines: Sequence[str], before: str) -> str:
    return before + "".join(f"{_visible(line)}\n" for line in lines)


def say_json(value: Any) -> None:
    """Print the result for programs; records become objects, revisions as ``revision_facts``."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
    document = orjson.dumps(value, _fields, options).decode()
    click.echo(_JSON_UNSEEN.sub(_json_escape, document))


def _fields(value: Any) -> Any:
    """Return what JSON has of a value that is not one of its own types."""
    from snapshots.models import SideInfo, revision_facts

    if isinstance(value, SideInfo):
        return revision_facts(value)
    names = getattr(value, "__struct_fields__", None)
    return list(value) if names is None else facts_of(value, *names)


def facts_of(record: Any, *names: str) -> dict[str, Any]:
    """Return some attributes of a record for programs, by their names."""
    return {name: None if record is None else getattr(record, name) for name in names}


_JSON = f"{__name__}.json"


def choose_json(ctx: click.Context, _param: click.Parameter, is_set: bool) -> None:
    """Have the result of the command printed as JSON: the callback of ``--json``."""
    ctx.meta[_JSON] = is_set


def prints_json() -> bool:
    """Tell whether the running command prints JSON."""
    return bool(click.get_current_context().meta.get(_JSON))


def say_result(document: Callable[[], Any], lines: Iterable[str]) -> None:
    """Print the result of a command: what ``document`` returns as JSON, or lines for people."""
    if prints_json():
        say_json(document())
    else:
        say_pages(lines)


def note(text: str) -> None:
    """Print lines to standard error; invisible characters are escaped."""
    click.echo("\n".join(map(visible, text.split("\n"))), err=True)


_WIDTH = f"{__name__}.width"


def choose_width(ctx: click.Context, _param: click.Parameter, columns: int | None) -> None:
    """Fit the lines of the command's result into so many columns: the callback of ``--width``."""
    if columns is not None:
        ctx.meta[_WIDTH] = columns


def keep_lines_whole() -> None:
    """Let lines of the running command be as long as they are, also at a terminal."""
    click.get_current_context().meta[_WIDTH] = None


def width() -> int | None:
    """Return how many columns a line of the result may take; None for any number.

    They are those of ``--width``, else of the terminal. Other programs, such as grep, need whole
    lines.
    """
    context = click.get_current_context(silent=True)
    if context is not None and _WIDTH in context.meta:
        columns: int | None = context.meta[_WIDTH]
        return columns
    return get_terminal_size().columns if sys.stdout.isatty() else None


def _visible(text: str) -> str:
    parts = _STYLES.split(text)
    return "".join(part if _STYLES.fullmatch(part) else visible(part) for part in parts)


def _json_escape(match: re.Match[str]) -> str:
    """Return a character as JSON may write it as well, where a terminal would not show it."""
    character = match[0]
    if is_plain(character):
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


# -- progress


@contextmanager
def progress() -> Iterator["Notify"]:
    """Show progress bars at a terminal, nothing elsewhere; yields the function to report to."""
    if not sys.stderr.isatty():
        yield lambda _task, _done, _total: None
        return
    from rich import console, progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    screen = console.Console(stderr=True)
    with progress.Progress(*columns, console=screen, transient=True) as bars:
        tasks: dict[str, progress.TaskID] = {}

        def report(task: str, done: int, total: int | None) -> None:
            if task not in tasks:
                tasks[task] = bars.add_task(visible(task), total=total)
            bars.update(tasks[task], completed=done, total=total, visible=done != total)

        yield report

"""Console output: results on standard output, remarks on standard error, with or without colour."""

import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import Enum
from io import TextIOWrapper
from itertools import chain, islice
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from snapshots.errors import CachelogError, OutputError
from snapshots.texts import is_plain, visible

if TYPE_CHECKING:
    from snapshots.sources.reports import Progress as Notify  # its module imports numpy

_STYLES = re.compile(r"(\x1b\[(?:0|1|2|3[0-7])m)")
"""The escape sequences that ``click.style`` writes: colours, bold, dim, and reset."""

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

_PREFIX = "cachelog: "

_FIRST_COLUMN = "\r\x1b[K"
"""Returns to the beginning of the terminal's line, and erases it."""

_LINES_AT_ONCE = 100
"""The lines that are written together."""

_JSON_UNSEEN = re.compile(r"[^\x20-\x7e\n]")


def prepare_streams() -> None:
    """Open closed standard streams, and make the output streams accept every character.

    Output to a stream that was closed is discarded. Characters that the encoding of an output
    stream lacks are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def faults_end_with(code: int, *, catches: bool = True) -> Iterator[None]:
    """Print errors raised in the context, and exit with a code; without ``catches``, raise them.

    Of the operating system's errors, only those of standard output are handled.
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
            # Python would otherwise fail to flush standard output again when it exits.
            drop_output()
            fault = OutputError("standard output", error.strerror or str(error))
        # Lines stay aligned: a caret in the second line points at a character in the first.
        note(f"{_PREFIX}{fault}".replace("\n", "\n" + " " * len(_PREFIX)))
        raise SystemExit(code) from None


def drop_output() -> None:
    """Redirect standard output to the null device."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def print_text(text: str) -> None:
    """Print a line of the result. Invisible characters are escaped, except for styles."""
    click.echo(_visible(text))


def print_paged(lines: Iterable[str]) -> None:
    """Print lines of the result as they are produced, through a pager if they do not fit.

    Then further lines are produced as the reader scrolls. The environment variable PAGER names the
    pager, and LESS sets the options of less. Leaving the pager early is not an error.
    """
    rest: Iterator[str] = (f"{_visible(line)}\n" for line in lines)
    if sys.stdin.isatty() and sys.stdout.isatty():
        first = list(islice(rest, get_terminal_size().lines))
        if len(first) == get_terminal_size().lines:
            os.environ.setdefault("LESS", "-R")
            click.echo_via_pager(chain(first, rest))
            return
        rest = iter(first)
    while some := "".join(islice(rest, _LINES_AT_ONCE)):
        click.echo(some, nl=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, in the form of ``plain``."""
    import orjson

    document = orjson.dumps(plain(value), None, orjson.OPT_INDENT_2).decode()
    click.echo(_JSON_UNSEEN.sub(_json_escape, document))


def plain(value: Any) -> Any:
    """Return a value as plain ones, with the names and values of the API.

    Records become objects with keys in ``camelCase``, revisions their refs, enums their names, and
    times RFC 3339.
    """
    from snapshots.models import SideInfo

    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, SideInfo):
        return value.ref or value.name
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if (fields := getattr(value, "__struct_fields__", None)) is not None:
        return {_camel(name): plain(getattr(value, name)) for name in fields}
    return list(map(plain, sorted(value) if isinstance(value, Set) else value))


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_JSON = f"{__name__}.json"


def choose_json(ctx: click.Context, _param: click.Parameter, is_set: bool) -> None:
    """Print the command's result as JSON. This is the callback of ``--json``."""
    ctx.meta[_JSON] = is_set


def prints_json() -> bool:
    """Return whether the running command prints JSON."""
    return bool(click.get_current_context().meta.get(_JSON))


_QUERY = f"{__name__}.query"


def choose_query(ctx: click.Context, _param: click.Parameter, is_set: bool) -> None:
    """Print the document of ``--json`` instead of its answer: the callback of ``--print-query``."""
    ctx.meta[_QUERY] = is_set


def prints_query() -> bool:
    """Return whether the running command prints its document."""
    return bool(click.get_current_context().meta.get(_QUERY))


def print_result(record: Any, lines: Iterable[str]) -> None:
    """Print the result of a command: lines of text, or with ``--json`` the record."""
    if prints_json():
        print_json(record)
    else:
        print_paged(lines)


def note(text: str) -> None:
    """Print lines to standard error. Invisible characters are escaped."""
    click.echo("\n".join(map(visible, text.split("\n"))), err=True)


def _visible(text: str) -> str:
    parts = _STYLES.split(text)
    return "".join(part if _STYLES.fullmatch(part) else visible(part) for part in parts)


def _json_escape(match: re.Match[str]) -> str:
    """Return the JSON escape sequence of a character that a terminal would not show."""
    character = match[0]
    if is_plain(character):
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


# -- progress


@contextmanager
def progress() -> Iterator["Notify"]:
    """Show what is done in a line at a terminal, and nothing elsewhere.

    Yields the function that reports. The line is removed at the end.
    """
    if not sys.stderr.isatty():
        yield lambda _task, _done, _total: None
        return

    def report(task: str, done: int, total: int | None) -> None:
        of = "" if total is None else f" of {total:,}"
        click.echo(f"{_FIRST_COLUMN}{visible(task)}: {done:,}{of}", nl=False, err=True)

    try:
        yield report
    finally:
        click.echo(_FIRST_COLUMN, nl=False, err=True)

"""Run commands of the command-line interface in the current process, which takes milliseconds."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest import mock

import orjson

from server.cli import main
from tests.schema.worlds import World
from tests.server.known_catalogs import KnownCatalog
from tests.server.servers import environ


class CommandResult(NamedTuple):
    """The outcome of a command: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the standard output."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The standard output parsed as JSON."""
        return orjson.loads(self.out)


class _Stream(io.TextIOWrapper):
    """An output stream of a command in memory; click writes bytes to some of it."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._is_terminal

    def content(self) -> str:
        """Return all content written so far."""
        self.seek(0)
        return self.read()


def cachelog(
    *arguments: object,
    terminal: int | None = None,
    variables: Mapping[str, str] | None = None,
    output: io.TextIOWrapper | None = None,
    **settings: object,
) -> CommandResult:
    """Run a command as a shell does; ``settings`` become CACHELOG_* variables.

    ``terminal`` is the width in columns of a terminal as standard output; ``output`` replaces the
    standard output.
    """
    out, err = _Stream(is_terminal=terminal is not None), _Stream(is_terminal=False)
    shape = {"COLUMNS": str(terminal), "TERM": "xterm", "NO_COLOR": ""}
    columns = {} if terminal is None else shape
    environment = mock.patch.dict(
        os.environ, environ(**settings) | columns | dict(variables or {}), clear=True
    )
    line = mock.patch.object(sys, "argv", ["cachelog", *map(str, arguments)])
    code: Any = 0
    with environment, line, redirect_stdout(output or out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return CommandResult(code or 0, out.content(), err.content())


def succeed(*arguments: object, **options: Any) -> CommandResult:
    """Run a command that must exit with 0 and write nothing to standard error."""
    result = cachelog(*arguments, **options)
    assert (result.code, result.err) == (0, ""), result.err
    return result


def fail(*arguments: object, code: int = 1, **options: Any) -> str:
    """Run a command that must exit with an error and print no result; return the message."""
    result = cachelog(*arguments, **options)
    assert (result.code, result.out) == (code, ""), result.err
    return result.err


def run_in(world: World | KnownCatalog, *arguments: object) -> CommandResult:
    """Run a command on the catalog of a world."""
    return cachelog(*arguments, catalog=world.catalog.location)


def succeed_in(world: World | KnownCatalog, *arguments: object) -> CommandResult:
    """Run a command on the catalog of a world; it must succeed without messages."""
    return succeed(*arguments, catalog=world.catalog.location)

"""The command line in this very process, where a command takes milliseconds."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple, Protocol
from unittest import mock

import orjson

from server.cli import main
from snapshots.catalog.catalog import Catalog
from tests.server.servers import environ


class Done(NamedTuple):
    """What became of a command: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the result."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The result as a program reads it."""
        return orjson.loads(self.out)


class _Stream(io.TextIOWrapper):
    """What a command writes to; some of click writes bytes."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """Tell whether somebody reads it."""
        return self._is_terminal

    def written(self) -> str:
        """Return all that was written."""
        self.seek(0)
        return self.read()


def cachelog(
    *arguments: object,
    terminal: int | None = None,
    variables: Mapping[str, str] | None = None,
    output: io.TextIOWrapper | None = None,
    **settings: object,
) -> Done:
    """Run a command as a shell does; the settings become CACHELOG_* variables.

    With ``terminal`` the result goes to one of so many columns, with ``output`` to that stream.
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
    return Done(code or 0, out.written(), err.written())


def succeed(*arguments: object, **options: Any) -> Done:
    """Run a command that succeeds and prints nothing but its result."""
    done = cachelog(*arguments, **options)
    assert (done.code, done.err) == (0, ""), done.err
    return done


class World(Protocol):
    """A catalog of which a test knows what is in it."""

    @property
    def catalog(self) -> Catalog:
        """The catalog."""


def ask(world: World, *arguments: object, terminal: int | None = None) -> Done:
    """Run a command on the catalog."""
    return cachelog(*arguments, catalog=world.catalog.location, terminal=terminal)


def good(world: World, *arguments: object, terminal: int | None = None) -> Done:
    """Run a command that must succeed without a word beside its result."""
    return succeed(*arguments, catalog=world.catalog.location, terminal=terminal)

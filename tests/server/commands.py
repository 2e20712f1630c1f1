"""The command line in this very process, where a command takes milliseconds."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest import mock

import orjson

from server.cli import main
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


def cachelog(
    *arguments: object, variables: Mapping[str, str] | None = None, **settings: object
) -> Done:
    """Run a command as a shell does; the settings become CACHELOG_* variables."""
    # Some of click writes bytes, as a real stream takes.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    environment = mock.patch.dict(
        os.environ, environ(**settings) | dict(variables or {}), clear=True
    )
    line = mock.patch.object(sys, "argv", ["cachelog", *map(str, arguments)])
    code: Any = 0
    with environment, line, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Done(code or 0, *(_written(stream) for stream in (out, err)))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()

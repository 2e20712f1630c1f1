"""How the commands print: results to standard output, remarks to standard error, colour or none."""

import sys
from collections.abc import Mapping
from shutil import get_terminal_size
from typing import Any

import click


def say(text: str) -> None:
    """Print a line of the result."""
    click.echo(text)


def say_json(value: Any) -> None:
    """Print the result for programs."""
    import orjson

    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def note(text: str) -> None:
    """Print a line that is not part of the result."""
    click.echo(text, err=True)


def width() -> int | None:
    """Return how many columns a line of the result may take; None where nobody reads it.

    Other programs, such as grep, want whole lines.
    """
    return get_terminal_size().columns if sys.stdout.isatty() else None


def colour_of(environ: Mapping[str, str]) -> bool | None:
    """Return what click asks for: False for no colour, None for colour at a terminal.

    Source: https://no-color.org, and the terminal type of those that know no colours.
    """
    return False if environ.get("NO_COLOR") or environ.get("TERM") == "dumb" else None

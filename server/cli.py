"""The command line: wires the commands, and turns faults into one line and an exit code."""

import os
import sys
from typing import Annotated

import typer

from server.commands.comparing import diff_command, notes_command, revisions_command
from server.commands.finding import find_command
from server.commands.importing import demo_command, import_command
from server.commands.serving import export_schema_command, serve_command
from server.console import note, say
from snapshots.errors import CachelogError
from snapshots.program import cachelog_version

FAULT = 1
"""The exit code where the data or the request is at fault; typer leaves with 2 on wrong usage."""

_PREFIX = "cachelog: "

app = typer.Typer(
    name="cachelog",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("import")(import_command)
app.command("revisions")(revisions_command)
app.command("find")(find_command)
app.command("diff")(diff_command)
app.command("notes")(notes_command)
app.command("serve")(serve_command)
app.command("demo")(demo_command)
app.command("export-schema")(export_schema_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"cachelog {cachelog_version()}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Version control for what a Spack build cache holds."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except CachelogError as error:
        # A caret in the second line points at a character in the first.
        note(f"{_PREFIX}{error}".replace("\n", "\n" + " " * len(_PREFIX)))
        raise SystemExit(FAULT) from None
    except BrokenPipeError:
        # Whoever reads our output has seen enough; Python must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAULT) from None

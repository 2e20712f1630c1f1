"""Validators: of commands by cachelog's own parser, which runs nothing, and of files by schemas."""

from pathlib import Path

import click
from click.testing import CliRunner

from server.cli import cachelog


def is_valid(schema: str, file: Path) -> bool:
    """Tell whether a file follows a schema that comes with check-jsonschema."""
    from check_jsonschema import main as check_jsonschema  # takes long to import

    options = ["--builtin-schema", schema, str(file)]
    return CliRunner().invoke(check_jsonschema, options).exit_code == 0


def require_command(words: list[str]) -> click.Context:
    """Return what the parser makes of a command; raises UsageError for what it refuses."""
    assert words[0] == "cachelog"
    command: click.Command = cachelog
    # With its settings: click keeps the help option of a command as it was first asked for.
    context = click.Context(cachelog, info_name="cachelog", **cachelog.context_settings)
    arguments = words[1:]
    while isinstance(command, click.Group):
        name, subcommand, arguments = command.resolve_command(context, arguments)
        assert subcommand is not None
        command = subcommand
    return command.make_context(name, arguments, parent=context)

"""Whether a command could be run: cachelog's own parser reads it, and nothing is run."""

import click

from server.cli import cachelog


def require_command(words: list[str]) -> click.Context:
    """Return what the parser makes of a command; raises UsageError for what it refuses."""
    assert words[0] == "cachelog"
    command: click.Command = cachelog
    # With its settings: click keeps the help option of a command as it was first asked for.
    context = click.Context(cachelog, info_name="cachelog", **cachelog.context_settings)
    arguments = words[1:]
    while isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command = found
    return command.make_context(name, arguments, parent=context)

"""The command line: registers the commands, and translates errors to one line and an exit code.

Commands import their dependencies when they run, so that help and completion respond quickly.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from server.commands import (
    checks,
    comparisons,
    exports,
    histories,
    imports,
    lookups,
    maintenance,
    questions,
    runs,
    service,
)
from server.terminal import console
from server.terminal.parameters import CommandGroup
from snapshots.errors import ForeignPackage

FAULT = 1
"""The exit code if the data or the request is at fault; click exits with 2 on wrong usage."""

INTERRUPTED = 130
"""The exit code after Ctrl+C, as in shells: 128 plus the number of the signal."""

UNREAD = 141
"""The exit code if the reader of the output has closed it, as of programs ended by SIGPIPE."""


class _Commands(CommandGroup):
    """Lists commands by what they are for; exits without a traceback on Ctrl+C."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for heading, commands in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (str(command.name).ljust(width), command.get_short_help_str(limit=80))
                        for command in commands
                    ]
                )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            console.note("cachelog: interrupted")
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError as error:
            if error.filename is not None:
                raise
            console.drop_output()
            raise SystemExit(UNREAD) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    package_name="cachelog", message="%(prog)s %(version)s", help="Print the version and exit."
)
@click.pass_context
def cachelog(ctx: click.Context) -> None:
    """Version control for the contents of a Spack build cache: what changed, and why.

    Begin with sample data: 'cachelog serve --demo'; or with your own: 'cachelog import'.
    'cachelog COMMAND --help' describes a command.
    """
    # https://no-color.org; TERM is "dumb" for terminals without colours.
    has_no_colour = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    ctx.color = False if has_no_colour else None


_GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Find": (
        lookups.revisions_command,
        lookups.tags_command,
        lookups.packages_command,
        lookups.stacks_command,
        lookups.show_command,
        lookups.find_command,
        checks.check_command,
        questions.holes_command,
    ),
    "Explain": (
        histories.log_command,
        comparisons.diff_command,
        comparisons.why_command,
        histories.blame_command,
        histories.causes_command,
        questions.twins_command,
        questions.impact_command,
        checks.plan_command,
    ),
    "Publish": (
        imports.import_command,
        checks.gate_command,
        comparisons.notes_command,
        exports.feed_command,
        exports.export_site_command,
        service.serve_command,
    ),
    "Operate": (
        runs.status_command,
        runs.upkeep_command,
        maintenance.remove_command,
        maintenance.prune_command,
        maintenance.vacuum_command,
        maintenance.verify_command,
        histories.history_group,
        histories.recipes_command,
        maintenance.backup_command,
        maintenance.restore_command,
        maintenance.keep_list_command,
    ),
    "Other": (
        imports.demo_command,
        service.export_schema_command,
        service.completion_command,
    ),
}
"""The commands by what they are for, in the order of ``cachelog --help``."""

for _commands in _GROUPS.values():
    for _command in _commands:
        cachelog.add_command(_command)


def main() -> None:
    """Run the command line."""
    console.prepare_streams()
    # Storage errors are reported once, by cachelog; the storage library would log them too.
    os.environ.setdefault("RUST_LOG", "error")
    with console.faults_end_with(FAULT):
        require_own_schema()
        cachelog(prog_name="cachelog")


_OWN = Path(__file__).resolve().parents[1] / "schema" / "__init__.py"
_FIRST_WORDS = b'"""The GraphQL API of cachelog'


def require_own_schema() -> None:
    """Raise ForeignPackage if ``import schema`` would run another project's code.

    The check imports nothing.
    """
    spec = find_spec("schema")
    origin = Path(spec.origin).resolve() if spec and spec.origin else None
    if origin is None:
        raise ForeignPackage("schema", None)
    if origin != _OWN or not origin.read_bytes().startswith(_FIRST_WORDS):
        raise ForeignPackage("schema", str(origin))

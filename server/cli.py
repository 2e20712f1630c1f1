"""The command line: wires the commands, and turns faults into one line and an exit code.

The commands import what they use when they run, so that help and completion come at once.
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
    service,
)
from server.terminal import console
from server.terminal.parameters import HintingGroup
from snapshots.errors import ForeignPackage

FAULT = 1
"""The exit code where the data or the request is at fault; click leaves with 2 on wrong usage."""

INTERRUPTED = 130
"""The exit code after Ctrl+C, as shells have it: 128 and the number of the signal."""

UNREAD = 141
"""The exit code where the reader of the output has left, as other programs have it by SIGPIPE."""


class _Commands(HintingGroup):
    """Lists commands in the order in which they were added; ends quietly on Ctrl+C."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)

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

    Begin with made-up data, by 'cachelog serve --demo', or with your own, by 'cachelog import'.
    'cachelog COMMAND --help' describes a command.
    """
    # Source: https://no-color.org, and the terminal type of those that know no colours.
    has_no_colour = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    ctx.color = False if has_no_colour else None


for _command in (
    imports.import_command,
    lookups.revisions_command,
    lookups.tags_command,
    lookups.packages_command,
    lookups.stacks_command,
    histories.log_command,
    lookups.show_command,
    lookups.find_command,
    checks.check_command,
    comparisons.diff_command,
    comparisons.why_command,
    histories.blame_command,
    histories.causes_command,
    comparisons.notes_command,
    questions.holes_command,
    questions.twins_command,
    questions.impact_command,
    checks.plan_command,
    exports.feed_command,
    exports.export_site_command,
    checks.gate_command,
    histories.recipes_command,
    histories.history_group,
    maintenance.costs_group,
    maintenance.remove_command,
    maintenance.prune_command,
    maintenance.keep_list_command,
    maintenance.vacuum_command,
    maintenance.verify_command,
    maintenance.backup_command,
    maintenance.restore_command,
    service.serve_command,
    imports.demo_command,
    service.export_schema_command,
    service.completion_command,
):
    cachelog.add_command(_command)


def main() -> None:
    """Run the command line."""
    console.prepare_streams()
    # Errors of a store are reported once, as ours; its library would log them too.
    os.environ.setdefault("RUST_LOG", "error")
    with console.faults_end_with(FAULT):
        require_own_schema()
        cachelog(prog_name="cachelog")


_OWN = Path(__file__).resolve().parents[1] / "schema" / "__init__.py"
_FIRST_WORDS = b'"""The GraphQL API of cachelog'


def require_own_schema() -> None:
    """Raise ForeignPackage where ``import schema`` would run somebody else's code.

    Nothing is imported for it.
    """
    spec = find_spec("schema")
    origin = Path(spec.origin).resolve() if spec and spec.origin else None
    if origin is None:
        raise ForeignPackage("schema", None)
    if origin != _OWN or not origin.read_bytes().startswith(_FIRST_WORDS):
        raise ForeignPackage("schema", str(origin))

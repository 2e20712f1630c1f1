"""The command line: names the commands, and translates errors to one line and an exit code.

A command is imported when it is called, and its dependencies when it runs, so that help and
completion respond quickly.
"""

import gc
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from server.terminal import console
from snapshots.errors import ForeignPackage

FAULT = 1
"""The exit code if the data or the request is at fault; click exits with 2 on wrong usage."""

INTERRUPTED = 130
"""The exit code after Ctrl+C, as in shells: 128 plus the number of the signal."""

_OBJECTS_BETWEEN_COLLECTIONS = 100_000

UNREAD = 141
"""The exit code if the reader of the output has closed it, as of programs ended by SIGPIPE."""


_GROUPS = {
    "Find": {
        "revisions": "lookups",
        "packages": "lookups",
        "show": "lookups",
        "find": "lookups",
        "check": "checks",
        "holes": "questions",
    },
    "Explain": {
        "log": "histories",
        "diff": "comparisons",
        "why": "comparisons",
        "blame": "histories",
        "causes": "histories",
        "twins": "questions",
        "impact": "questions",
        "plan": "checks",
    },
    "Publish": {
        "import": "imports",
        "gate": "checks",
        "notes": "comparisons",
        "export-site": "exports",
        "serve": "service",
    },
    "Operate": {
        "status": "runs",
        "upkeep": "runs",
        "remove": "maintenance",
        "prune": "maintenance",
        "vacuum": "maintenance",
        "verify": "maintenance",
        "recipes": "histories",
        "backup": "maintenance",
        "keep-list": "maintenance",
    },
    "Other": {
        "demo": "imports",
        "export-schema": "service",
    },
}
"""The commands by what they are for, in the order of ``cachelog --help``, and their modules."""


class _Commands(Mapping[str, click.Command]):
    """The commands by name; the module of one is imported when the command is looked up.

    So that a command starts without the modules of the others.
    """

    def __init__(self) -> None:
        groups = _GROUPS.values()
        self._modules = {name: module for group in groups for name, module in group.items()}

    def __getitem__(self, name: str) -> click.Command:
        module = import_module(f"server.commands.{self._modules[name]}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class _CommandLine(click.Group):
    """Lists commands by what they are for; exits without a traceback on Ctrl+C."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before the command; say where an option of a command belongs."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if any(name in it.opts for command in self.commands.values() for it in command.params):
                hint = f"Write it after the command: {ctx.command_path} COMMAND {name} ..."
                raise click.NoSuchOption(name, f"{error.message} {hint}", ctx=ctx) from None
            raise

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for heading, commands in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), self.commands[name].get_short_help_str(limit=80))
                        for name in commands
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


@click.group(
    cls=_CommandLine,
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
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


def main() -> None:
    """Run the command line."""
    console.prepare_streams()
    # Collections of garbage while libraries are imported take a tenth of the time of a command.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
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

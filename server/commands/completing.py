"""``cachelog completion``: what a shell needs to complete the command line."""

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument(
    "shell",
    metavar="SHELL",
    type=click.Choice(["bash", "zsh", "fish"]),
    help="The shell: bash, zsh or fish.",
)
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in a shell.

    It completes options, revisions, packages and stacks too. Write it where the shell looks for
    such scripts: for bash into ~/.local/share/bash-completion/completions/cachelog.
    """
    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101 - click knows the shells of the choice
    root = ctx.find_root()
    script = complete(root.command, {}, str(root.info_name), "_CACHELOG_COMPLETE").source()
    click.echo(script)

"""``cachelog notes``: release notes of what changed between two revisions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.commands.compared import compare, scope_options
from server.terminal.parameters import catalog_option, refs_of, two_refs

if TYPE_CHECKING:
    from snapshots.notes.document import Changelog


@click.command("notes")
@two_refs
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html", "json"]),
    default="markdown",
    show_default=True,
    help="For people, in either markup, or for programs.",
)
@click.option(
    "--template",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write them by a Jinja template of your own, or by one that comes along: chat, or "
    "github-release.",
)
@scope_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write there, not to the terminal.",
)
@catalog_option
@click.pass_context
def notes_command(
    ctx: click.Context,
    base: str,
    head: str | None,
    *,
    form: str,
    template: Path | None,
    package: str | None,
    stack: str | None,
    matching: str | None,
    output: Path | None,
    catalog: str,
) -> None:
    """Write release notes: what changed, and why."""
    from snapshots.errors import OutputError
    from snapshots.notes.scope import Only

    if template is not None and ctx.get_parameter_source("form") is not _DEFAULT:
        raise click.UsageError("--template says how notes are written; leave --format out.")
    only = Only(package=package, stack=stack, matching=matching)
    text = _written(compare(catalog, refs_of(base, head), only).changelog(), form, template)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(str(output), error.strerror or str(error)) from None


_DEFAULT = click.core.ParameterSource.DEFAULT


def _written(log: "Changelog", form: str, template: Path | None) -> str:
    from snapshots.notes.own_templates import EXAMPLES, render_example, render_own
    from snapshots.notes.rendering import NotesFormat, render

    if template is None:
        return render(log, NotesFormat(form))
    name = str(template)
    return render_example(log, name) if name in EXAMPLES else render_own(log, template)

"""``cachelog notes``: release notes of what changed between two revisions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.completion import complete_package, complete_stack
from server.parameters import catalog_option, refs_of, two_refs

if TYPE_CHECKING:
    from snapshots.catalog.library import Library
    from snapshots.notes.document import Changelog
    from snapshots.notes.scope import Only, Scope


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
@click.option(
    "--package", metavar="NAME", shell_complete=complete_package, help="Only this package."
)
@click.option(
    "--stack",
    metavar="NAME",
    shell_complete=complete_stack,
    help="Only specs that this stack has on either side.",
)
@click.option(
    "--matching",
    metavar="QUERY",
    help="Only specs that this query in Spack's language matches on either side.",
)
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
    """Write release notes of what changed, and why, ready to be published."""
    from snapshots.errors import OutputError
    from snapshots.notes.scope import Only

    if template is not None and ctx.get_parameter_source("form") is not _DEFAULT:
        raise click.UsageError("--template says how notes are written; leave --format out.")
    only = Only(package=package, stack=stack, matching=matching)
    text = _written(_log(catalog, refs_of(base, head), only), form, template)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(str(output), error.strerror or str(error)) from None


_DEFAULT = click.core.ParameterSource.DEFAULT


def _written(log: "Changelog", form: str, template: Path | None) -> str:
    from snapshots.notes.own_templates import EXAMPLES, example_file, render_own
    from snapshots.notes.rendering import NotesFormat, render

    if template is None:
        return render(log, NotesFormat(form))
    name = str(template)
    return render_own(log, example_file(name) if name in EXAMPLES else template)


def _log(location: str, refs: tuple[str, str], only: "Only") -> "Changelog":
    """Return what changed between the revisions that the refs name, as far as it is asked for."""
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.library import Library
    from snapshots.notes.changelog import changelog

    catalog = Catalog(location)
    history = catalog.require_history()
    base, head = (history.resolve(ref) for ref in refs)
    library = Library(catalog)
    scope = _scope(library, (base.digest, head.digest), only) if only else None
    return changelog(base, head, library.explain(base.digest, head.digest), scope)


def _scope(library: "Library", digests: tuple[str, str], only: "Only") -> "Scope":
    """Return which specs are asked for; raises for names that neither revision has."""
    from server.commands.names import require_package, require_stack
    from snapshots.notes.scope import scope_of

    base, head = sides = tuple(map(library.frames.get, digests))
    if only.package is not None:
        require_package(only.package, sides)
    if only.stack is not None:
        require_stack(only.stack, sides)
    matching = None
    if only.matching is not None:
        before, after = (library.find(digest, only.matching) for digest in digests)
        matching = before, after
    return scope_of(only, (base, head), matching)

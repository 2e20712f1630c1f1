"""``cachelog diff``, ``why`` and ``notes``: what changed between two revisions, and why."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from server.terminal.completion import (
    DIMENSIONS,
    complete_dimensions,
    complete_head_or_package,
    complete_package,
    complete_range,
    complete_stack,
)
from server.terminal.console import note, say_json, say_pages, width
from server.terminal.parameters import REF_FORMS, catalog_option, json_option, refs_of, two_refs
from snapshots.errors import InvalidArgument, OutputError

if TYPE_CHECKING:
    from snapshots.changes.coverage import CoverageDimension
    from snapshots.notes.document import Changelog


# -- what the commands share


_DEFAULT = click.core.ParameterSource.DEFAULT

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def scope_options(command: Decorated) -> Decorated:
    """Add ``--package``, ``--stack`` and ``--matching``, which limit what is shown."""
    for option in (
        click.option(
            "--matching",
            metavar="QUERY",
            help="Only specs that this query in Spack's language matches on either side.",
        ),
        click.option(
            "--stack",
            metavar="NAME",
            shell_complete=complete_stack,
            help="Only specs that this stack has on either side.",
        ),
        click.option(
            "--package", metavar="NAME", shell_complete=complete_package, help="Only this package."
        ),
    ):
        command = option(command)
    return command


# -- diff


class Dimensions(click.ParamType["tuple[CoverageDimension, ...]"]):
    """Dimensions of coverage, with commas between them."""

    name = "dimensions"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> "tuple[CoverageDimension, ...]":
        """Parse the names."""
        from snapshots.changes.coverage import CoverageDimension

        names = [name.strip() for name in str(value).split(",") if name.strip()]
        unknown = [name for name in names if name not in DIMENSIONS]
        if unknown:
            names_of_all = ", ".join(DIMENSIONS)
            self.fail(f"{', '.join(map(repr, unknown))} is none of {names_of_all}", param, ctx)
        if twice := [name for name in DIMENSIONS if names.count(name) > 1]:
            self.fail(f"{', '.join(twice)} stands there twice", param, ctx)
        return tuple(CoverageDimension(name.replace("-", "_")) for name in names)


@click.command("diff")
@two_refs
@click.option("--stat", is_flag=True, help="Only counts, package by package.")
@scope_options
@click.option(
    "--coverage",
    "dimensions",
    type=Dimensions(),
    shell_complete=complete_dimensions,
    metavar="LIST",
    help="Instead of specs, the combinations of packages with these that were lost and gained: "
    f"{', '.join(DIMENSIONS)}, with commas between them.",
)
@click.option(
    "--exit-code", is_flag=True, help="Leave with 1 if what is shown differs, else with 0."
)
@json_option
@catalog_option
def diff_command(
    base: str,
    head: str | None,
    *,
    as_json: bool,
    stat: bool,
    dimensions: "tuple[CoverageDimension, ...] | None",
    exit_code: bool,
    catalog: str,
    **scope: str | None,
) -> None:
    """Print what changed between two revisions, and why.

    Specs are told apart by their hashes: + was added, - was removed, ~ took the place of another,
    = has other facts.
    """
    from server.terminal.printing.comparisons import (
        compare,
        coverage_document,
        coverage_lines,
        difference_document,
        difference_lines,
    )

    if stat and dimensions is not None:
        raise click.UsageError("--coverage has no counts by package; leave --stat out.")
    compared = compare(catalog, refs_of(base, head), **scope)
    if dimensions is not None:
        cells = compared.coverage(dimensions)
        differs = bool(cells)
        if as_json:
            say_json(coverage_document(compared, cells))
        else:
            say_pages(coverage_lines(compared, cells, width()))
    else:
        differs = bool(compared.changes)
        if as_json:
            say_json(difference_document(compared))
        else:
            say_pages(difference_lines(compared, width(), stat=stat))
    if exit_code and differs:
        raise SystemExit(1)


# -- why


@click.command("why")
@click.argument(
    "base",
    metavar="BASE",
    shell_complete=complete_range,
    help=f"The revision to compare from: {REF_FORMS}. BASE..HEAD names both at once.",
)
@click.argument(
    "words",
    metavar="HEAD [PACKAGE|/HASH]",
    nargs=-1,
    shell_complete=complete_head_or_package,
    help="The revision to compare to, named likewise. Behind it, a package or the hash of a spec, "
    "of which the first characters are enough: how it came to what it is.",
)
@scope_options
@json_option
@catalog_option
def why_command(
    base: str,
    words: tuple[str, ...],
    *,
    package: str | None,
    as_json: bool,
    catalog: str,
    **scope: str | None,
) -> None:
    """Print what set off the rebuilds between two revisions.

    Each spec that took the place of another has one main cause, so the numbers add up. Of a package
    or a hash, the way from each spec down to its main cause is printed.
    """
    from server.terminal.printing.comparisons import (
        causes_document,
        causes_lines,
        compare,
        stories_lines,
    )

    head, subject = _head_and_subject(base, words)
    if subject is not None and not subject.strip("/ "):
        raise click.UsageError("Behind HEAD stands a package, or /HASH with characters of a hash.")
    if subject is not None and package is not None:
        raise click.UsageError("A package or hash is named twice; leave --package out.")
    is_hash = subject is not None and subject.startswith("/")
    try:
        package = package if is_hash else subject or package
        compared = compare(catalog, refs_of(base, head), package=package, **scope)
    except InvalidArgument as error:
        if subject is None or error.name != "--package":
            raise
        raise InvalidArgument("PACKAGE", error.reason) from None  # as it was written
    changes = (compared.change_of(subject),) if subject and is_hash else compared.changes
    if as_json:
        say_json(causes_document(compared, changes))
    elif subject is None:
        say_pages(causes_lines(compared, width()))
        if compared.why.why_unknown:
            note(f"Some causes cannot be known: {compared.why.why_unknown}.")
    elif changes:
        say_pages(stories_lines(compared, changes, width()))
    else:
        note("Nothing changed.")


def _head_and_subject(base: str, words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return HEAD, and the package or hash; None for what is omitted."""
    expected = 1 if ".." in base else 2
    if len(words) > expected:
        raise click.UsageError(f"There is one word too many: {words[expected]}")
    if expected == 1:
        return None, (words[0] if words else None)
    return (words[0] if words else None), (words[1] if len(words) > 1 else None)


# -- notes


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
def notes_command(
    base: str,
    head: str | None,
    *,
    form: str,
    template: Path | None,
    output: Path | None,
    catalog: str,
    **scope: str | None,
) -> None:
    """Write release notes: what changed, and why."""
    from server.terminal.printing.comparisons import compare

    if (
        template is not None
        and click.get_current_context().get_parameter_source("form") is not _DEFAULT
    ):
        raise click.UsageError("--template says how notes are written; leave --format out.")
    compared = compare(catalog, refs_of(base, head), **scope)
    text = _rendered(compared.changelog(), form, template)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(str(output), error.strerror or str(error)) from None


def _rendered(log: "Changelog", form: str, template: Path | None) -> str:
    from snapshots.notes.own_templates import EXAMPLES, render_example, render_own
    from snapshots.notes.rendering import NotesFormat, render

    if template is None:
        return render(log, NotesFormat(form))
    name = str(template)
    return render_example(log, name) if name in EXAMPLES else render_own(log, template)

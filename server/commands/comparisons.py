"""``cachelog diff``, ``why`` and ``notes``: changes between two revisions, and their causes."""

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.output_files import write
from server.terminal import console, parameters
from server.terminal.completion import DIMENSIONS, complete_dimensions, complete_head_or_package
from snapshots.errors import InvalidArgument
from snapshots.notes.formats import NotesFormat

if TYPE_CHECKING:
    from snapshots.changes.coverage import CoverageDimension
    from snapshots.notes.changelog import Changelog


# -- what the commands share


def scope_options(command: parameters.Decorated) -> parameters.Decorated:
    """Add ``--package``, ``--stack`` and ``--matching``, which limit the specs shown."""
    matching = click.option(
        "--matching",
        metavar="QUERY",
        help="Only specs that match this query, in Spack's spec syntax, on either side.",
    )
    stack = parameters.stack_option("Only specs that are in this stack on either side.")
    return parameters.package_option(stack(matching(command)))


# -- diff


DIFFERS = 1
"""The exit code of ``--exit-code`` if there are differences."""

NOT_COMPARED = 2
"""The exit code of ``--exit-code`` on an error, to distinguish it from a difference."""


def _dimensions(text: str) -> "tuple[CoverageDimension, ...]":
    from snapshots.changes.coverage import CoverageDimension

    names = parameters.listed(text, DIMENSIONS, "dimensions")
    if twice := [name for name in DIMENSIONS if names.count(name) > 1]:
        raise InvalidArgument("dimensions", f"{', '.join(twice)} is named twice")
    return tuple(CoverageDimension(name.replace("-", "_")) for name in names)


@parameters.catalog_command("diff")
@parameters.two_refs
@click.option("--stat", is_flag=True)
@scope_options
@click.option(
    "--coverage",
    "dimensions",
    type=parameters.Parsed("dimensions", _dimensions),
    shell_complete=complete_dimensions,
    metavar="LIST",
    help="Instead of specs, print the added and removed combinations of packages with these "
    "properties: "
    f"{', '.join(DIMENSIONS)}, separated by commas.",
)
@click.option("--spec", metavar="QUERY")
@click.option("--exit-code", is_flag=True)
def diff_command(
    base: str | None,
    head: str | None,
    *,
    stat: bool,
    dimensions: "tuple[CoverageDimension, ...] | None",
    spec: str | None,
    exit_code: bool,
    catalog: str,
    **scope: str | None,
) -> None:
    """Print what changed between two revisions, and why.

    Specs are identified by their hashes: + is added, - is removed, ~ replaces another spec, = has
    the same hash but different facts.

    Two hashes of specs (/HASH /HASH; prefixes are enough) are compared with each other, each in the
    newest revision that has it: the differences between the specs themselves and between their
    direct and indirect dependencies, the causes, and what they share.

    - stat: Print only counts, package by package.
    - spec: Instead of all specs, compare the one spec that this query in Spack's spec syntax
      matches on each side; of several, the root of a lock file.
    - exit_code: Exit with 1 if there are differences to show, with 0 if there are none, and with 2
      on an error.
    """
    if stat and dimensions is not None:
        raise click.UsageError("--coverage has no counts by package; leave --stat out.")
    hashes = parameters.two_hashes(base, head)
    are_specs = hashes is not None or spec is not None
    if are_specs and (
        stat or dimensions is not None or any(scope.values()) or (hashes and spec is not None)
    ):
        raise click.UsageError("Two specs are compared as a whole; leave other options out.")
    with console.faults_end_with(NOT_COMPARED, catches=exit_code):
        refs = hashes or parameters.refs_or_none(base, head)
        if are_specs:
            differs = _diff_specs(catalog, refs, spec)
        else:
            differs = _diff_sides(catalog, refs, scope, dimensions, stat=stat)
    if exit_code and differs:
        raise SystemExit(DIFFERS)


def _diff_sides(
    catalog: str,
    refs: tuple[str, str] | None,
    scope: dict[str, str | None],
    dimensions: "tuple[CoverageDimension, ...] | None",
    *,
    stat: bool,
) -> bool:
    """Print the changes between two sides; return whether there are any."""
    from server.terminal.printing import comparisons

    compared = comparisons.compare(catalog, refs, **scope)
    if dimensions is not None:
        cells = compared.coverage(dimensions)
        document = partial(comparisons.coverage_document, compared, cells)
        console.print_result(document, comparisons.coverage_lines(compared, cells))
        return bool(cells)
    document = partial(comparisons.difference_document, compared)
    lines = comparisons.difference_lines(compared, stat=stat)
    console.print_result(document, lines)
    return bool(len(compared.changes.specs))


def _diff_specs(catalog: str, sides: tuple[str, str] | None, spec: str | None) -> bool:
    """Print the differences between two specs; return whether their hashes differ.

    ``sides`` are two hashes, or with ``spec`` the two sides to search.
    """
    from server.terminal.printing.spec_pairs import compare_specs, compare_specs_of

    if spec is None and sides is not None:
        compared = compare_specs(parameters.open_catalog(catalog), *sides)
    else:
        compared = compare_specs_of(catalog, sides, spec or "")
    console.print_result(compared.document, compared.lines())
    return bool(compared.pair.hashes[0] != compared.pair.hashes[1])


# -- why


@parameters.catalog_command("why")
@parameters.base_argument
@click.argument(
    "words", metavar="[HEAD] [PACKAGE|/HASH]", nargs=-1, shell_complete=complete_head_or_package
)
@click.option("--commits", is_flag=True)
@scope_options
def why_command(
    base: str | None,
    words: tuple[str, ...],
    *,
    commits: bool,
    package: str | None,
    catalog: str,
    **scope: str | None,
) -> None:
    """Print what caused the rebuilds between two revisions.

    Each spec that replaced another has one main cause, so the numbers add up. For a package or a
    hash, the path from each spec to its main cause is printed.

    - words: The head, in the same forms. Then a package, or the hash of a spec (a prefix is
      enough), whose changes are explained.
    - commits: Print all commits of the recipes that explain each cause, with links.
    """
    from server.terminal.printing import comparisons

    refs, subject = _refs_and_subject(base, words)
    if subject is not None:
        parameters.require_package_or_hash(subject)
    if subject is not None and package is not None:
        raise click.UsageError("A package or hash is named twice; leave --package out.")
    is_hash = subject is not None and subject.startswith("/")
    try:
        package = package if is_hash else subject or package
        compared = comparisons.compare(catalog, refs, package=package, **scope)
    except InvalidArgument as error:
        if subject is None or error.name != "--package":
            raise
        # Name the argument as the user entered it. A single word may be intended as a revision.
        hint = "" if refs else "; to compare revisions, write BASE HEAD, or BASE..HEAD"
        raise InvalidArgument("PACKAGE", error.reason + hint) from None
    changes = compared.changes.specs
    if subject and is_hash:
        changes = comparisons.changes_of_hash(compared, subject)
    if console.prints_json():
        console.print_json(comparisons.causes_document(compared, changes))
    elif subject is None:
        causes = comparisons.rebuilds_lines(compared, all_commits=commits)
        console.print_paged(chain(comparisons.title_lines(compared), causes))
        if compared.explanation.why_unknown:
            console.note(f"Some causes cannot be known: {compared.explanation.why_unknown}.")
    elif len(changes):
        console.print_paged(comparisons.stories_lines(compared, changes))
    else:
        console.note("Nothing changed.")


def _refs_and_subject(
    base: str | None, words: tuple[str, ...]
) -> tuple[tuple[str, str] | None, str | None]:
    """Return BASE and HEAD, and the package or hash; None for those omitted."""
    is_range = base is not None and parameters.split_range(base) is not None
    if base is None or not (is_range or words):
        return None, base
    parameters.require_no_more(words, 1 if is_range else 2)
    named = [*words, None]
    head, subject = (None, named[0]) if is_range else named[:2]
    return parameters.refs_of(base, head), subject


# -- notes


@parameters.catalog_command("notes", has_json=False)
@parameters.two_refs
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in NotesFormat]),
    default="markdown",
    show_default=True,
)
@click.option("--template", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@scope_options
@parameters.output_option()
def notes_command(
    base: str | None,
    head: str | None,
    *,
    form: str,
    template: Path | None,
    output: Path | None,
    catalog: str,
    **scope: str | None,
) -> None:
    """Write release notes: what changed, and why.

    - form: Markdown, HTML or JSON.
    - template: Use the Jinja template in this file, or one that is part of cachelog: chat or
      github-release.
    - output: Write to this file instead of standard output.
    """
    from server.terminal.printing.comparisons import compare

    if template is not None and parameters.is_written("form"):
        raise click.UsageError("--template says how notes are written; leave --format out.")
    compared = compare(catalog, parameters.refs_or_none(base, head), **scope)
    text = _rendered(compared.notes(), form, template)
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text.encode())


def _rendered(log: "Changelog", form: str, template: Path | None) -> str:
    from snapshots.notes.own_templates import EXAMPLES, render_example, render_own
    from snapshots.notes.templates import render

    if template is None:
        return render(log, NotesFormat(form))
    name = str(template)
    return render_example(log, name) if name in EXAMPLES else render_own(log, template)

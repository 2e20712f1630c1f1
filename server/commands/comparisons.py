"""``cachelog diff``, ``why`` and ``notes``: changes between two revisions, and their causes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from server.output_files import write
from server.terminal import completion, console, parameters
from server.terminal.parameters import Base, Flag, Head, Output, Package, Stack, argument, option
from snapshots.errors import InvalidArgument
from snapshots.notes.formats import NotesFormat

if TYPE_CHECKING:
    from snapshots.notes.changelog import Changelog


# -- what the commands share


class _Scope(TypedDict):
    """Conditions that limit the specs shown, the fields of ``ComparisonFilter``."""

    package: Package
    stack: Stack
    matching: Annotated[str | None, option(metavar="QUERY")]


# -- diff


DIFFERS = 1
"""The exit code of ``--exit-code`` if there are differences."""

NOT_COMPARED = 2
"""The exit code of ``--exit-code`` on an error, to distinguish it from a difference."""


_DIMENSIONS = (
    "stack",
    "target",
    "operating-system",
    "platform",
    "compiler",
    "compiler-name",
    "version",
)
"""The dimensions of coverage; their enum would import the libraries of the catalog."""


@parameters.catalog_command("diff", has_document=True)
def diff_command(
    base: Base,
    head: Head,
    *,
    stat: Flag,
    scope: _Scope,
    coverage: Annotated[
        tuple[str, ...],
        option(type=click.Choice(_DIMENSIONS), multiple=True, metavar="PROPERTY"),
    ],
    binaries: Flag,
    spec: Annotated[str | None, option(metavar="QUERY")],
    exit_code: Flag,
    catalog: str,
) -> None:
    """Print what changed between two revisions, and why.

    Specs are identified by their hashes: + is added, - is removed, ~ replaces another spec, = has
    the same hash but different facts.

    Two hashes of specs (/HASH /HASH; prefixes are enough) are compared with each other, each in the
    newest revision that has it: the differences between the specs themselves and between their
    direct and indirect dependencies, the causes, and what they share.

    - head: The head, in the same forms.
    - stack: Only specs that are in this stack on either side.
    - matching: Only specs that match this query, in Spack's spec syntax, on either side.
    - stat: Print only counts, package by package.
    - coverage: Instead of specs, print the added and removed combinations of packages with this
      property (repeatable): stack, target, operating-system, platform, compiler, compiler-name or
      version.
    - binaries: Instead of specs, print those whose binaries have another checksum under the same
      hash: they were built again, or replaced.
    - spec: Instead of all specs, compare the one spec that this query in Spack's spec syntax
      matches on each side; of several, the root of a lock file.
    - exit_code: Exit with 1 if there are differences to show, with 0 if there are none, and with 2
      on an error.
    """
    if stat + binaries + bool(coverage) > 1:
        raise click.UsageError("--binaries, --coverage and --stat exclude each other.")
    hashes = parameters.two_hashes(base, head)
    are_specs = hashes is not None or spec is not None
    if are_specs and (
        stat or binaries or coverage or any(scope.values()) or (hashes and spec is not None)
    ):
        raise click.UsageError("Other options do not apply to two specs.")
    with console.faults_end_with(NOT_COMPARED, catches=exit_code):
        from server.terminal.printing.comparisons import print_specs, print_specs_of

        refs = None if hashes else parameters.refs_or_none(base, head)
        if hashes:
            differs = print_specs(catalog, *hashes)
        elif spec is not None:
            differs = print_specs_of(catalog, refs, spec)
        else:
            differs = _diff_sides(catalog, refs, scope, coverage, stat=stat, binaries=binaries)
    if exit_code and differs:
        raise SystemExit(DIFFERS)


def _diff_sides(
    catalog: str,
    refs: tuple[str, str] | None,
    scope: _Scope,
    coverage: tuple[str, ...],
    *,
    stat: bool,
    binaries: bool,
) -> bool:
    """Print the changes between two sides; return whether there are any."""
    from server.terminal.documents import print_answer
    from server.terminal.printing import comparisons
    from snapshots.changes.coverage import CoverageDimension
    from snapshots.changes.diff import SpecChangeKind

    opened, compared = comparisons.compare(catalog, refs, **scope)
    if coverage:
        names = dict.fromkeys(name.replace("-", "_") for name in coverage)
        dimensions = tuple(map(CoverageDimension, names))
        cells = compared.coverage(dimensions)
        variables = comparisons.variables_of(compared, by=dimensions)
        lines = comparisons.coverage_lines(compared, cells)
        print_answer(opened, "Coverage", variables, lines)
        return bool(cells)
    if binaries:
        variables = comparisons.variables_of(compared, kinds=[SpecChangeKind.CHANGED])
        print_answer(opened, "Diff", variables, comparisons.binaries_lines(compared))
        return bool(compared.changes.binaries_replaced)
    variables = comparisons.variables_of(compared, stat=stat)
    print_answer(opened, "Diff", variables, comparisons.difference_lines(compared, stat=stat))
    return bool(len(compared.changes.specs))


# -- why


@parameters.catalog_command("why", has_document=True)
def why_command(
    base: Base,
    words: Annotated[
        tuple[str, ...],
        argument("[HEAD] [PACKAGE|/HASH]", nargs=-1, shell_complete=completion.complete_package),
    ],
    *,
    commits: Flag,
    scope: _Scope,
    catalog: str,
) -> None:
    """Print what caused the replacements between two revisions.

    Each spec that replaced another has one main cause, so the numbers add up. For a package or a
    hash, the path from each spec to its main cause is printed.

    - words: The head, in the same forms. Then a package, or the hash of a spec (a prefix is
      enough), whose changes are explained.
    - stack: Only specs that are in this stack on either side.
    - matching: Only specs that match this query, in Spack's spec syntax, on either side.
    - commits: Print all commits of the recipes that explain each cause, with links.
    """
    from server.terminal.documents import print_answer
    from server.terminal.printing import comparisons

    refs, subject = _refs_and_subject(base, words)
    if subject is not None:
        parameters.require_package_or_hash(subject)
    if subject is not None and scope["package"] is not None:
        raise click.UsageError("A package or hash is named twice; omit --package.")
    is_hash = subject is not None and subject.startswith("/")
    try:
        if subject is not None and not is_hash:
            scope["package"] = subject
        opened, compared = comparisons.compare(catalog, refs, **scope)
    except InvalidArgument as error:
        if subject is None or error.name != "--package":
            raise
        # Name the argument as the user entered it. A single word may be intended as a revision.
        hint = "" if refs else "; to compare revisions, write BASE HEAD, or BASE..HEAD"
        raise InvalidArgument("PACKAGE", error.reason + hint) from None
    changes = compared.changes.specs
    if subject and is_hash:
        changes = comparisons.changes_of_hash(compared, subject)
    if subject is None:
        lines = comparisons.why_lines(compared, all_commits=commits)
    else:
        lines = comparisons.story_lines(compared, changes)
    hash_ = changes[0].hash if is_hash else None
    variables = comparisons.variables_of(compared, hash=hash_, specs=subject is not None)
    print_answer(opened, "Why", variables, lines)


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
def notes_command(
    base: Base,
    head: Head,
    *,
    form: Annotated[str | None, option("--format", type=click.Choice(["markdown", "html"]))],
    template: Annotated[Path | None, option(type=parameters.FILE, metavar="FILE")],
    scope: _Scope,
    output: Output,
    catalog: str,
) -> None:
    """Write release notes: what changed, and why.

    - head: The head, in the same forms.
    - stack: Only specs that are in this stack on either side.
    - matching: Only specs that match this query, in Spack's spec syntax, on either side.
    - form: Markdown, the default, or HTML.
    - template: Use the Jinja template in this file, or one that is part of cachelog: chat or
      github-release.
    - output: Write to this file instead of standard output.
    """
    from server.terminal.printing.comparisons import compare

    if template is not None and form is not None:
        raise click.UsageError("--template and --format exclude each other.")
    _, compared = compare(catalog, parameters.refs_or_none(base, head), **scope)
    text = _rendered(compared.notes(), form or "markdown", template)
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

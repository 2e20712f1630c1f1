"""``cachelog revisions``, ``tags``, ``packages``, ``stacks``, ``find``, ``show``: lookups."""

import click

from server.terminal.completion import (
    complete_query,
    complete_ref,
    complete_shown,
    complete_stack,
    complete_tag,
)
from server.terminal.console import note, say_json, say_lines, say_pages, width
from server.terminal.parameters import REF_FORMS, catalog_option, json_option

_MOST_WORDS = 2

# -- lists


_ref_argument = click.argument(
    "ref",
    metavar="[REF]",
    required=False,
    shell_complete=complete_ref,
    help=f"The revision: {REF_FORMS}. By default the newest of the catalog.",
)


@click.command("revisions")
@click.option(
    "--tag", metavar="TAG", shell_complete=complete_tag, help="Only the revisions of this tag."
)
@json_option
@catalog_option
def revisions_command(tag: str | None, *, as_json: bool, catalog: str) -> None:
    """List the published revisions, newest first."""
    from server.terminal.catalogs import require_tag
    from server.terminal.printing.listings import listed_facts, revision_lines
    from snapshots.catalog.catalog import Catalog

    opened = Catalog(catalog)
    opened.refresh()
    history = opened.history
    if tag is not None and history.revisions:
        require_tag(tag, history)
    revisions = history.revisions if tag is None else history.of_tag(tag)
    if as_json:
        say_json([listed_facts(revision, history) for revision in revisions])
    elif not revisions:
        note(
            f"The catalog at {catalog} is empty. Fill it with 'cachelog import PATH', "
            "or with made-up data by 'cachelog demo'."
        )
    else:
        say_lines(revision_lines(revisions, history, width()))


@click.command("tags")
@json_option
@catalog_option
def tags_command(*, as_json: bool, catalog: str) -> None:
    """List the tags, and the newest revision of each."""
    from server.terminal.printing.listings import tag_facts, tag_lines
    from snapshots.catalog.catalog import Catalog

    history = Catalog(catalog).require_history()
    if as_json:
        say_json(tag_facts(history))
    else:
        say_pages(tag_lines(history, width()))


@click.command("packages")
@_ref_argument
@click.option(
    "--stack", metavar="NAME", shell_complete=complete_stack, help="Only what this stack has."
)
@click.option(
    "--search", metavar="TEXT", help="Only packages with this in their name, in any case."
)
@json_option
@catalog_option
def packages_command(
    ref: str | None, *, stack: str | None, search: str | None, as_json: bool, catalog: str
) -> None:
    """List the packages of a revision, by name.

    With --stack all numbers are those of the stack. That no package fits is a success too.
    """
    from server.terminal.catalogs import open_catalog, require_stack
    from server.terminal.printing.listings import package_lines, package_listing, packages_document
    from snapshots.refs import title

    opened = open_catalog(catalog)
    revision = opened.revision(ref)
    frame = opened.frame(revision)
    if stack is not None:
        require_stack(stack, [frame])
    packages = package_listing(frame, stack, search)
    if as_json:
        say_json(packages_document(revision, packages, stack, search))
    elif packages:
        say_pages(package_lines(packages, width()))
    else:
        note(f"No package of {title(revision)} fits.")


@click.command("stacks")
@_ref_argument
@json_option
@catalog_option
def stacks_command(ref: str | None, *, as_json: bool, catalog: str) -> None:
    """List the stacks of a revision, by name.

    root is the union of all others.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.listings import stack_lines, stack_listing, stacks_document
    from snapshots.refs import title

    opened = open_catalog(catalog)
    revision = opened.revision(ref)
    stacks = stack_listing(opened.frame(revision))
    if as_json:
        say_json(stacks_document(revision, stacks))
    elif stacks:
        say_pages(stack_lines(stacks, width()))
    else:
        note(f"The stacks of {title(revision)} are unknown: its source tells none.")


# -- find


@click.command("find")
@click.argument(
    "words",
    metavar="[SPEC]...",
    nargs=-1,
    shell_complete=complete_query,
    help="What to look for, in Spack's language: hdf5@1.12: +mpi %gcc@13 ^zlib. What stands behind "
    "% or ^ describes that dependency, so the spec's own facts come first. Write ~NAME for a "
    "variant that is off, or put the query in quotes. Without a query all specs are printed.",
)
@click.option(
    "--in",
    "ref",
    metavar="REF",
    shell_complete=complete_ref,
    help=f"The revision to look in: {REF_FORMS}. By default the newest of the catalog.",
)
@click.option(
    "--stack", metavar="NAME", shell_complete=complete_stack, help="Only specs of this stack."
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Print only the first N. By default all are printed.",
)
@json_option
@catalog_option
def find_command(
    words: tuple[str, ...],
    *,
    ref: str | None,
    stack: str | None,
    limit: int | None,
    as_json: bool,
    catalog: str,
) -> None:
    """Print the specs that match a query.

    Packages are in natural order, the newest version of each first. That nothing matches is a
    success too.
    """
    from server.terminal.catalogs import open_catalog, require_stack
    from server.terminal.printing.listings import in_natural_order, matches_document, spec_lines
    from snapshots.refs import title
    from snapshots.spack.query import query_of
    from snapshots.wording import counted

    query = query_of(words)
    opened = open_catalog(catalog)
    revision = opened.revision(ref)
    matches = opened.library.find(revision.digest, query)
    frame = opened.frame(revision)
    if stack is not None:
        require_stack(stack, [frame])
        matches = matches & frame.in_stack(stack)
    rows = in_natural_order(frame, matches)
    specs = [frame.spec(row) for row in rows[:limit]]
    unknown = () if rows else opened.library.unknown_names(revision.digest, query)
    if as_json:
        say_json(matches_document(revision, query, stack, len(rows), specs, unknown))
        return
    where = title(revision) if stack is None else f"the stack {stack} of {title(revision)}"
    if not rows:
        note(f"No spec in {where} matches {query}.")
        for name in unknown:
            note(f"In this catalog {name}.")
        return
    for spec in specs:
        say_lines(spec_lines(spec, width()))
    shown = f"{len(specs):,} of " if len(specs) < len(rows) else ""
    say_lines([f"{shown}{counted(len(rows), 'spec')} in {where}"])


# -- show


@click.command("show")
@click.argument(
    "words",
    metavar="[REF] [PACKAGE|/HASH]",
    nargs=-1,
    shell_complete=complete_shown,
    help=f"A revision: {REF_FORMS}; by default the newest of the catalog, or the newest that has "
    "the hash. Behind it, or alone, a package, or the hash of a spec behind a slash, of which the "
    "first characters are enough.",
)
@json_option
@catalog_option
def show_command(words: tuple[str, ...], *, as_json: bool, catalog: str) -> None:
    """Print everything about a revision, a package or a spec.

    Of a package that is what a revision has of it, and when it was first and last seen; of a spec
    each fact, what it depends on, and since when it is there or gone.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.details import subject_of

    if len(words) > _MOST_WORDS:
        raise click.UsageError(f"There is one word too many: {words[_MOST_WORDS]}")
    if any(not word.strip("/ ") for word in words):
        raise click.UsageError("Write a package, or /HASH with the first characters of a hash.")
    shown = subject_of(open_catalog(catalog), words)
    if as_json:
        say_json(shown.document())
    else:
        say_pages(shown.lines(width()))

"""``cachelog find``: the specs of a revision that a query in Spack's language matches."""

from typing import Any

import click

from server.terminal.completion import complete_query, complete_ref, complete_stack
from server.terminal.console import note, say, say_json, width
from server.terminal.parameters import REF_FORMS, catalog_option, json_option


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
    from msgspec import to_builtins

    from server.commands.names import require_stack
    from server.terminal.printing.specs import in_natural_order, spec_facts, spec_lines
    from snapshots.catalog.asking.library import Library
    from snapshots.catalog.catalog import Catalog
    from snapshots.models import revision_facts
    from snapshots.refs import title
    from snapshots.spack.query import query_of
    from snapshots.wording import counted

    query = query_of(words)
    opened = Catalog(catalog)
    history = opened.require_history()
    revision = history.revisions[0] if ref is None else history.resolve(ref)
    library = Library(opened)
    found = library.find(revision.digest, query)
    frame = library.frames.get(revision.digest)
    if stack is not None:
        require_stack(stack, [frame])
        found = found & frame.in_stack(stack)
    rows = in_natural_order(frame, found)
    specs = [frame.spec(row) for row in rows[:limit]]
    unknown = () if found.any() else library.unknown_names(revision.digest, query)
    if as_json:
        facts: dict[str, Any] = {
            "revision": revision_facts(revision),
            "query": query,
            "stack": stack,
        }
        facts |= {"total": len(rows), "specs": list(map(spec_facts, specs))}
        say_json(facts | {"unknown_names": to_builtins(unknown)})
        return
    where = title(revision) if stack is None else f"the stack {stack} of {title(revision)}"
    if not rows:
        note(f"No spec in {where} matches {query}.")
        for name in unknown:
            note(f"In this catalog {name}.")
        return
    for spec in specs:
        for line in spec_lines(spec, width()):
            say(line)
    shown = f"{len(specs):,} of " if len(specs) < len(rows) else ""
    say(f"{shown}{counted(len(rows), 'spec')} in {where}")

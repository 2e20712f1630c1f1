"""``cachelog revisions``, ``packages``, ``find`` and ``show``: lookups."""

from typing import Annotated

from server.terminal import console, parameters
from server.terminal.completion import complete_package
from server.terminal.parameters import InRef, Limit, Ref, Stack, Tag, argument, option
from snapshots.texts import counted

# -- lists


@parameters.catalog_command("revisions", has_document=True)
def revisions_command(tag: Tag, *, limit: Limit, catalog: str) -> None:
    """List the published revisions, newest first.

    - tag: List only the revisions of this tag.
    - limit: List only the N newest.
    """
    from server.terminal.catalogs import OpenedCatalog
    from server.terminal.documents import print_answer
    from server.terminal.printing.revisions import revision_lines

    opened = OpenedCatalog.at(catalog)
    opened.catalog.refresh()
    history = opened.catalog.history
    if tag is not None and history.revisions:
        history.require_tag(tag)
    revisions = (history.revisions if tag is None else history.of_tag(tag))[:limit]
    if not history.revisions and not console.prints_json():
        console.note(
            f"The catalog at {catalog} is empty. Fill it with 'cachelog import PATH', "
            "or with synthetic data by 'cachelog demo'."
        )
        return
    variables = {"tag": tag, "first": limit}
    print_answer(opened, "Revisions", variables, revision_lines(revisions, history))


@parameters.catalog_command("packages", has_document=True)
def packages_command(
    ref: Ref, *, stack: Stack, search: Annotated[str | None, option(metavar="TEXT")], catalog: str
) -> None:
    """List the packages of a revision, by name.

    With --stack, all numbers refer to the stack. The exit code is 0 even if no package is found.

    - ref: The revision: {REF}. By default {LATEST}.
    - stack: List only packages in this stack.
    - search: List only packages whose name contains this text; case is ignored.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.documents import print_answer
    from server.terminal.printing.revisions import package_lines, place_title
    from snapshots.frames.suggestions import require_names

    opened = open_catalog(catalog)
    revision = opened.revision(ref)
    frame = opened.frame(revision)
    require_names([frame], stack, sign="--")
    packages = package_lines(frame, stack, search)
    if not packages and not console.prints_json():
        console.note(f"No package of {place_title(revision, None)} matches.")
        return
    stacks = None if stack is None else [stack]
    variables = {"ref": revision.ref, "stacks": stacks, "search": search}
    total = f"{counted(len(packages) - 1, 'package')} in {place_title(revision, stack)}"
    lines = [*packages, *([] if ref else [total])]
    print_answer(opened, "Packages", variables, lines)


# -- find


@parameters.catalog_command("find", has_document=True)
def find_command(
    words: Annotated[tuple[str, ...], argument("[SPEC]...", shell_complete=complete_package)],
    *,
    ref: InRef,
    stack: Stack,
    limit: Limit,
    catalog: str,
) -> None:
    """Print the specs that match a query.

    Packages are in natural order, the newest version of each first. The exit code is 0 even if no
    spec is found.

    - words: The query, in Spack's spec syntax: hdf5@1.12: +mpi %gcc@13 ^zlib. Properties after %
      or ^ refer to that dependency, so write those of the spec itself first. Write ~NAME for a
      disabled variant, or quote the query. Without a query, all specs are printed.
    - ref: The side to search: {SIDE}. By default {LATEST}.
    - stack: Only specs in this stack.
    - limit: Print only the first N. By default all are printed.
    """
    from server.terminal.catalogs import open_side
    from server.terminal.documents import print_answer, side_name
    from server.terminal.printing import revisions
    from snapshots.frames.suggestions import require_names
    from snapshots.spack.query import query_of

    query = query_of(words)
    opened, revision = open_side(catalog, ref)
    matches = opened.library.matching(revision, query)
    frame = opened.frame(revision)
    if stack is not None:
        require_names([frame], stack, sign="--")
        matches = matches & frame.in_stack(stack)
    rows = revisions.in_natural_order(frame, matches)
    specs = [frame.spec(row) for row in rows[:limit]]
    unknown = () if rows else opened.library.unknown_names(revision, query)
    where = revisions.place_title(revision, stack)
    if not rows and not console.prints_json():
        console.note(f"No spec in {where} matches {query}.")
        for name in unknown:
            console.note(f"In this catalog {name}.")
        return
    stacks = None if stack is None else [stack]
    variables = {"ref": side_name(revision), "query": query, "stacks": stacks, "first": limit}
    shown = f"{len(specs):,} of " if len(specs) < len(rows) else ""
    total = f"{shown}{counted(len(rows), 'spec')} in {where}"
    print_answer(opened, "Find", variables, [*revisions.spec_list_lines(specs), total])


# -- show


@parameters.catalog_command("show", has_document=True)
def show_command(
    words: Annotated[
        tuple[str, ...],
        argument("[REF] [PACKAGE|/HASH]", nargs=-1, shell_complete=complete_package),
    ],
    *,
    catalog: str,
) -> None:
    """Print everything about a revision, a package or a spec.

    For a revision, also its stacks. For a package: its specs in a revision, and when it was first
    and last seen. For a spec: its facts, its dependencies, and since when it has been available, or
    removed.

    - words: A revision: {REF}; by default {LATEST}, or the newest that has the hash. Then, or
      alone, a package, or the hash of a spec after a slash; a prefix of the hash is enough.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.revisions import print_subject

    parameters.require_no_more(words, 2)
    parameters.require_package_or_hash(*words)
    print_subject(open_catalog(catalog), words)

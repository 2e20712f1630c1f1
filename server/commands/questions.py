"""``cachelog holes``, ``twins`` and ``impact``: questions about one side."""

import os
from typing import TYPE_CHECKING, Annotated

import click

from server.terminal import console, parameters
from server.terminal.completion import complete_package
from server.terminal.parameters import InRef, Limit, Package, Recipes, Ref, Stack, argument, option
from snapshots.errors import InvalidArgument

if TYPE_CHECKING:
    from server.terminal.printing.questions import CommitRange

# -- holes


@parameters.catalog_command("holes", has_document=True)
def holes_command(ref: Ref, *, limit: Limit, catalog: str) -> None:
    """Print what is missing to install specs from a cache.

    A hole is a link or run dependency that is neither in the cache nor external.

    - ref: The side: {SIDE}. By default {LATEST}.
    - limit: List only the N that affect the most specs. By default all are listed.
    """
    from server.terminal.catalogs import open_side
    from server.terminal.printing.questions import print_holes

    print_holes(*open_side(catalog, ref), limit)


# -- twins


@parameters.catalog_command("twins", has_document=True)
def twins_command(
    ref: Ref,
    *,
    stacks: Annotated[tuple[str, ...], option("--stack", metavar="NAME", multiple=True)],
    package: Package,
    limit: Limit,
    catalog: str,
) -> None:
    """Print specs that are built more than once, and why.

    Twins are specs with the same name, version, variants and architecture but different hashes.
    Each duplicate build has one main cause, so the numbers add up.

    - ref: The side: {SIDE}. By default {LATEST}.
    - stacks: Only specs in this stack (repeatable: in any of these stacks).
    - limit: List only the first N groups. By default 20, with --json all.
    """
    from server.terminal.catalogs import open_side
    from server.terminal.printing.questions import print_twins

    if len(stacks) > 1 and (console.prints_json() or console.prints_query()):
        raise click.UsageError("--json and --print-query take one --stack.")
    print_twins(*open_side(catalog, ref), stacks, package, limit)


# -- impact


@parameters.catalog_command("impact", has_document=True)
def impact_command(
    words: Annotated[tuple[str, ...], argument("[PACKAGE]...", shell_complete=complete_package)],
    *,
    ref: InRef,
    stack: Stack,
    top: Annotated[int | None, option(type=click.IntRange(min=1), metavar="N")],
    recipes: Recipes,
    catalog: str,
) -> None:
    """Print which specs would be rebuilt if packages changed.

    A changed recipe changes the hashes of all specs of the package and of all specs that depend on
    them, directly or indirectly. For commits, the result is an upper bound: not every commit that
    changes a recipe changes hashes.

    - words: The packages that would change. With --recipes, A..B instead: the packages whose
      recipes are changed by the commits in B that are not in A.
    - ref: The side to search: {SIDE}. By default {LATEST}.
    - stack: Count only specs in this stack.
    - top: Instead of PACKAGE: list the N packages whose change would rebuild the most specs.
    """
    from server.terminal.catalogs import open_side
    from server.terminal.printing import questions

    if bool(words) == (top is not None):
        raise click.UsageError("Name packages, or use --top N for the largest impacts.")
    if top is not None and console.prints_query():
        raise click.UsageError("--print-query and --top exclude each other.")
    is_range = len(words) == 1 and ".." in words[0]
    if is_range and not recipes:
        raise click.UsageError("A..B names commits of --recipes, which is missing.")
    opened, side = open_side(catalog, ref)
    if top is not None:
        questions.print_largest(opened, side, stack, top)
    else:
        touched = _touched(recipes, words[0]) if is_range and recipes else None
        questions.print_impact(opened, side, stack, words, touched)


def _touched(location: str, commits: str) -> "CommitRange":
    """Return the commits of a range ``A..B``, with the packages that they touch."""
    from server.settings import settings_from
    from server.terminal.printing.questions import CommitRange
    from snapshots.recipes.repository import open_recipes

    base, head = parameters.refs_of(commits, None)
    with open_recipes(location, settings_from(os.environ).reading()) as repository:
        try:
            return CommitRange(commits, repository.between(base, head))
        except InvalidArgument as error:
            raise InvalidArgument("A..B", error.reason) from None

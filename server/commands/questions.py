"""``cachelog holes``, ``twins`` and ``impact``: questions about one side."""

from typing import Annotated

from server.terminal import parameters
from server.terminal.completion import complete_package
from server.terminal.parameters import InRef, Limit, Package, Ref, Stack, argument

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
    stack: Stack,
    package: Package,
    limit: Limit,
    catalog: str,
) -> None:
    """Print specs that are built more than once, and why.

    Twins are specs with the same name, version, variants and architecture but different hashes.
    Each duplicate build has one main cause, so the numbers add up.

    - ref: The side: {SIDE}. By default {LATEST}.
    - stack: Only specs in this stack.
    - limit: List only the first N groups. By default 20, with --json all.
    """
    from server.terminal.catalogs import open_side
    from server.terminal.printing.questions import print_twins

    print_twins(*open_side(catalog, ref), stack, package, limit)


# -- impact


@parameters.catalog_command("impact")
def impact_command(
    packages: Annotated[tuple[str, ...], argument("PACKAGE...", shell_complete=complete_package)],
    *,
    ref: InRef,
    stack: Stack,
    catalog: str,
) -> None:
    """Print which specs would be rebuilt if packages changed.

    A changed recipe changes the hashes of all specs of the package and of all specs that depend on
    them, directly or indirectly.

    - packages: The packages that would change.
    - ref: The side to search: {SIDE}. By default {LATEST}.
    - stack: Count only specs in this stack.
    """
    from server.terminal.catalogs import open_side
    from server.terminal.printing.questions import print_impact

    print_impact(*open_side(catalog, ref), stack, packages)

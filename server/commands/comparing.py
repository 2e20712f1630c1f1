"""``cachelog diff``: what changed between two revisions."""

from typing import TYPE_CHECKING

import click

from server.completion import complete_package, complete_stack
from server.console import say, say_json, width
from server.parameters import catalog_option, json_option, refs_of, two_refs

if TYPE_CHECKING:
    from snapshots.changes.diff import Comparison
    from snapshots.models import RevisionInfo


@click.command("diff")
@two_refs
@json_option
@click.option("--stat", is_flag=True, help="Only counts, package by package.")
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
    "--exit-code", is_flag=True, help="Leave with 1 if what is shown differs, else with 0."
)
@catalog_option
def diff_command(
    base: str,
    head: str | None,
    *,
    as_json: bool,
    stat: bool,
    package: str | None,
    stack: str | None,
    exit_code: bool,
    catalog: str,
) -> None:
    """Print what changed between two revisions.

    Specs are told apart by their hashes: + was added, - was removed, ~ has other facts.
    """
    from server.commands.names import require_package, require_stack
    from server.printing.differences import change_lines, difference_facts, totals
    from server.printing.layout import wrapped
    from snapshots.frames.filters import SpecFilter
    from snapshots.wording import title

    old, new, comparison = _compared(catalog, *refs_of(base, head))
    sides = comparison.base, comparison.head
    if package is not None:
        require_package(package, sides)
    if stack is not None:
        require_stack(stack, sides)
    if package is not None or stack is not None:
        comparison = comparison.narrowed(
            SpecFilter(
                packages=None if package is None else (package,),
                stacks=None if stack is None else (stack,),
            )
        )
    changes = comparison.specs
    if as_json:
        only = {"package": package, "stack": stack}
        say_json(difference_facts(old, new, comparison, changes) | {"only": only})
    else:
        lines = wrapped(f"{title(old)} -> {title(new)}", width())
        for line in (*lines, *change_lines(comparison, changes, width(), stat=stat)):
            say(line)
        say(totals(changes))
    if exit_code and changes:
        raise SystemExit(1)


def _compared(
    location: str, base: str, head: str
) -> "tuple[RevisionInfo, RevisionInfo, Comparison]":
    """Return the two revisions that the refs name, and what changed between them."""
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.library import Library

    catalog = Catalog(location)
    history = catalog.require_history()
    old, new = history.resolve(base), history.resolve(head)
    return old, new, Library(catalog).compare(old.digest, new.digest)

"""``cachelog diff``: what changed between two revisions, and why."""

from typing import TYPE_CHECKING

import click

from server.commands.compared import compare, scope_options
from server.terminal.completion import DIMENSIONS, complete_dimensions
from server.terminal.console import say_json, say_pages, width
from server.terminal.parameters import catalog_option, json_option, refs_of, two_refs

if TYPE_CHECKING:
    from server.commands.compared import Compared
    from snapshots.changes.coverage import CoverageDimension


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
            known = ", ".join(DIMENSIONS)
            self.fail(f"{', '.join(map(repr, unknown))} is none of {known}", param, ctx)
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
    package: str | None,
    stack: str | None,
    matching: str | None,
    dimensions: "tuple[CoverageDimension, ...] | None",
    exit_code: bool,
    catalog: str,
) -> None:
    """Print what changed between two revisions, and why.

    Specs are told apart by their hashes: + was added, - was removed, ~ took the place of another,
    = has other facts.
    """
    from snapshots.notes.scope import Only

    if stat and dimensions is not None:
        raise click.UsageError("--coverage has no counts by package; leave --stat out.")
    only = Only(package=package, stack=stack, matching=matching)
    compared = compare(catalog, refs_of(base, head), only)
    if dimensions is None:
        differs = _say_specs(compared, as_json=as_json, stat=stat)
    else:
        differs = _say_coverage(compared, dimensions, as_json=as_json)
    if exit_code and differs:
        raise SystemExit(1)


def _say_specs(compared: "Compared", *, as_json: bool, stat: bool) -> bool:
    """Print the changed specs; tell whether there are any."""
    from server.terminal.printing.differences import change_lines, title_lines, totals
    from server.terminal.printing.documents import difference_document

    report = compared.report()
    if as_json:
        say_json(difference_document(compared, report))
    else:
        lines = change_lines(report, width(), stat=stat)
        title = title_lines(compared.base, compared.head, width())
        say_pages([*title, *lines, totals(report.changes)])
    return bool(report.changes)


def _say_coverage(
    compared: "Compared", dimensions: "tuple[CoverageDimension, ...]", *, as_json: bool
) -> bool:
    """Print the cells that were lost and gained; tell whether there are any."""
    from server.terminal.printing.coverage import cell_lines, cell_totals
    from server.terminal.printing.differences import title_lines
    from server.terminal.printing.documents import coverage_document
    from snapshots.changes.coverage import coverage

    scope = compared.scope
    masks = None if scope is None else (scope.in_base, scope.in_head)
    cells = coverage(compared.comparison, dimensions, masks)
    if as_json:
        say_json(coverage_document(compared, cells))
    else:
        title = title_lines(compared.base, compared.head, width())
        say_pages([*title, *cell_lines(cells, width()), cell_totals(cells)])
    return bool(cells)

"""What can no longer be had, and what newly can: cells of packages and other facts."""

from collections.abc import Sequence
from typing import Any

import strawberry

from schema.changes import Change, ChangeRows, LoadedComparison, change_connection, of_change
from schema.connections import Connection
from schema.cost import Cost, texts
from schema.enums import describe_enum
from schema.many import Sublists, for_many
from schema.paging import PageArguments
from schema.spec import Spec, SpecRows
from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.errors import InvalidArgument

describe_enum(
    CoverageDimension,
    "What packages are looked at in combination with.",
    {
        CoverageDimension.STACK: "The stack; root is none.",
        CoverageDimension.TARGET: "The target.",
        CoverageDimension.OPERATING_SYSTEM: "The operating system.",
        CoverageDimension.PLATFORM: "The platform.",
        CoverageDimension.COMPILER: "The compiler with its version.",
        CoverageDimension.COMPILER_NAME: "The compiler, whatever its version.",
        CoverageDimension.VERSION: "The version.",
    },
)
describe_enum(
    CoverageChangeKind,
    "How coverage changed.",
    {
        CoverageChangeKind.LOST: "Base has a spec in the cell, head has none.",
        CoverageChangeKind.GAINED: "Head has a spec in the cell, base has none.",
    },
)

NEAREST = Cost(weight=20, items=3)
"""The specs that are nearest to a lost cell."""


def _nearest(rows: ChangeRows[Any]) -> Sublists:
    found = [record.nearest for record in rows.records]
    numbers = [row for of_one in found for row in of_one]
    return Sublists(SpecRows(rows.comparison.head, as_rows(numbers)), list(map(len, found)))


@strawberry.type(
    description="A cell that was lost or gained: a package with a value for each dimension."
)
class CoverageChange(Change):
    """A cell that only one of two revisions has specs in."""

    kind: CoverageChangeKind = of_change(lambda it: it.kind, "Whether it was lost or gained.")
    package: str = of_change(lambda it: it.package, "The package's name.")
    values: list[str] = of_change(
        lambda it: it.values,
        "One value for each dimension that was asked for, in that order.",
        texts(80),
    )
    num_specs: int = of_change(
        lambda it: it.num_specs, "How many specs the side that has the cell has in it."
    )
    nearest: list[Spec] = for_many(
        _nearest, "For LOST: the nearest specs of the package that are left.", cost=NEAREST
    )


def coverage_connection(
    comparison: LoadedComparison,
    by: Sequence[CoverageDimension],
    kinds: Sequence[CoverageChangeKind] | None,
    search: str | None,
    arguments: PageArguments,
) -> Connection[CoverageChange]:
    """Return a page of the cells that were lost or gained, by package and values.

    Raises InvalidArgument where a dimension is named twice, or a cursor names no cell.
    """
    if len({*by}) < len(by):
        raise InvalidArgument("by", "a dimension is named twice")
    table = coverage(comparison.changes, tuple(by)).select(kinds, search)
    return change_connection(CoverageChange, comparison, table, "key", arguments)

"""What can no longer be had, and what newly can: cells of packages and other facts."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import orjson
import strawberry

from schema.comparisons.changes import (
    Change,
    ChangeRows,
    LoadedComparison,
    change_connection,
    of_change,
)
from schema.fields.connections import Connection, PageArguments
from schema.fields.cost import Cost, texts
from schema.fields.many import Sublists, for_many
from schema.fields.scalars import describe_enum
from schema.revisions.spec import Spec, SpecRows
from snapshots.changes import coverage as coverage_changes
from snapshots.changes.cells import CoverageDimension
from snapshots.changes.coverage import CoverageChangeKind, CoverageChanges
from snapshots.errors import InvalidArgument

describe_enum(
    CoverageChangeKind,
    "How coverage changed.",
    {
        CoverageChangeKind.LOST: "Base has a spec in the cell, head has none.",
        CoverageChangeKind.GAINED: "Head has a spec in the cell, base has none.",
    },
)

NEAREST = Cost(weight=40, items=3)
"""The specs that are nearest to a lost cell."""


def _nearest(rows: ChangeRows[Any]) -> Sublists:
    found = [record.nearest for record in rows.records]
    numbers = np.array([*chain.from_iterable(found)], np.int32)
    return Sublists(SpecRows(rows.comparison.head, numbers), list(map(len, found)))


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

    Raises InvalidArgument where there are more dimensions than kinds of them, or a cursor names no
    cell.
    """
    if len(by) > len(CoverageDimension):
        raise InvalidArgument("by", f"more than {len(CoverageDimension)} dimensions")
    table = comparison.coverage(by).select(kinds, search)
    return change_connection(CoverageChange, comparison, table, _Cursors(table), arguments)


class _Cursors:
    """Cells by what names them: the package and the values, as JSON."""

    def __init__(self, table: CoverageChanges) -> None:
        self._table = table

    def of(self, record: coverage_changes.CoverageChange) -> str:
        """Return the cursor of a cell."""
        return orjson.dumps((record.package, *record.values)).decode()

    def find(self, cursor: str) -> int | None:
        """Return the place of the cell that a cursor names; None where there is none."""
        try:
            package, *values = msgspec.json.decode(cursor, type=list[str])
        except (msgspec.DecodeError, ValueError):
            return None
        return self._table.find(package, values)

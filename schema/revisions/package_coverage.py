"""What of a package is there: cells of its facts with their numbers of specs, and who needs it."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import strawberry

from schema.comparisons.coverage_dimension import CoverageDimension
from schema.context import LoadedRevision
from schema.fields.cost import Cost, NumberOf, texts
from schema.fields.many import Table
from snapshots.changes.coverage import cells_of
from snapshots.errors import InvalidArgument

LISTED_MAX = 1_000
"""How many cells or dependents may be asked for, and are unless a number is given."""

CELLS = Cost(weight=2_000, items=NumberOf("first", default=LISTED_MAX), each=5)
"""The values of whole columns are put into order; then a cell is a few codes."""

DEPENDENTS = Cost(weight=800, items=NumberOf("first", default=LISTED_MAX), each=2)
"""All edges that lead to a package are followed one step up."""

Dimensions = Annotated[
    list[CoverageDimension],
    strawberry.argument(description="The dimensions; none for the package alone."),
]
First = Annotated[int, strawberry.argument(description=f"How many; {LISTED_MAX:,} at most.")]


@strawberry.type(
    description="A cell of a package's coverage: a value for each dimension, that some of its "
    "specs have together."
)
class CoverageCell:
    """A cell that has specs."""

    values: list[str] = strawberry.field(
        description="One value for each dimension that was asked for, in that order.",
        metadata=texts(80).metadata,
    )
    num_specs: int = strawberry.field(description="How many of the package's specs have them.")


@strawberry.type(description="A package with specs that depend on another package.")
class DependentPackage:
    """A package above another."""

    name: str = strawberry.field(description="The package's name.")
    num_specs: int = strawberry.field(
        description="How many of its specs depend on a spec of the other package themselves."
    )


def coverage_of(
    loaded: LoadedRevision, code: int, by: Sequence[CoverageDimension], first: int
) -> Table[CoverageCell]:
    """Return the cells that the specs of a package stand in, in the order of their values.

    Raises InvalidArgument for a number out of range, or more dimensions than kinds of them.
    """
    _check(first)
    if len(by) > len(CoverageDimension):
        raise InvalidArgument("by", f"more than {len(CoverageDimension)} dimensions")
    distinct = [*dict.fromkeys(by)]
    rows = np.arange(*loaded.frame.slice_of(code).indices(len(loaded.frame)), dtype=np.int32)
    cells = cells_of(loaded.frame, rows, distinct)
    texts_of_each = [
        [values[it] for it in codes[:first].tolist()]
        for values, codes in zip(cells.values, cells.codes, strict=True)
    ]
    chosen = [texts_of_each[distinct.index(dimension)] for dimension in by]
    num_specs = cells.num_specs[:first].tolist()
    values = [*map(list, zip(*chosen, strict=True))] if chosen else [[] for _ in num_specs]
    return Table(CoverageCell, {"values": values, "num_specs": num_specs})


def dependents_of(loaded: LoadedRevision, code: int, first: int) -> Table[DependentPackage] | None:
    """Return the packages that depend on one themselves, those with most such specs first.

    None where the revision's source told no dependencies at all. Raises InvalidArgument.
    """
    _check(first)
    frame, graph = loaded.frame, loaded.dependencies()
    if not graph.is_known:
        return None
    rows = graph.rows_needing(frame.slice_of(code))
    counts = np.bincount(frame.package.codes[rows], minlength=len(frame.packages))
    order = np.argsort(-counts, kind="stable")[: min(first, np.count_nonzero(counts))]
    return Table(
        DependentPackage,
        {
            "name": [frame.packages[it] for it in order.tolist()],
            "num_specs": counts[order].tolist(),
        },
    )


def _check(first: int) -> None:
    if not 0 <= first <= LISTED_MAX:
        raise InvalidArgument("first", f"{first} is not between 0 and {LISTED_MAX:,}")

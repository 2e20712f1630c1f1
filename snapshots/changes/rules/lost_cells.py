"""Cells of coverage that were lost, as breaches."""

import numpy as np

from snapshots.changes.cells import CoverageDimension, having
from snapshots.changes.coverage import CoverageChanges
from snapshots.changes.rules.verdict import Breach, Breaches
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.wording import counted


def lost_cells(cells: CoverageChanges, in_base: Mask, told: str) -> Breaches:
    """Return a breach for each of some lost cells, of which base has the rows that a mask marks.

    ``told`` says what is missing there; ``{package}`` in it is the cell's.
    """

    def breach(place: int) -> Breach:
        package, values = cells.package(place), cells.values(place)
        rows = _rows(cells, place, in_base)
        where = ", ".join(map(_named, cells.dimensions, values))
        what = told.replace("{package}", package)
        message = f"{what} for {where}: base has {counted(len(rows), 'spec')} there"
        return Breach(message, package, cells.base, rows)

    return Breaches(len(cells), breach)


def _named(dimension: CoverageDimension, value: str) -> str:
    return f"{dimension.value.replace('_', ' ')} {value}"


def _rows(cells: CoverageChanges, place: int, in_base: Mask) -> Rows:
    """Return the rows of base in a cell."""
    own = cells.base.rows_of(cells.package(place)) or slice(0, 0)
    mask = in_base[own].copy()
    wanted = zip(cells.dimensions, cells.values(place), strict=True)
    for has_value in having(cells.base, own, wanted):
        mask &= has_value
    rows: Rows = rows_where(mask) + np.int32(own.start)
    return rows

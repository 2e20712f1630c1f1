"""Coverage: what can no longer be had, and what newly can.

People do not ask for hashes, but whether there is an hdf5 for aarch64 in e4s. A cell is lost where
base has a spec in it and head has none, and gained where it is the other way.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import msgspec
import numpy as np

from snapshots.changes.cells import Cells, CoverageDimension, differing_cells
from snapshots.changes.common_names import CommonNames
from snapshots.changes.diff import Comparison
from snapshots.changes.nearest import nearest_rows
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.frame import Frame


class CoverageChangeKind(Enum):
    """Whether a cell can no longer be had, or newly can."""

    LOST = "lost"
    GAINED = "gained"


class CoverageChange(msgspec.Struct, frozen=True):
    """A cell that only one side has, with the number of its specs there.

    ``values`` has one for each dimension that was asked for. ``nearest`` are rows of head, three at
    the most: what is left of the package that comes nearest to a lost cell.
    """

    kind: CoverageChangeKind
    package: str
    values: tuple[str, ...]
    num_specs: int
    nearest: tuple[int, ...]


class CoverageChanges(Sequence[CoverageChange]):
    """A table of cells by package and values; a record is made where one is asked for.

    ``dimensions`` are those that were asked for, ``cells`` the columns, which have each of them
    once; ``names`` are those of the packages.
    """

    def __init__(
        self,
        base: Frame,
        head: Frame,
        dimensions: Sequence[CoverageDimension],
        names: CommonNames,
        cells: Cells,
    ) -> None:
        self.base = base
        self.head = head
        self.dimensions = dimensions
        self.names = names
        self.cells = cells
        distinct = [*dict.fromkeys(dimensions)]
        self._numbers = [distinct.index(dimension) for dimension in dimensions]

    def __len__(self) -> int:
        return len(self.cells.packages)

    def __iter__(self) -> Iterator[CoverageChange]:
        return map(self._record, range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        """Return the record at a place, or the table of a slice."""
        return self.take(place) if isinstance(place, slice) else self._record(place)

    def _record(self, place: int) -> CoverageChange:
        is_gained = bool(self.cells.are_in_head[place])
        return CoverageChange(
            CoverageChangeKind.GAINED if is_gained else CoverageChangeKind.LOST,
            self.package(place),
            self.values(place),
            int(self.cells.num_specs[place]),
            () if is_gained else tuple(self.nearest(place).tolist()),
        )

    def package(self, place: int) -> str:
        """Return the package of the cell at a place."""
        return self.names.names[int(self.cells.packages[place])]

    def values(self, place: int) -> tuple[str, ...]:
        """Return the value of the cell at a place for each dimension."""
        codes = self.cells.codes[:, place].tolist()
        own = [values[code] for values, code in zip(self.cells.values, codes, strict=True)]
        return tuple(own[number] for number in self._numbers)

    def nearest(self, place: int) -> Rows:
        """Return what ``nearest_rows`` finds for the lost cell at a place."""
        wanted = Counter(zip(self.dimensions, self.values(place), strict=True))
        return nearest_rows(self.base, self.head, self.package(place), wanted)

    @property
    def num_bytes(self) -> int:
        """About how much memory the columns take; the names are the comparison's."""
        cells = self.cells
        arrays = (cells.are_in_head, cells.packages, cells.codes, cells.num_specs)
        return sum(it.nbytes for it in arrays) + 8 * sum(map(len, cells.values))

    def count(self, kind: Any) -> int:
        """Return how many cells were lost, or gained."""
        return int(np.count_nonzero(self._are(kind)))

    def take(self, places: slice | Mask | Rows) -> "CoverageChanges":
        """Return the table of the cells at some places."""
        cells = self.cells
        chosen = Cells(
            cells.are_in_head[places],
            cells.packages[places],
            cells.values,
            cells.codes[:, places],
            cells.num_specs[places],
        )
        return CoverageChanges(self.base, self.head, self.dimensions, self.names, chosen)

    def select(
        self, kinds: Sequence[CoverageChangeKind] | None = None, search: str | None = None
    ) -> "CoverageChanges":
        """Return the cells of these kinds, of packages with the text in their name.

        Upper and lower case are the same.
        """
        mask = np.ones(len(self), np.bool_)
        if kinds is not None:
            mask &= np.logical_or.reduce([np.zeros(len(self), np.bool_), *map(self._are, kinds)])
        if search:
            mask &= self.names.with_text(search)[self.cells.packages]
        return self if mask.all() else self.take(mask)

    def find(self, package: str, values: Sequence[str]) -> int | None:
        """Return the place of a cell; None where it was neither lost nor gained."""
        if len(values) != len(self.dimensions):
            return None
        place, packages = self.names.place_of(package), self.cells.packages
        start, stop = (int(np.searchsorted(packages, place, side)) for side in ("left", "right"))
        for number in range(start, stop):
            if self.values(number) == tuple(values):
                return number
        return None

    def _are(self, kind: CoverageChangeKind) -> Mask:
        in_head = self.cells.are_in_head
        return in_head if kind is CoverageChangeKind.GAINED else ~in_head


def usual_dimensions(comparison: Comparison) -> list[CoverageDimension]:
    """Return what places are counted by where nobody chooses: by stack and target.

    That is by target alone where a side's source tells no stacks, or no spec of either has one.
    """
    told = comparison.pairing.persisting.tell_stacks
    if not told or comparison.stacks.num_stacks == (0, 0):
        return [CoverageDimension.TARGET]
    return [CoverageDimension.STACK, CoverageDimension.TARGET]


def coverage(
    comparison: Comparison,
    dimensions: Sequence[CoverageDimension],
    scope: tuple[Mask, Mask] | None = None,
) -> CoverageChanges:
    """Return the cells that were lost and gained, for any choice of dimensions, in their order.

    Without dimensions the packages themselves are the cells; one that is named twice has its value
    twice, and costs no more for that. ``root`` counts as no stack. A spec without a compiler stands
    in no cell of compilers. Where none of a side's specs has a value for a dimension, its source
    does not tell it, and no cell is counted.

    The specs that count are those that the comparison is about; with ``scope``, those among them
    that one mask over the rows of base, and another one over those of head, mark. A narrowed
    comparison has both sides of a spec that left the stack which it is narrowed to; masks do not.
    """
    pairing = comparison.pairing
    chosen = [
        _rows(len(frame), rows, None if scope is None else scope[side])
        for side, (frame, rows) in enumerate(
            ((pairing.base, pairing.base_rows), (pairing.head, pairing.head_rows))
        )
    ]
    frames, names = (pairing.base, pairing.head), comparison.packages.names
    distinct = [*dict.fromkeys(dimensions)]
    cells = differing_cells(frames, (chosen[0], chosen[1]), names, distinct)
    return CoverageChanges(*frames, tuple(dimensions), names, cells)


def _rows(size: int, compared: Rows | slice, mask: Mask | None) -> Rows:
    """Return those of the compared rows that a mask marks, all where there is none."""
    rows = np.arange(size, dtype=np.int32)[compared]
    return rows if mask is None else rows[mask[rows]]

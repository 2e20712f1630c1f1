"""Coverage: combinations of a package and other facts that were lost or gained.

Users look for an hdf5 for aarch64 in e4s, not for a hash. A cell is a package with one value for
each of the selected dimensions. If stacks are among the dimensions, a spec is in one cell for each
of its stacks; otherwise it is in one cell, or in none if it has no value for a dimension. A cell is
lost if base has a spec in it and head has none, and gained in the opposite case.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Codes, Mask, Numbers, Rows
from snapshots.changes.diff import Comparison
from snapshots.changes.pairings import ChangeTable, CommonNames
from snapshots.frames.columns import Arrays, Column, rows_where
from snapshots.frames.filters import having_any
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK, natural_order
from snapshots.spack.notation import compiler_key
from snapshots.spack.versions import total_order

MAX_MARKED = 1 << 22
"""Largest bound of keys for which a mask is allocated; above it, keys are first renumbered."""

Sides = tuple[Frame, Frame]


class CoverageDimension(Enum):
    """The dimensions that packages are combined with.

    - STACK: The stack; root does not count.
    - TARGET: The target.
    - OPERATING_SYSTEM: The operating system.
    - PLATFORM: The platform.
    - COMPILER: The compiler with its version.
    - COMPILER_NAME: The compiler, regardless of its version.
    - VERSION: The version.
    """

    STACK = "stack"
    TARGET = "target"
    OPERATING_SYSTEM = "operating_system"
    PLATFORM = "platform"
    COMPILER = "compiler"
    COMPILER_NAME = "compiler_name"
    VERSION = "version"


_OTHER_NAMES = {CoverageDimension.STACK: "stacks", CoverageDimension.COMPILER_NAME: "compiler"}
"""The columns whose names differ from those of their dimensions."""


class Cells(Arrays, msgspec.Struct, frozen=True):
    """Cells that only one of two frames has, as columns.

    ``packages`` are indices into the common names. ``values`` contains the sorted values of each
    dimension, and ``codes`` one row per dimension with the index of each cell's value among them.
    ``num_specs`` counts the specs in each cell.
    """

    are_in_head: Mask
    packages: Codes
    values: Sequence[Sequence[str]]
    codes: Codes
    num_specs: Codes


class _Axis(msgspec.Struct, frozen=True):
    """The sorted values of both frames, and the code of each frame's own values; -1: none.

    The own values of a frame are the items of the lists for stacks, and otherwise the distinct
    values of the column.
    """

    dimension: CoverageDimension
    values: Sequence[str]
    codes: tuple[Codes, Codes]


def differing_cells(
    frames: Sides,
    rows: tuple[Rows, Rows],
    places: tuple[Codes, Codes],
    dimensions: Sequence[CoverageDimension],
) -> Cells:
    """Return the cells that contain some rows of one frame and no rows of the other.

    ``places`` maps the packages of each frame to the common order of packages. The cells are sorted
    by package, then by value, dimension by dimension: versions and compilers in Spack's order,
    other values in natural order. Uses 30 to 80 bytes of memory per stack of each spec, depending
    on the number of dimensions.
    """
    axes = [_axis(dimension, frames) for dimension in dimensions]
    if any(unstated(frame, dimensions) for frame in frames):
        rows = rows[0][:0], rows[1][:0]
    before, after = (
        _columns_of_cells(side, frames[side], rows[side], places[side], axes) for side in (0, 1)
    )
    columns = [np.concatenate(parts) for parts in zip(before, after, strict=True)]
    num_packages = 1 + max(int(of_side.max(initial=-1)) for of_side in places)
    keys, bound = folded(columns, [num_packages, *(len(axis.values) for axis in axes)])
    of_base, of_head = np.split(keys, [len(before[0])])
    lost = rows_where(~_marked(of_head, bound)[of_base])
    gained = rows_where(~_marked(of_base, bound)[of_head]) + len(of_base)
    chosen = np.concatenate([lost, gained])
    _, first, num_specs = np.unique(keys[chosen], return_index=True, return_counts=True)
    chosen = chosen[first]
    packages, *codes = (column[chosen] for column in columns)
    return Cells(
        chosen >= len(of_base),
        packages,
        [axis.values for axis in axes],
        np.array(codes, np.int32).reshape(len(axes), len(chosen)),
        num_specs.astype(np.int32),
    )


def cells_of(frame: Frame, rows: Rows, dimensions: Sequence[CoverageDimension]) -> Cells:
    """Return the sorted cells that contain some rows of a frame, as cells of head.

    The dimensions must be distinct; ``packages`` are the frame's own codes.
    """
    packages = np.arange(len(frame.packages), dtype=np.int32)
    sides = (frame, frame), (rows[:0], rows), (packages, packages)
    return differing_cells(*sides, dimensions)


def values_of(dimension: CoverageDimension, frame: Frame) -> Sequence[str | None]:
    """Return the distinct values of a frame for a dimension, by code; None for no value."""
    match dimension:
        case CoverageDimension.STACK:
            return [None if item == ROOT_STACK else item for item in frame.stacks.items]
        case CoverageDimension.COMPILER_NAME:
            return frame.compiler.mapped(compiler_name)
    return column_of(dimension, frame).values


def column_of(dimension: CoverageDimension, frame: Frame) -> Column[str | None]:
    """Return the column with the values of a dimension; the column of stacks contains lists."""
    name = _OTHER_NAMES.get(dimension, dimension.value)
    column: Column[str | None] = frame.columns[name]  # type: ignore[assignment]
    return column


def compiler_name(compiler: str | None) -> str | None:
    """Return the name of a compiler without its version; None if there is no compiler."""
    return compiler and compiler.partition("@")[0]


def having(
    frame: Frame, rows: slice, values: Iterable[tuple[CoverageDimension, str]]
) -> Iterator[Mask]:
    """Yield for each dimension and value a mask of the rows of a frame that have the value."""
    for dimension, value in values:
        column = column_of(dimension, frame)
        match dimension:
            case CoverageDimension.STACK:
                have = frame.stacks.having(value)
            case CoverageDimension.COMPILER_NAME:
                have = np.array([name == value for name in column.mapped(compiler_name)], np.bool_)
            case _:
                have = column.among([value])
        yield have[column.codes[rows]]


def rows_in_cell(
    frame: Frame, package: str, values: Iterable[tuple[CoverageDimension, str]]
) -> Rows:
    """Return the rows of a package that have all of the values."""
    own = frame.rows_of(package) or slice(0, 0)
    mask = np.ones(own.stop - own.start, np.bool_)
    for has_value in having(frame, own, values):
        mask &= has_value
    rows: Rows = rows_where(mask) + np.int32(own.start)
    return rows


def _axis(dimension: CoverageDimension, frames: Sides) -> _Axis:
    before, after = (values_of(dimension, frame) for frame in frames)
    values = _sorted(dimension, {*before, *after} - {None})
    places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
    base, head = (
        np.fromiter(map(places.get, texts, repeat(NO_ROW)), np.int32, len(texts))
        for texts in (before, after)
    )
    return _Axis(dimension, values, (base, head))


def unstated(frame: Frame, dimensions: Iterable[CoverageDimension]) -> list[CoverageDimension]:
    """Return the dimensions for which no spec of a frame has a value; none for an empty frame."""
    if not len(frame):
        return []
    return [
        dimension
        for dimension in dimensions
        if all(value is None for value in values_of(dimension, frame))
    ]


def _columns_of_cells(
    side: int, frame: Frame, rows: Rows, packages: Codes, axes: Sequence[_Axis]
) -> list[Codes]:
    """Return the package index and the code of each value for every cell of every row."""
    in_list = np.empty(0, np.int32)
    if any(axis.dimension is CoverageDimension.STACK for axis in axes):
        owners, in_list = frame.stacks.items_of(frame.stacks.codes[rows])
        rows = rows[owners]
    columns = [packages[frame.package.codes[rows]]]
    for axis in axes:
        is_stack = axis.dimension is CoverageDimension.STACK
        own = in_list if is_stack else column_of(axis.dimension, frame).codes[rows]
        columns.append(axis.codes[side][own])
    has_all = np.logical_and.reduce([codes != NO_ROW for codes in columns])
    return columns if has_all.all() else [codes[has_all] for codes in columns]


def folded(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> tuple[Numbers, int]:
    """Combine columns of codes into one key per row, equal for equal rows; also return a bound.

    All keys are below the bound.
    """
    keys, bound = np.zeros(len(columns[0]), np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        keys, bound = keys * size + codes, bound * size
        if bound > MAX_MARKED:
            distinct, keys = np.unique(keys, return_inverse=True)
            bound = len(distinct)
    return keys, bound


def _marked(keys: Numbers, bound: int) -> Mask:
    """Return a mask over the numbers below the bound: those that are among the keys."""
    marked = np.zeros(bound, np.bool_)
    marked[keys] = True
    return marked


def _sorted(dimension: CoverageDimension, values: Collection[Any]) -> list[str]:
    match dimension:
        case CoverageDimension.VERSION:
            return sorted(values, key=total_order)
        case CoverageDimension.COMPILER:
            return sorted(values, key=compiler_key)
    return natural_order(values)


NUM_NEAREST = 3
"""The maximum number of nearest specs per lost cell."""

_FACTS = ("version", "compiler", "platform", "operating_system", "target", "variants")
_MANY = 100


def nearest_rows(
    base: Frame, head: Frame, package: str, values: Mapping[CoverageDimension, str]
) -> Rows:
    """Return up to three rows of head that are nearest to a cell that only base has.

    Rows of the same package are ordered by how many of the cell's values they have, then by how
    many other facts are equal to those of some spec of the cell: version, compiler, platform,
    operating system, target, all variants, and a common stack other than root. Ties are resolved by
    version, newest first, then by hash.
    """
    remaining = head.rows_of(package)
    if remaining is None or base.rows_of(package) is None:
        return np.empty(0, np.int32)
    cell = rows_in_cell(base, package, values.items())
    score = np.zeros(remaining.stop - remaining.start, np.int64)
    for mask in having(head, remaining, values.items()):
        score += _MANY * mask
    for mask in _alike(base, cell, head, remaining, values):
        score += mask
    # The rows are sorted by version, newest first, then by hash.
    nearest: Rows = np.argsort(-score, kind="stable")[:NUM_NEAREST].astype(np.int32)
    return nearest + np.int32(remaining.start)


def _alike(
    base: Frame, cell: Rows, head: Frame, rows: slice, dimensions: Collection[CoverageDimension]
) -> Iterator[Mask]:
    """Yield for each fact that is not a dimension a mask of the rows of head that share it.

    A row shares a fact with the cell if any spec of the cell has the same value.
    """
    chosen = {dimension.value for dimension in dimensions}
    for name in _FACTS:
        if name not in chosen:
            before, after = getattr(base, name), getattr(head, name)
            yield after.among(before.present(cell))[after.codes[rows]]
    if CoverageDimension.STACK not in dimensions:
        stacks = {stack for stack, _ in base.stacks.item_counts(cell)} - {ROOT_STACK}
        yield having_any(head.stacks, tuple(stacks))[head.stacks.codes[rows]]


class CoverageChangeKind(Enum):
    """How coverage changed.

    - LOST: Base has a spec in the cell, head has none.
    - GAINED: Head has a spec in the cell, base has none.
    """

    LOST = "lost"
    GAINED = "gained"


_KINDS = tuple(CoverageChangeKind)


class CoverageChange(msgspec.Struct, frozen=True):
    """A cell that only one side has, with the number of its specs there.

    ``values`` contains one value for each dimension of the table. ``nearest`` are up to three rows
    of head: the specs of the package that are nearest to a lost cell.
    """

    kind: CoverageChangeKind
    package: str
    values: tuple[str, ...]
    num_specs: int
    nearest: tuple[int, ...]


class CoverageChanges(ChangeTable[CoverageChange]):
    """A table of cells sorted by package and values; records are created on access.

    ``dimensions`` are distinct, ``cells`` are the columns, and ``names`` the names of the packages.
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
        self.kinds = cells.are_in_head.view(np.int8)

    def _record(self, place: int) -> CoverageChange:
        kind = _KINDS[self.kinds[place]]
        return CoverageChange(
            kind,
            self.package(place),
            self.values(place),
            int(self.cells.num_specs[place]),
            tuple(self.nearest(place).tolist()) if kind is CoverageChangeKind.LOST else (),
        )

    def package(self, place: int) -> str:
        """Return the package of the cell at an index."""
        return self.names.names[int(self.cells.packages[place])]

    def values(self, place: int) -> tuple[str, ...]:
        """Return the value of the cell at an index for each dimension."""
        codes = self.cells.codes[:, place].tolist()
        return tuple(values[code] for values, code in zip(self.cells.values, codes, strict=True))

    def nearest(self, place: int) -> Rows:
        """Return the rows that ``nearest_rows`` finds for the lost cell at an index."""
        values = dict(zip(self.dimensions, self.values(place), strict=True))
        return nearest_rows(self.base, self.head, self.package(place), values)

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the columns, in bytes; the names belong to the comparison."""
        return self.cells.num_bytes

    def take(self, places: slice | Mask | Rows) -> "CoverageChanges":
        """Return the table of the cells at some indices."""
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
        """Return the cells of the given kinds whose package name contains the text.

        The search ignores case.
        """
        mask = self.of_kinds(kinds)
        if search:
            mask &= self.names.with_text(search)[self.cells.packages]
        return self if mask.all() else self.take(mask)

    def of_stack(self, stack: str | None) -> "CoverageChanges":
        """Return the cells of one stack, or all if it is None or stacks are not a dimension."""
        if stack is None or CoverageDimension.STACK not in self.dimensions:
            return self
        number = self.dimensions.index(CoverageDimension.STACK)
        values = self.cells.values[number]
        code = values.index(stack) if stack in values else -1
        return self.take(self.cells.codes[number] == code)

    def find(self, package: str, values: Sequence[str]) -> int | None:
        """Return the index of a cell; None if it was neither lost nor gained."""
        if len(values) != len(self.dimensions):
            return None
        place, packages = self.names.place_of(package), self.cells.packages
        start, stop = (int(np.searchsorted(packages, place, side)) for side in ("left", "right"))
        for number in range(start, stop):
            if self.values(number) == tuple(values):
                return number
        return None


def usual_dimensions(comparison: Comparison) -> list[CoverageDimension]:
    """Return the default dimensions: stack and target.

    Only target is returned if the source of a side does not provide stacks, or if no spec of either
    side has one.
    """
    state_stacks = comparison.pairing.persisting.state_stacks
    if not state_stacks or comparison.stacks.num_stacks == (0, 0):
        return [CoverageDimension.TARGET]
    return [CoverageDimension.STACK, CoverageDimension.TARGET]


def coverage(
    comparison: Comparison,
    dimensions: Sequence[CoverageDimension],
    scope: tuple[Mask, Mask] | None = None,
) -> CoverageChanges:
    """Return the lost and gained cells for a choice of dimensions, in order.

    Without dimensions, the packages themselves are the cells. A dimension that is given twice
    counts once. ``root`` does not count as a stack. A spec without a compiler is in no cell of
    compilers. If no spec of a side has a value for a dimension, its source does not provide it, and
    no cell is counted.

    The specs that count are those of the comparison; with ``scope``, only those marked by its two
    masks over the rows of base and of head. A narrowed comparison contains both sides of a spec
    that left the stack to which it is narrowed; masks do not.
    """
    pairing = comparison.pairing
    frames, names = (pairing.base, pairing.head), comparison.packages.names
    places = names.from_base, names.from_head
    base_mask, head_mask = (None, None) if scope is None else scope
    rows = (
        _rows(len(pairing.base), pairing.base_rows, base_mask),
        _rows(len(pairing.head), pairing.head_rows, head_mask),
    )
    distinct = tuple(dict.fromkeys(dimensions))
    cells = differing_cells(frames, rows, places, distinct)
    return CoverageChanges(*frames, distinct, names, cells)


def _rows(size: int, compared: Rows | slice, mask: Mask | None) -> Rows:
    """Return the compared rows that a mask marks; all of them without a mask."""
    rows = np.arange(size, dtype=np.int32)[compared]
    return rows if mask is None else rows[mask[rows]]

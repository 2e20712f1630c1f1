"""Where the specs of two frames stand: packages in combination with values of chosen dimensions.

A cell is a package with one value for each dimension. A spec stands in as many cells as it has
stacks where these are chosen, else in one, and in none where it has no value for a dimension.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.common_names import CommonNames
from snapshots.frames.columns import Codes, Column, Mask, Rows, rows_where
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import places_of_runs
from snapshots.spack.names import ROOT_STACK, natural_order
from snapshots.spack.spelling import compiler_key
from snapshots.spack.versions import version_key

_NONE = -1
_MOST_MARKED = 1 << 22
"""How many keys may be marked one by one; where there are more, they are numbered first."""

Keys = npt.NDArray[np.int64]
Sides = tuple[Frame, Frame]


class CoverageDimension(Enum):
    """What the cells of a package are told apart by; COMPILER is its name and version."""

    STACK = "stack"
    TARGET = "target"
    OPERATING_SYSTEM = "operating_system"
    PLATFORM = "platform"
    COMPILER = "compiler"
    COMPILER_NAME = "compiler_name"
    VERSION = "version"


_OTHER_NAMES = {CoverageDimension.STACK: "stacks", CoverageDimension.COMPILER_NAME: "compiler"}
"""The columns that are not called as a dimension is."""


class Cells(NamedTuple):
    """Cells that only one of two frames has, as columns.

    ``packages`` are places of the common names. ``values`` has for each dimension its values in
    their order, and ``codes`` a row for each dimension: the place of each cell's value among them.
    ``num_specs`` counts the specs in each cell.
    """

    are_in_head: Mask
    packages: Codes
    values: Sequence[Sequence[str]]
    codes: Codes
    num_specs: Codes


class _Axis(NamedTuple):
    """The values of both frames for a dimension, and the code of each frame's own ones; -1: none.

    For a stack its own ones are the items of the lists, else the distinct values of the column.
    """

    dimension: CoverageDimension
    values: Sequence[str]
    codes: tuple[Codes, Codes]


def differing_cells(
    frames: Sides,
    rows: tuple[Rows, Rows],
    names: CommonNames,
    dimensions: Sequence[CoverageDimension],
) -> Cells:
    """Return the cells where some of the rows of one frame stand, and none of the other's rows.

    They are in order: by package, then by one value after the other, versions and compilers as
    Spack orders them and others as people do. Takes 30 to 80 bytes of memory for each stack of each
    spec, by the number of dimensions.
    """
    axes = [_axis(dimension, frames) for dimension in dimensions]
    if any(untold(frame, dimensions) for frame in frames):
        rows = rows[0][:0], rows[1][:0]
    maps = names.from_base, names.from_head
    before, after = (_standing(side, frames[side], rows[side], maps[side], axes) for side in (0, 1))
    columns = [np.concatenate(parts) for parts in zip(before, after, strict=True)]
    keys, bound = _folded(columns, [len(names), *(len(axis.values) for axis in axes)])
    of_base, of_head = np.split(keys, [len(before[0])])
    lost = rows_where(~_marked(of_head, bound)[of_base])
    gained = rows_where(~_marked(of_base, bound)[of_head]) + len(of_base)
    places = np.concatenate([lost, gained])
    _, first, num_specs = np.unique(keys[places], return_index=True, return_counts=True)
    places = places[first]
    packages, *codes = (column[places] for column in columns)
    return _in_order(places >= len(of_base), packages, axes, codes, num_specs.astype(np.int32))


def count_cells(frame: Frame, rows: Rows, dimensions: Sequence[CoverageDimension]) -> int:
    """Return how many cells some of the rows of a frame stand in."""
    axes = [_axis(dimension, (frame, frame)) for dimension in dimensions]
    packages = np.arange(len(frame.packages), dtype=np.int32)
    columns = _standing(0, frame, rows, packages, axes)
    keys, bound = _folded(columns, [len(packages), *(len(axis.values) for axis in axes)])
    return int(np.count_nonzero(_marked(keys, bound)))


def cells_of(frame: Frame, rows: Rows, dimensions: Sequence[CoverageDimension]) -> Cells:
    """Return the cells that some of the rows of a frame stand in, in order, as those of head.

    The dimensions are distinct; ``packages`` are the frame's own codes.
    """
    axes = [_axis(dimension, (frame, frame)) for dimension in dimensions]
    packages = np.arange(len(frame.packages), dtype=np.int32)
    columns = _standing(0, frame, rows, packages, axes)
    keys, _ = _folded(columns, [len(packages), *(len(axis.values) for axis in axes)])
    _, first, num_specs = np.unique(keys, return_index=True, return_counts=True)
    codes = [column[first] for column in columns[1:]]
    are_in_head = np.ones(len(first), np.bool_)
    return _in_order(are_in_head, columns[0][first], axes, codes, num_specs.astype(np.int32))


def texts_of(dimension: CoverageDimension, frame: Frame) -> Sequence[str | None]:
    """Return the values of a frame for a dimension, as its column has them; None for no value."""
    match dimension:
        case CoverageDimension.STACK:
            return [None if item == ROOT_STACK else item for item in frame.stacks.items]
        case CoverageDimension.COMPILER_NAME:
            return frame.compiler.mapped(compiler_name)
    return column_of(dimension, frame).values


def column_of(dimension: CoverageDimension, frame: Frame) -> Column[str | None]:
    """Return the column that a dimension's value of each row is told by; stacks have lists."""
    name = _OTHER_NAMES.get(dimension, dimension.value)
    column: Column[str | None] = frame.columns[name]  # type: ignore[assignment]
    return column


def compiler_name(compiler: str | None) -> str | None:
    """Return the name of a compiler without its version; None where there is none."""
    return compiler and compiler.partition("@")[0]


def having(
    frame: Frame, rows: slice, wanted: Iterable[tuple[CoverageDimension, str]]
) -> Iterator[Mask]:
    """Yield for each dimension and value which of the rows of a frame have it."""
    for dimension, value in wanted:
        column = column_of(dimension, frame)
        match dimension:
            case CoverageDimension.STACK:
                have = frame.stacks.having(value)
            case CoverageDimension.COMPILER_NAME:
                have = np.array([it == value for it in column.mapped(compiler_name)], np.bool_)
            case _:
                have = column.among([value])
        yield have[column.codes[rows]]


def _axis(dimension: CoverageDimension, frames: Sides) -> _Axis:
    before, after = (texts_of(dimension, frame) for frame in frames)
    values = [value for value in dict.fromkeys((*before, *after)) if value is not None]
    places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
    base, head = (
        np.fromiter(map(places.get, texts, repeat(_NONE)), np.int32, len(texts))
        for texts in (before, after)
    )
    return _Axis(dimension, values, (base, head))


def untold(frame: Frame, dimensions: Iterable[CoverageDimension]) -> list[CoverageDimension]:
    """Return the dimensions that no spec of a frame has a value for, although there are specs."""
    if not len(frame):
        return []
    return [it for it in dimensions if all(value is None for value in texts_of(it, frame))]


def _standing(
    side: int, frame: Frame, rows: Rows, packages: Codes, axes: Sequence[_Axis]
) -> list[Codes]:
    """Return for each cell of each row the package's place, and the code of each value."""
    in_list = np.empty(0, np.int32)
    if any(axis.dimension is CoverageDimension.STACK for axis in axes):
        rows, in_list = _one_a_stack(frame, rows)
    columns = [packages[frame.package.codes[rows]]]
    for axis in axes:
        is_stack = axis.dimension is CoverageDimension.STACK
        own = in_list if is_stack else column_of(axis.dimension, frame).codes[rows]
        columns.append(axis.codes[side][own])
    has_all = np.logical_and.reduce([codes != _NONE for codes in columns])
    return columns if has_all.all() else [codes[has_all] for codes in columns]


def _one_a_stack(frame: Frame, rows: Rows) -> tuple[Rows, Codes]:
    """Return each row as often as it has stacks, root too, and beside it the code of each stack."""
    stacks = frame.stacks
    lengths = np.bincount(stacks.owner, minlength=len(stacks.values))
    starts = np.cumsum(lengths) - lengths
    lists = stacks.codes[rows]
    return np.repeat(rows, lengths[lists]), stacks.flat[
        places_of_runs(starts[lists], lengths[lists])
    ]


def _folded(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Keys, int]:
    """Return columns of codes as one number each, equal where they are, and what is above all."""
    keys, bound = np.zeros(len(columns[0]), np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        keys, bound = keys * size + codes, bound * size
        if bound > _MOST_MARKED:
            distinct, keys = np.unique(keys, return_inverse=True)
            bound = len(distinct)
    return keys, bound


def _marked(keys: Keys, bound: int) -> Mask:
    """Return a mask over the numbers below the bound: those that are among the keys."""
    marked = np.zeros(bound, np.bool_)
    marked[keys] = True
    return marked


def _in_order(
    are_in_head: Mask,
    packages: Codes,
    axes: Sequence[_Axis],
    codes: Sequence[Codes],
    num_specs: Codes,
) -> Cells:
    """Return the cells by package and values, with the values that they have."""
    values, ranks = [], np.empty((len(axes), len(packages)), np.int32)
    for number, (axis, own) in enumerate(zip(axes, codes, strict=True)):
        there, places = np.unique(own, return_inverse=True)
        texts = [axis.values[code] for code in there.tolist()]
        values.append(_sorted(axis.dimension, texts))
        rank_of = {text: rank for rank, text in enumerate(values[-1])}
        ranks[number] = np.array([rank_of[text] for text in texts], np.int32)[places]
    order = np.lexsort((*ranks[::-1], packages))
    return Cells(
        are_in_head[order],
        packages[order],
        values,
        ranks[:, order],
        num_specs[order],
    )


def _sorted(dimension: CoverageDimension, values: Sequence[str]) -> list[str]:
    match dimension:
        case CoverageDimension.VERSION:
            return sorted(values, key=lambda version: (version_key(version), version))
        case CoverageDimension.COMPILER:
            return sorted(values, key=compiler_key)
    return natural_order(values)

"""Columns of a frame: every row a small code into the list of distinct values.

A revision's 58,000 specs have few distinct compilers, targets, stack lists and variant lists, so
questions are asked of the distinct values once, and answered for the rows by numpy.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.frames.gathered import Gathered, taken, whole

Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int32]
Value = TypeVar("Value")
Image = TypeVar("Image")


class FactColumn(Protocol):
    """What the columns of all kinds of facts have in common."""

    @property
    def num_bytes(self) -> int:
        """About how much memory the column takes, with what queries will make of it."""

    def at(self, row: int) -> Any:
        """Return the value of a row."""

    def mapped_at(self, function: Callable[[Any], Image], rows: Rows) -> list[Image]:
        """Return what a function makes of the value of each row."""

    def reordered(self, rows: Rows) -> "FactColumn":
        """Return the column with these rows, every one of them once, in their order."""


class Column(Generic[Value]):
    """One value a row. ``values`` are distinct and in the column's own order; None comes first.

    ``codes`` may be gathered from what several frames share.
    """

    def __init__(self, codes: Codes | Gathered, values: Sequence[Value]) -> None:
        self._codes = codes
        self.values = values
        self._mapped: dict[Any, list[Any]] = {}

    @property
    def codes(self) -> Codes:
        """The code of each row's value."""
        return whole(self._codes)

    def reordered(self, rows: Rows) -> "Column[Value]":
        """Return the column with these rows, in their order."""
        return Column(self.codes[rows], self.values)

    @property
    def sort_keys(self) -> npt.NDArray[Any]:
        """Numbers that stand to each other as the values of the rows do."""
        return self.codes

    @cached_property
    def index(self) -> dict[Value, int]:
        """The code of each distinct value."""
        return {value: code for code, value in enumerate(self.values)}

    @property
    def is_known(self) -> bool:
        """Whether any row has a value."""
        return any(value is not None for value in self.values)

    @property
    def num_bytes(self) -> int:
        """About how much memory the column takes, with a text made of each distinct value."""
        return self._codes.nbytes + sum(map(_size_of, self.values))

    @cached_property
    def fingerprints(self) -> npt.NDArray[np.int64]:
        """A 64-bit hash of each distinct value, good within this process.

        Two columns are compared through them: two of 60,000 values share one by chance in one of
        some ten billion columns.
        """
        return np.fromiter(map(hash, self.values), np.int64, len(self.values))

    def known(self) -> Mask:
        """Return a mask over the distinct values: all but None."""
        return self.where(lambda value: value is not None)

    def mapped(self, function: Callable[[Value], Image]) -> list[Image]:
        """Return what a function makes of each distinct value; kept, for each function.

        Only functions of cachelog's own modules belong here: there are few, for ever the same.
        """
        if function not in self._mapped:
            self._mapped[function] = list(map(function, self.values))
        return self._mapped[function]

    def at(self, row: int) -> Value:
        """Return the value of a row."""
        return self.values[int(self._codes[row])]

    def mapped_at(self, function: Callable[[Value], Image], rows: Rows) -> list[Image]:
        """Return what a function makes of the value of each row; see ``mapped``."""
        return list(map(self.mapped(function).__getitem__, taken(self._codes, rows).tolist()))

    def present(self, rows: Rows | slice) -> list[Value]:
        """Return the distinct values among the rows, in the column's order, without None."""
        return [
            value
            for code in np.unique(self.codes[rows]).tolist()
            if (value := self.values[code]) is not None
        ]

    def counts(self, rows: Rows | slice) -> list[tuple[Value, int]]:
        """Return how many of the rows have each value, in the column's order, without None."""
        counts = np.bincount(self.codes[rows], minlength=len(self.values)).tolist()
        pairs = zip(self.values, counts, strict=True)
        return [(value, count) for value, count in pairs if count and value is not None]

    def where(self, accept: Callable[[Value], bool]) -> Mask:
        """Return a mask over the distinct values: those that are accepted."""
        return np.fromiter(map(accept, self.values), np.bool_, len(self.values))

    def among(self, values: Sequence[Value]) -> Mask:
        """Return a mask over the distinct values: those that are among the given ones."""
        mask = np.zeros(len(self.values), np.bool_)
        mask[[code for value in values if (code := self.index.get(value)) is not None]] = True
        return mask


class ListColumn(Column[tuple[str, ...]]):
    """One list of texts a row; the distinct lists share their distinct ``items``.

    ``flat`` holds the items of all distinct lists, one list after the other, as codes into
    ``items``; ``owner`` the list that each of them stands in.
    """

    def __init__(
        self,
        codes: Codes | Gathered,
        values: Sequence[tuple[str, ...]],
        items: Sequence[str],
        flat: Codes,
    ) -> None:
        super().__init__(codes, values)
        self.items = items
        self.flat = flat
        lengths = np.fromiter((len(value or ()) for value in values), np.int64, len(values))
        self.owner = np.repeat(np.arange(len(values), dtype=np.int32), lengths)

    def reordered(self, rows: Rows) -> "ListColumn":
        """Return the column with these rows, in their order."""
        return ListColumn(self.codes[rows], self.values, self.items, self.flat)

    def fingerprints_without(self, item: str) -> npt.NDArray[np.int64]:
        """Return a 64-bit hash of each distinct list, as if the item stood in none."""
        kept = (value and tuple(other for other in value if other != item) for value in self.values)
        return np.fromiter(map(hash, kept), np.int64, len(self.values))

    @cached_property
    def item_index(self) -> dict[str, int]:
        """The code of each distinct item."""
        return {item: code for code, item in enumerate(self.items)}

    def having(self, item: str) -> Mask:
        """Return a mask over the distinct lists: those that hold the item."""
        mask = np.zeros(len(self.values), np.bool_)
        if (code := self.item_index.get(item)) is not None:
            mask[self.owner[self.flat == code]] = True
        return mask

    def item_counts(self, rows: Rows | slice) -> list[tuple[str, int]]:
        """Return how many of the rows hold each item, in the order of ``items``."""
        per_list = np.bincount(self.codes[rows], minlength=len(self.values))
        counts = np.bincount(self.flat, per_list[self.owner], minlength=len(self.items))
        pairs = zip(self.items, counts.astype(np.int64).tolist(), strict=True)
        return [(item, count) for item, count in pairs if count]


class PlainColumn:
    """One text or None a row, mostly distinct ones, kept as Arrow keeps them."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self.is_known = array.null_count < len(array)

    def reordered(self, rows: Rows) -> "PlainColumn":
        """Return the column with these rows, in their order."""
        return PlainColumn(self.array.take(pa.array(rows)))

    @property
    def num_bytes(self) -> int:
        """How much memory the column takes."""
        return int(self.array.nbytes)

    def at(self, row: int) -> str | None:
        """Return the value of a row."""
        value: str | None = self.array[int(row)].as_py()
        return value

    def mapped_at(self, function: Callable[[str | None], Image], rows: Rows) -> list[Image]:
        """Return what a function makes of the value of each row."""
        if not self.is_known:
            return [function(None)] * len(rows)
        return list(map(function, self.array.take(pa.array(rows)).to_pylist()))


class NumberColumn:
    """One whole number a row, from 0; -1 stands for None.

    ``numbers`` may be gathered from what several frames share.
    """

    def __init__(
        self, numbers: npt.NDArray[np.int64] | Gathered, *, is_known: bool | None = None
    ) -> None:
        self._numbers = numbers
        self.is_known = bool((self.numbers >= 0).any()) if is_known is None else is_known

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The number of each row."""
        return whole(self._numbers)

    def reordered(self, rows: Rows) -> "NumberColumn":
        """Return the column with these rows, in their order."""
        return NumberColumn(self.numbers[rows])

    @property
    def sort_keys(self) -> npt.NDArray[Any]:
        """Numbers that stand to each other as the values of the rows do."""
        return self.numbers

    @property
    def num_bytes(self) -> int:
        """How much memory the column takes."""
        return self._numbers.nbytes

    def at(self, row: int) -> int | None:
        """Return the value of a row."""
        number = int(self._numbers[row])
        return None if number < 0 else number

    def mapped_at(self, function: Callable[[int | None], Image], rows: Rows) -> list[Image]:
        """Return what a function makes of the number of each row."""
        numbers = taken(self._numbers, rows).tolist()
        return [function(None if number < 0 else number) for number in numbers]

    def total(self, rows: Rows | slice = slice(None)) -> int | None:
        """Return the sum of the known numbers of the rows; None where none is known."""
        numbers = self.numbers[rows]
        known = numbers[numbers >= 0]
        return int(known.sum()) if len(known) else None


def rows_where(mask: Mask) -> Rows:
    """Return the places that a mask marks, rising."""
    return np.flatnonzero(mask).astype(np.int32)


def begins_of_runs(values: npt.NDArray[Any]) -> Mask:
    """Return where another value stands than before: each of sorted values once."""
    begins = np.ones(len(values), np.bool_)
    begins[1:] = values[1:] != values[:-1]
    return begins


def _size_of(value: object) -> int:
    """Return about how many bytes a distinct value takes, with its index entry and a text of it."""
    if isinstance(value, tuple):
        return 300 + sum(len(item) + 12 for item in value)
    return 300 + 2 * len(value) if isinstance(value, str) else 0

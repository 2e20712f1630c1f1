"""Columns of a frame: a list of distinct values, and a small code for each row.

A revision's 58,000 specs have few distinct compilers, targets, stack lists and variant lists, so
a condition is evaluated once for each distinct value, and numpy maps the results to the rows.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Codes, Mask, Numbers, Rows

Value = TypeVar("Value")
Image = TypeVar("Image")


class FactColumn(Protocol):
    """The interface that the columns of all kinds of facts implement."""

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the column and the data that queries derive, in bytes."""

    def at(self, row: int) -> Any:
        """Return the value of a row."""

    def mapped_at(self, function: Callable[[Any], Image], rows: Rows) -> list[Image]:
        """Apply a function to the value of each row."""

    def reordered(self, rows: Rows) -> "FactColumn":
        """Return the column with its rows in this order; ``rows`` is a permutation."""


class Column(Generic[Value]):
    """One value per row. ``values`` are distinct and in the column's order; None is first.

    ``codes`` has the code of each row's value, as the smallest sufficient signed integer type.
    Convert them to a larger type before multiplying.
    """

    def __init__(self, codes: Codes, values: Sequence[Value]) -> None:
        self.codes: Codes = codes.astype(np.min_scalar_type(-1 - len(values)), copy=False)
        self.values = values
        self._mapped: dict[Any, list[Any]] = {}

    def reordered(self, rows: Rows) -> "Column[Value]":
        """Return the column with these rows, in this order."""
        return Column(self.codes[rows], self.values)

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
        """Approximate memory used by the column, with one text per distinct value, in bytes."""
        return self.codes.nbytes + sum(map(_value_bytes, self.values))

    @cached_property
    def fingerprints(self) -> npt.NDArray[np.int64]:
        """A 64-bit hash of each distinct value, valid within this process only.

        Columns are compared by these hashes: of 60,000 values, two have the same hash by chance in
        about one of ten billion columns.
        """
        return np.fromiter(map(hash, self.values), np.int64, len(self.values))

    def row_hashes(self, rows: npt.NDArray[Any] | slice = slice(None)) -> npt.NDArray[np.uint64]:
        """Return the fingerprint of the value of each row."""
        return self.fingerprints[self.codes[rows]].astype(np.uint64)

    def known(self) -> Mask:
        """Return a mask of the distinct values except None."""
        return np.array([value is not None for value in self.values], np.bool_)

    def mapped(self, function: Callable[[Value], Image]) -> list[Image]:
        """Apply a function to each distinct value; the results are cached by function.

        Pass only module-level functions of cachelog, because the cache is never cleared.
        """
        if function not in self._mapped:
            self._mapped[function] = list(map(function, self.values))
        return self._mapped[function]

    def at(self, row: int) -> Value:
        """Return the value of a row."""
        return self.values[int(self.codes[row])]

    def values_at(self, rows: npt.NDArray[Any]) -> list[Value]:
        """Return the value of each row."""
        return list(map(self.values.__getitem__, self.codes[rows].tolist()))

    def mapped_at(self, function: Callable[[Value], Image], rows: Rows) -> list[Image]:
        """Apply a function to the value of each row; see ``mapped``."""
        return list(map(self.mapped(function).__getitem__, self.codes.take(rows).tolist()))

    def present(self, rows: Rows | slice) -> list[Value]:
        """Return the distinct values among the rows, in the column's order, without None."""
        return [
            value
            for code in np.unique(self.codes[rows]).tolist()
            if (value := self.values[code]) is not None
        ]

    def counts(self, rows: Rows | slice) -> list[tuple[Value, int]]:
        """Return the number of rows with each value, in the column's order, without None."""
        counts = np.bincount(self.codes[rows], minlength=len(self.values)).tolist()
        pairs = zip(self.values, counts, strict=True)
        return [(value, count) for value, count in pairs if count and value is not None]

    def where(self, accept: Callable[[Value], bool]) -> Mask:
        """Return a mask of the distinct values that ``accept`` accepts."""
        return np.fromiter(map(accept, self.values), np.bool_, len(self.values))

    def among(self, values: Sequence[Value]) -> Mask:
        """Return a mask of the distinct values that are in ``values``."""
        mask = np.zeros(len(self.values), np.bool_)
        mask[[code for value in values if (code := self.index.get(value)) is not None]] = True
        return mask


class ListColumn(Column[tuple[str, ...]]):
    """One list of texts per row; the distinct lists share their distinct ``items``.

    ``flat`` has the items of all distinct lists, concatenated, as codes into ``items``; ``owner``
    has the code of the list that each of them belongs to.
    """

    def __init__(
        self, codes: Codes, values: Sequence[tuple[str, ...]], items: Sequence[str], flat: Codes
    ) -> None:
        super().__init__(codes, values)
        self.items = items
        self.flat = flat
        lengths = np.fromiter((len(value or ()) for value in values), np.int64, len(values))
        self.owner = np.repeat(np.arange(len(values), dtype=np.int32), lengths)

    def reordered(self, rows: Rows) -> "ListColumn":
        """Return the column with these rows, in this order."""
        return ListColumn(self.codes[rows], self.values, self.items, self.flat)

    def fingerprints_without(self, item: str) -> npt.NDArray[np.int64]:
        """Return a 64-bit hash of each distinct list, computed without the item."""
        shortened = (
            value and tuple(other for other in value if other != item) for value in self.values
        )
        return np.fromiter(map(hash, shortened), np.int64, len(self.values))

    @cached_property
    def item_index(self) -> dict[str, int]:
        """The code of each distinct item."""
        return {item: code for code, item in enumerate(self.items)}

    def having(self, item: str) -> Mask:
        """Return a mask of the distinct lists that contain the item."""
        mask = np.zeros(len(self.values), np.bool_)
        if (code := self.item_index.get(item)) is not None:
            mask[self.owner[self.flat == code]] = True
        return mask

    def item_counts(self, rows: Rows | slice) -> list[tuple[str, int]]:
        """Return the number of rows that contain each item, in the order of ``items``."""
        per_list = np.bincount(self.codes[rows], minlength=len(self.values))
        pairs = zip(self.items, self.total_by_item(per_list).tolist(), strict=True)
        return [(item, count) for item, count in pairs if count]

    def total_by_item(self, of_lists: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return for each item the sum of ``of_lists`` over the distinct lists that contain it."""
        totals = np.zeros(len(self.items), np.int64)
        np.add.at(totals, self.flat, of_lists[self.owner])
        return totals

    def items_of(self, lists: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], Codes]:
        """Return for each item of some distinct lists the index into ``lists``, and its code."""
        lengths = np.bincount(self.owner, minlength=len(self.values))
        places = places_of_runs((np.cumsum(lengths) - lengths)[lists], lengths[lists])
        return np.repeat(np.arange(len(lists)), lengths[lists]), self.flat[places]


class PlainColumn:
    """One text or None per row, mostly distinct, stored as an Arrow array."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self.is_known = array.null_count < len(array)

    def reordered(self, rows: Rows) -> "PlainColumn":
        """Return the column with these rows, in this order."""
        return PlainColumn(self.array.take(pa.array(rows)))

    @property
    def num_bytes(self) -> int:
        """Memory used by the column, in bytes."""
        return int(self.array.nbytes)

    def at(self, row: int) -> str | None:
        """Return the value of a row."""
        value: str | None = self.array[int(row)].as_py()
        return value

    def mapped_at(self, function: Callable[[str | None], Image], rows: Rows) -> list[Image]:
        """Apply a function to the value of each row."""
        if not self.is_known:
            return [function(None)] * len(rows)
        return list(map(function, self.array.take(pa.array(rows)).to_pylist()))


class NumberColumn:
    """One non-negative integer per row; -1 represents None."""

    def __init__(self, numbers: npt.NDArray[np.int64]) -> None:
        self.numbers = numbers
        self.is_known = bool((numbers >= 0).any())

    def reordered(self, rows: Rows) -> "NumberColumn":
        """Return the column with these rows, in this order."""
        return NumberColumn(self.numbers[rows])

    @property
    def num_bytes(self) -> int:
        """Memory used by the column, in bytes."""
        return self.numbers.nbytes

    def at(self, row: int) -> int | None:
        """Return the value of a row."""
        number = int(self.numbers[row])
        return None if number < 0 else number

    def mapped_at(self, function: Callable[[int | None], Image], rows: Rows) -> list[Image]:
        """Apply a function to the number of each row."""
        numbers = self.numbers.take(rows).tolist()
        return [function(None if number < 0 else number) for number in numbers]

    def row_hashes(self) -> npt.NDArray[np.uint64]:
        """Return the number of each row as an unsigned integer."""
        return self.numbers.astype(np.uint64)

    def total(self, rows: Rows | slice = slice(None)) -> int | None:
        """Return the sum of the known numbers of the rows; None if no number is known."""
        numbers = self.numbers[rows]
        is_known = numbers >= 0
        return int(numbers[is_known].sum()) if is_known.any() else None

    def totals(self, rows: Rows | slice, starts: Rows) -> npt.NDArray[np.int64]:
        """Return the sums of the known numbers of runs of rows; -1 if none is known, 0 if no rows.

        ``starts`` are the indices into ``rows`` where the runs start, and the number of rows.
        """
        numbers = self.numbers[rows]
        filled = np.flatnonzero(np.diff(starts))
        sums = np.add.reduceat(np.maximum(numbers, 0), starts[filled])
        totals = np.zeros(len(starts) - 1, np.int64)
        totals[filled] = np.where(np.maximum.reduceat(numbers, starts[filled]) < 0, -1, sums)
        return totals


def differing(
    before: Column[Any],
    before_rows: npt.NDArray[Any],
    after: Column[Any],
    after_rows: npt.NDArray[Any],
    *,
    may_be_unknown: bool,
) -> Mask:
    """Return for which pairs of rows the values differ; None is unknown if it may be that.

    A value that is unknown on either side does not differ.
    """
    old, new = before.codes[before_rows], after.codes[after_rows]
    mask: Mask = before.fingerprints[old] != after.fingerprints[new]
    return mask & before.known()[old] & after.known()[new] if may_be_unknown else mask


class Arrays:
    """Base class of objects that consist of arrays and of other such objects."""

    __slots__ = ()

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by all parts, each counted once, in bytes."""
        return _num_bytes(self, set())


_ITEM_BYTES, _RECORD_BYTES = 80, 500
"""Average memory used by an object, and by a record with texts, in a list or a dictionary."""


def _num_bytes(value: Any, seen: set[int]) -> int:
    """Return the memory used by a value, without the parts that were seen before."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    parts: Iterable[Any] = ()
    match value:
        case Arrays():
            names = getattr(value, "__struct_fields__", ())
            parts = [getattr(value, name) for name in (*names, *getattr(value, "__dict__", ()))]
        case tuple() | [np.ndarray(), *_]:
            parts = value
        case [msgspec.Struct(), *_]:
            return _RECORD_BYTES * len(value)
        case list() | dict():
            return _ITEM_BYTES * len(value)
        case np.ndarray():
            return value.nbytes
        case _:
            return int(getattr(value, "num_bytes", 0))
    return sum(_num_bytes(part, seen) for part in parts)


def rows_where(mask: Mask) -> Rows:
    """Return the indices that a mask selects, in ascending order."""
    return np.flatnonzero(mask).astype(np.int32)


def begins_of_runs(values: npt.NDArray[Any]) -> Mask:
    """Return a mask that selects the first value of each run of equal values."""
    begins = np.ones(len(values), np.bool_)
    begins[1:] = values[1:] != values[:-1]
    return begins


def places_of_runs(
    starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the concatenated ranges of integers with these starts and lengths."""
    before = np.cumsum(counts) - counts
    places: npt.NDArray[np.int64] = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return places


_MIXER = np.uint64(0x9E3779B97F4A7C15)


def mixed(first: npt.NDArray[np.uint64], *others: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Combine several hashes to one; their order matters."""
    for other in others:
        first = first * _MIXER + other
    return first


def sorted_order(numbers: npt.NDArray[Any]) -> Numbers:
    """Return a stable order of integers, none of which is negative.

    Numbers are sorted together with their indices: several times as fast as ``np.argsort``.
    """
    if (numbers[1:] >= numbers[:-1]).all():
        return np.arange(len(numbers))
    num_bits = len(numbers).bit_length()
    keys = numbers.astype(np.uint64)
    # The first bits of hashes suffice: they nearly always differ if the hashes do.
    num_left_out = max(0, int(keys.max()).bit_length() + num_bits - 64)
    keys >>= np.uint64(num_left_out)
    keys <<= np.uint64(num_bits)
    keys |= np.arange(len(numbers), dtype=np.uint64)
    keys.sort()
    keys &= np.uint64((1 << num_bits) - 1)
    order = keys.view(np.int64)
    if num_left_out:
        ascending = numbers[order]
        if (ascending[1:] < ascending[:-1]).any():
            return np.argsort(numbers, kind="stable")
    return order


def distinct_codes(numbers: npt.NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Return the first index of each distinct integer, and the code of each number.

    Codes ascend with the numbers, none of which is negative.
    """
    order = sorted_order(numbers)
    begins = begins_of_runs(numbers[order])
    codes = np.empty(len(numbers), np.int64)
    codes[order] = np.cumsum(begins) - 1
    return order[begins], codes


def are_among(hashes: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64]) -> Mask:
    """Return which hashes are among the others, several times as fast as ``np.isin``."""
    ascending = np.sort(others[begins_of_runs(others)])
    if not len(ascending):
        return np.zeros(len(hashes), np.bool_)
    ascending = ascending[begins_of_runs(ascending)]
    places = np.searchsorted(ascending, hashes)
    mask: Mask = ascending[np.minimum(places, len(ascending) - 1)] == hashes
    return mask


def scattered(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return well-mixed hashes: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _value_bytes(value: object) -> int:
    """Return the approximate memory used by a value, its index entry and its text, in bytes."""
    if isinstance(value, tuple):
        return 300 + sum(len(item) + 12 for item in value)
    return 300 + 2 * len(value) if isinstance(value, str) else 0


# -- from Arrow


def column_of(array: pa.ChunkedArray, sort_key: Callable[[Any], Any]) -> Column[Any]:
    """Build a column from Arrow texts; ``sort_key`` determines the order of the distinct values.

    The texts may be dictionary-encoded, and the dictionary may have values that no row uses.
    """
    encoded = _without_unused(array.combine_chunks().dictionary_encode())
    values = encoded.dictionary.to_pylist()
    codes = np.asarray(encoded.indices.fill_null(len(values)), np.int32)
    order = sorted(range(len(values)), key=lambda code: sort_key(values[code]))
    if encoded.null_count:
        values.append(None)
        order.insert(0, len(values) - 1)
    return Column(_inverse(order)[codes], [values[code] for code in order])


def _without_unused(encoded: pa.DictionaryArray) -> pa.DictionaryArray:
    is_used = np.zeros(len(encoded.dictionary), np.bool_)
    is_used[np.asarray(encoded.indices.drop_null())] = True
    if is_used.all():
        return encoded
    numbers = pa.array(np.cumsum(is_used, dtype=np.int32) - 1)
    return pa.DictionaryArray.from_arrays(
        numbers.take(encoded.indices), encoded.dictionary.filter(pa.array(is_used))
    )


def number_column_of(array: pa.ChunkedArray) -> NumberColumn:
    """Build a column from Arrow integers."""
    return NumberColumn(np.asarray(array.fill_null(-1), np.int64))


def list_column_of(array: pa.ChunkedArray) -> ListColumn:
    """Build a list column from Arrow lists of texts; None is last."""
    lists = array.combine_chunks()
    encoded = lists.flatten().dictionary_encode()
    items = encoded.dictionary.to_pylist()
    order = sorted(range(len(items)), key=items.__getitem__)
    items = [items[code] for code in order]
    item_codes = _inverse(order)[np.asarray(encoded.indices, np.int32)]
    # Equal lists have equal bytes of item codes, and Arrow's dictionary encoding finds equal bytes.
    lengths = np.asarray(pc.list_value_length(lists).fill_null(0))
    offsets = np.concatenate(([0], np.cumsum(lengths * item_codes.itemsize))).astype(np.int32)
    is_known = np.packbits(np.asarray(lists.is_valid()), bitorder="little")
    distinct = pa.Array.from_buffers(
        pa.binary(),
        len(lists),
        [pa.py_buffer(is_known), pa.py_buffer(offsets), pa.py_buffer(item_codes)],
    ).dictionary_encode()
    keys = distinct.dictionary.to_pylist()
    codes = np.asarray(distinct.indices.fill_null(len(keys)), np.int32)
    flat = np.frombuffer(b"".join(keys), np.int32)
    values: list[Any] = [
        tuple(map(items.__getitem__, np.frombuffer(key, np.int32).tolist())) for key in keys
    ]
    if lists.null_count:
        values.append(None)
    return ListColumn(codes, values, items, flat)


def _inverse(order: Sequence[int]) -> Codes:
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse

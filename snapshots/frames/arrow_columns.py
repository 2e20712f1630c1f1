"""How columns are built from what Arrow read."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.facts import Fact, Kept
from snapshots.frames.columns import (
    Codes,
    Column,
    FactColumn,
    ListColumn,
    NumberColumn,
    PlainColumn,
)
from snapshots.frames.hashes import WIDTH, Hashes, Words


def fact_column(fact: Fact, values: pa.ChunkedArray) -> FactColumn:
    """Return the values of a fact as a frame keeps them."""
    if fact.kept is Kept.KEY:
        return Hashes(words_of(values))
    if fact.kept is Kept.PLAIN:
        is_number = fact.value_type is int
        return number_column_of(values) if is_number else PlainColumn(values.combine_chunks())
    is_list = fact.value_type == tuple[str, ...]
    if len(values) and values.null_count == len(values):  # as many facts of older sources are
        codes = np.zeros(len(values), np.int32)
        unknown: list[Any] = [None]
        return ListColumn(codes, unknown, [], codes[:0]) if is_list else Column(codes, unknown)
    return list_column_of(values) if is_list else column_of(values, fact.sort_key)


def column_of(array: pa.ChunkedArray, sort_key: Callable[[Any], Any]) -> Column[Any]:
    """Build a column from Arrow texts; ``sort_key`` gives the order of the distinct values.

    The texts may be codes already, into a dictionary that has more than stands in the rows.
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


def words_of(hashes: pa.ChunkedArray) -> Words:
    """Return Arrow texts of 32 characters as numbers, four for each of them."""
    whole = hashes.combine_chunks().cast(pa.binary()).cast(pa.binary(WIDTH))
    if not len(whole):
        return np.empty(0, np.uint64)
    size = WIDTH // 8
    _, data = whole.buffers()
    return np.frombuffer(data, np.uint64)[whole.offset * size :][: len(whole) * size]


def number_column_of(array: pa.ChunkedArray) -> NumberColumn:
    """Build a column from Arrow integers."""
    return NumberColumn(np.asarray(array.fill_null(-1), np.int64))


def list_column_of(array: pa.ChunkedArray) -> ListColumn:
    """Build a list column from Arrow lists of texts; None stands behind all lists."""
    lists = array.combine_chunks()
    encoded = lists.flatten().dictionary_encode()
    items = encoded.dictionary.to_pylist()
    order = sorted(range(len(items)), key=items.__getitem__)
    items = [items[code] for code in order]
    item_codes = _inverse(order)[np.asarray(encoded.indices, np.int32)]
    # Equal lists have equal bytes of item codes, and Arrow finds equal bytes.
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

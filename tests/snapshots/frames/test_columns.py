"""Columns: what goes in comes out, and what codes say is true of the values."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.columns import (
    Column,
    ListColumn,
    NumberColumn,
    Rows,
    column_of,
    list_column_of,
)

WORDS = ("gcc", "clang", "oneapi", "é", "")
TEXTS = st.lists(st.none() | st.sampled_from(WORDS), max_size=12)
LISTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(tuple), max_size=12)
UNKNOWN_LISTS = st.lists(
    st.none() | st.lists(st.sampled_from(WORDS), max_size=2).map(tuple), max_size=20
)
NUMBERS = st.lists(st.none() | st.integers(0, 1 << 40), max_size=12)


def chunked(values: list[str | None], kind: pa.DataType) -> pa.ChunkedArray:
    """Return the values in one chunk or two, each cut out of a longer one, as a store may."""
    filler = [None] if kind == pa.string() else [["filler"]]
    half = len(values) // 2 if len(values) % 3 else 0
    chunks = [
        pa.array([*filler, *part, *filler], kind).slice(1, len(part))
        for part in (values[:half], values[half:])
        if part
    ]
    return pa.chunked_array(chunks, kind)


def texts_column(values: list[str | None]) -> Column[str | None]:
    """Return a column of texts in the order of their lengths, then of their characters."""
    return column_of(chunked(values, pa.string()), lambda text: (len(text), text))


def lists_column(values: Sequence[tuple[str, ...] | None]) -> ListColumn:
    """Return a column of lists."""
    return list_column_of(chunked(values, pa.list_(pa.string())))  # type: ignore[arg-type]


def some_rows(number: int) -> Rows:
    """Return every other row, from the last on."""
    return np.arange(number, dtype=np.int32)[::-2]


@given(TEXTS)
def test_texts(values: list[str | None]) -> None:
    """Each row has its value and JSON text; distinct values are sorted, None first, and counted."""
    column = texts_column(values)
    assert [column.at(row) for row in range(len(values))] == values
    distinct = sorted(set(values) - {None}, key=lambda text: (len(text or ""), text))
    assert list(column.values) == [None] * (None in values) + distinct
    rows = some_rows(len(values))
    assert column.mapped_at(orjson.dumps, rows) == [orjson.dumps(values[row]) for row in rows]
    counts = Counter(values[row] for row in rows)
    del counts[None]
    assert column.counts(rows) == [(it, counts[it]) for it in column.values if it in counts]
    assert column.present(rows) == [it for it in column.values if it in counts]
    assert column.counts(slice(1, 3)) == column.counts(np.arange(len(values), dtype=np.int32)[1:3])


@given(LISTS | UNKNOWN_LISTS)
def test_lists(values: list[tuple[str, ...] | None]) -> None:
    """Each row has its list in its own order; what is not known is None, and holds nothing."""
    column = lists_column(values)
    assert [column.at(row) for row in range(len(values))] == values
    assert len(set(column.values)) == len(column.values)
    assert list(column.items) == sorted({item for value in values for item in value or ()})
    rows = some_rows(len(values))
    assert column.mapped_at(orjson.dumps, rows) == [orjson.dumps(values[row]) for row in rows]
    assert column.known()[column.codes].tolist() == [value is not None for value in values]
    for word in (*WORDS, "nobody"):
        assert column.having(word)[column.codes].tolist() == [word in (it or ()) for it in values]
    assert dict(column.counts(slice(None))) == Counter(it for it in values if it is not None)


@given(LISTS)
def test_fingerprints_without_an_item(values: list[tuple[str, ...]]) -> None:
    """Two lists have one fingerprint where they are equal but for the item."""
    column = lists_column(values)
    without = column.fingerprints_without("gcc")[column.codes]
    kept = [tuple(item for item in value if item != "gcc") for value in values]
    for row, value in enumerate(kept):
        assert (without == without[row]).tolist() == [other == value for other in kept]


@given(NUMBERS)
def test_numbers(values: list[int | None]) -> None:
    """Numbers come back; the sum is of those that are known, None where none is."""
    column = NumberColumn(np.array([-1 if it is None else it for it in values], np.int64))
    assert [column.at(row) for row in range(len(values))] == values
    rows = some_rows(len(values))
    assert column.mapped_at(orjson.dumps, rows) == [orjson.dumps(values[row]) for row in rows]
    known = [number for row in rows if (number := values[row]) is not None]
    assert column.total(rows) == (sum(known) if known else None)
    assert column.total() == column.total(np.arange(len(values), dtype=np.int32))


@pytest.mark.parametrize("values", [[], [()], [(), ("a",)]])
def test_memory_is_counted(values: list[tuple[str, ...]]) -> None:
    """The memory that a column takes grows with its rows and its distinct values."""
    column = lists_column(values)
    assert lists_column([*values, ("another", "list")]).num_bytes > column.num_bytes
    assert lists_column(values * 9).num_bytes == column.num_bytes + 8 * 4 * len(values)

"""Columns: what goes in comes out, and what codes say is true of the values."""

import tracemalloc
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames import columns
from snapshots.frames.columns import (
    Column,
    Combinations,
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


# -- columns side by side


NAMES = ("letter", "digit", "sign")


def columns_of(rows: list[tuple[str, str, str]]) -> dict[str, Column[str]]:
    """Return a column for each part of the rows."""
    found = {}
    for name, values in zip(NAMES, zip(*rows, strict=True), strict=True):
        distinct = sorted(set(values))
        codes = np.array([distinct.index(value) for value in values], np.int32)
        found[name] = Column(codes, distinct)
    return found


ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("0123"), st.sampled_from("+-")), min_size=1
)


@given(ROWS, st.permutations(NAMES), st.integers(1, 3))
def test_a_row_has_its_combination(
    rows: list[tuple[str, str, str]], order: list[str], size: int
) -> None:
    """Each row leads to its own values; no combination is there twice, or without a row."""
    names = order[:size]
    combination = Combinations(columns_of(rows), len(rows)).of(names)
    assert combination is not None
    values = [
        tuple(column.values[int(code)] for column, code in zip(columns, codes, strict=True))
        for columns, codes in [
            (
                [combination.parts[name][0] for name in names],
                [combination.parts[name][1][place] for name in names],
            )
            for place in range(len(combination.parts[names[0]][1]))
        ]
    ]
    expected = [tuple(row[NAMES.index(name)] for name in names) for row in rows]
    assert [values[code] for code in combination.codes.tolist()] == expected
    assert len(set(values)) == len(values) == len(set(expected))


def test_columns_with_too_many_values_are_not_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one alone, and not two that have too many columns; nor what is no such column."""
    rows = [(letter, digit, "+") for letter in "abc" for digit in "0123"]
    every = Combinations(columns_of(rows), len(rows))
    monkeypatch.setattr(columns, "MAX_COMBINATIONS", 3)
    assert every.of(["letter", "sign"]) is not None
    assert every.of(["digit"]) is None
    assert every.of(["letter", "digit"]) is None
    assert every.of(["letter", "hashes"]) is None


def test_what_is_kept_is_bounded_by_bytes() -> None:
    """Whatever is combined, however often: memory stays within what is counted."""
    num_rows = 20_000
    draw = np.random.default_rng(1)
    columns = {
        f"c{number}": Column(draw.integers(0, 3, num_rows).astype(np.int32), ["a", "b", "c"])
        for number in range(9)
    }
    every = Combinations(columns, num_rows)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for order in list(permutations(columns, 4))[::30]:
            every.of(order)
            every.kept((order, order), lambda order=order: [f"{order}{n}" for n in range(81)])  # type: ignore[misc]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert every.max_bytes / 2 < after - before < every.max_bytes * 1.1
    assert every.of(["c0"]) is not None


def test_what_is_larger_than_all_that_may_be_kept_is_made_anew() -> None:
    """It is answered all the same."""
    every = Combinations({}, 0)
    made = [every.kept((("a",), ("b",)), lambda: ["x" * 1_000_000]) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0] is not made[1]

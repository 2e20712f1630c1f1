"""Columns: codes, fingerprints and sizes of lists."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.columns import ListColumn, list_column_of

WORDS = ("gcc", "clang", "oneapi", "é", "")
LISTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(tuple), max_size=12)


def chunked(values: list[str | None], kind: pa.DataType) -> pa.ChunkedArray:
    """Return the values in one chunk or two, each a slice of a longer one, as a store may do."""
    filler = [None] if kind == pa.string() else [["filler"]]
    half = len(values) // 2 if len(values) % 3 else 0
    chunks = [
        pa.array([*filler, *part, *filler], kind).slice(1, len(part))
        for part in (values[:half], values[half:])
        if part
    ]
    return pa.chunked_array(chunks, kind)


def lists_column(values: Sequence[tuple[str, ...] | None]) -> ListColumn:
    """Return a column of lists."""
    return list_column_of(chunked(values, pa.list_(pa.string())))  # type: ignore[arg-type]


@given(LISTS)
def test_fingerprints_without_an_item(values: list[tuple[str, ...]]) -> None:
    """Two lists have equal fingerprints if they are equal without the item."""
    column = lists_column(values)
    without = column.fingerprints_without("gcc")[column.codes]
    rest = [tuple(item for item in value if item != "gcc") for value in values]
    for row, value in enumerate(rest):
        assert (without == without[row]).tolist() == [other == value for other in rest]


@pytest.mark.parametrize("values", [[], [()], [(), ("a",)]])
def test_size_of_a_column(values: list[tuple[str, ...]]) -> None:
    """A column takes memory for its distinct values, and eight bytes per row for few of them."""
    column = lists_column(values)
    assert lists_column([*values, ("another", "list")]).num_bytes > column.num_bytes
    assert lists_column(values * 9).num_bytes == column.num_bytes + 8 * len(values)

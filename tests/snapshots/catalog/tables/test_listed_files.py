"""Rows that other tools wrote are given cachelog's own types."""

import pyarrow as pa
import pytest

from snapshots.catalog.delta import of_schema, sizes_of, with_plain_texts

SCHEMA = pa.schema([("name", pa.string()), ("count", pa.int64())])
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]


def rows(text_type: pa.DataType) -> pa.Table:
    """Return two rows, with a column that is not of the schema before the others."""
    return pa.table(
        {
            "more": pa.array([1.5, None]),
            "count": pa.array([1, 2], pa.int64()),
            "name": pa.array(["zlib", None], text_type),
        }
    )


@pytest.mark.parametrize("text_type", TEXT_TYPES)
def test_columns_of_a_schema(text_type: pa.DataType) -> None:
    """They are in its order and of its types; what else is there is left out."""
    found = of_schema("a.parquet", rows(text_type), SCHEMA)
    assert found.schema == SCHEMA
    assert found.to_pylist() == [{"name": "zlib", "count": 1}, {"name": None, "count": 2}]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (rows(pa.string()).drop_columns(["count"]), "^a.parquet has no column count$"),
        (
            rows(pa.string()).set_column(1, "count", pa.array(["1", "many"])),
            "^a.parquet has a column of another type .*many",
        ),
        (
            rows(pa.string()).set_column(1, "count", pa.array([{"a": 1}, {"a": 2}])),
            "^a.parquet has a column of another type .*struct",
        ),
    ],
)
def test_columns_that_are_not_of_the_schema(found: pa.Table, reason: str) -> None:
    """The file is named, and what is the matter with it."""
    with pytest.raises(pa.ArrowInvalid, match=reason):
        of_schema("a.parquet", found, SCHEMA)


@pytest.mark.parametrize("text_type", TEXT_TYPES)
def test_texts_of_any_columns(text_type: pa.DataType) -> None:
    """Only the type of texts is another one; every column stays."""
    found = with_plain_texts(rows(text_type))
    assert found.schema == rows(pa.string()).schema
    assert found.to_pylist() == rows(pa.string()).to_pylist()


def test_sizes_by_path() -> None:
    """Each file has its size; no file, no size."""
    files = pa.table({"path": ["a", "b"], "size": [3, 5], "added_at": [0.0, 1.0]})
    assert sizes_of(files) == {"a": 3, "b": 5}
    assert sizes_of(files.slice(0, 0)) == {}

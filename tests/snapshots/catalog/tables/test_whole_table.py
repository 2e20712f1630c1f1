"""A cached table without its large columns: the parts of files that are read, and when."""

from pathlib import Path

import pyarrow as pa
import pytest

from snapshots.catalog import parquet, whole_table
from snapshots.catalog.storage import Storage
from snapshots.catalog.whole_table import WholeTable
from snapshots.errors import CatalogError
from tests.snapshots.removal_catalogs import flip

SCHEMA = pa.schema({"key": pa.string(), "large": pa.list_(pa.int64()), "value": pa.int64()})

Table = WholeTable[dict[str, int]]


@pytest.fixture(autouse=True)
def _tails_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "LEAST_SPARED", 5)  # behind "PAR1"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of subsequent reads: 'tail' or 'whole' for each file."""
    reads: list[str] = []
    reading = Storage.read

    def recording(self: Storage, path: str, size: int | None = None, start: int = 0) -> pa.Buffer:
        if path.endswith(".parquet"):
            reads.append("tail" if start else "whole")
        return reading(self, path, size, start)

    monkeypatch.setattr(Storage, "read", recording)
    return reads


def opened(storage: Storage, *on_demand: str) -> Table:
    """Return the table as another process opens it."""

    def decode(rows: pa.Table) -> dict[str, int]:
        assert rows.column_names == ["key", "value"]
        return dict(zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True))

    return WholeTable(
        storage,
        "things",
        SCHEMA,
        decode,
        required=SCHEMA.names,
        columns=["key", "value"],
        on_demand=on_demand,
        advice="make it again",
    )


def add(table: Table, key: str) -> None:
    """Add a row."""
    row = {"key": key, "large": [*range(ord(key))], "value": ord(key)}
    table.append(pa.Table.from_pylist([row], schema=SCHEMA))


def large_of(table: Table, key: str) -> list[list[list[int]]]:
    """Return the values of the large column in the files that have a key."""
    return [rows["large"].to_pylist() for rows in table.select(["large"], lambda rows: key in rows)]


def the_file(storage: Storage) -> Path:
    """Return the only file of the table."""
    (file,) = Path(storage.location.uri("things")).glob("*.parquet")
    return file


def test_large_columns_are_read_on_demand(
    storage: Storage, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh reads the tails of files, or entire files that were written without tails."""
    monkeypatch.setattr(whole_table, "_READ_AT_ONCE", 1)  # one file after the other
    add(opened(storage), "a")
    add(opened(storage, "large"), "b")
    table = opened(storage, "large")
    read.clear()
    assert table.refresh()
    assert sorted(read) == ["tail", "whole"]
    assert {**table.rows[0], **table.rows[1]} == {"a": 97, "b": 98}
    read.clear()
    assert large_of(table, "b") == [[[*range(98)]]]
    assert read == ["whole"]


def test_optional_columns_are_null(storage: Storage) -> None:
    """They are null in older files; other columns must exist."""
    add(opened(storage), "a")
    schema = SCHEMA.append(pa.field("later", pa.string()))

    def extended(*required: str) -> Table:
        return WholeTable(storage, "things", schema, lambda _: {}, required=required)

    table = extended(*SCHEMA.names)
    table.refresh()
    (rows,) = table.select(["later", "value"], lambda _: True)
    assert rows.to_pydict() == {"later": [None], "value": [97]}
    assert rows.schema.field("later").type == pa.string()
    with pytest.raises(CatalogError, match="has no column later"):
        extended(*schema.names).refresh()
    table.append(rows.set_column(0, "later", [["b"]]))
    files = table.select(["later"], lambda _: True)
    assert sorted(str(rows["later"][0]) for rows in files) == ["None", "b"]


def test_merge_of_files_with_and_without_tails(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of their columns can differ; the merged file has a tail."""
    monkeypatch.setattr(whole_table, "_MAX_FILES", 2)
    add(opened(storage), "a")
    table = opened(storage, "large")
    add(table, "b")
    table.compact()
    fresh = opened(storage, "large")
    fresh.refresh()
    assert fresh.rows == [{"a": 97, "b": 98}]
    ((first, second),) = large_of(fresh, "a")
    assert {len(first), len(second)} == {97, 98}


def test_large_files_are_not_merged(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge combines small files, if there are many, and no more than make a large one."""
    monkeypatch.setattr(whole_table, "_MAX_FILES", 3)
    table = opened(storage)
    add(table, "z")
    large = the_file(storage)
    monkeypatch.setattr(whole_table, "_LARGE", large.stat().st_size)
    for key in "abcd":
        add(table, key)
        table.compact()
    left = {file.path for file in table.table.files()}
    assert large.name in left
    assert len(left) < 5
    assert {key: value for rows in table.rows for key, value in rows.items()} == {
        key: ord(key) for key in "abcdz"
    }


def test_damage_before_and_in_the_tail(storage: Storage) -> None:
    """It is reported by the first read of the damaged bytes; the error names the file."""
    add(opened(storage, "large"), "a")
    table, reason = opened(storage, "large"), f"{the_file(storage).name} .*make it again"
    flip(the_file(storage), 10)
    table.refresh()
    assert table.rows == [{"a": 97}]
    with pytest.raises(CatalogError, match=reason):
        large_of(table, "a")
    flip(the_file(storage), -20)
    with pytest.raises(CatalogError, match=reason):
        opened(storage, "large").refresh()


@pytest.mark.parametrize("start", ["0", "99999999"])
def test_invalid_position_of_a_tail(storage: Storage, start: str) -> None:
    """The entire file is read: another tool may have named it."""
    add(opened(storage, "large"), "a")
    file = the_file(storage)
    name, _, rest = file.name.partition("-tail-")
    named = file.with_name(f"{name}-tail-{start}-{rest.partition('-')[2]}")
    file.rename(named)
    for commit in (file.parent / "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace(file.name, named.name))
    table = opened(storage, "large")
    table.refresh()
    assert table.rows == [{"a": 97}]

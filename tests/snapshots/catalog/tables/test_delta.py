"""A Delta table with several concurrent writers."""

import os
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from snapshots.catalog import delta, parquet
from snapshots.catalog.delta import CatalogTable, TableFile, files_to_merge
from snapshots.catalog.storage import Storage

SCHEMA = pa.schema({"key": pa.string(), "value": pa.int64()})


def table(storage: Storage, partition: str | None = None) -> CatalogTable:
    """Return the table as another importer opens it."""
    return CatalogTable(storage, "things", SCHEMA, partition)


def add(to: CatalogTable, value: int) -> None:
    """Append one row."""
    to.append(pa.table({"key": ["a"], "value": [value]}, schema=SCHEMA))


def values(storage: Storage) -> list[int]:
    """Return the values that another program reads."""
    read = DeltaTable(storage.location.uri("things")).to_pyarrow_table()
    return sorted(read["value"].to_pylist())


def test_concurrent_creation(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second importer uses the table that the first one creates meanwhile."""
    create = DeltaTable.create

    def create_late(*arguments: Any, **named: Any) -> DeltaTable:
        monkeypatch.undo()
        table(storage).prepare()
        return create(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create", create_late)
    second = table(storage)
    second.prepare()
    add(second, 1)
    assert values(storage) == [1]


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([1] * 7, []),
        ([1] * 8, [1] * 8),
        ([20, *[1] * 7], [1] * 7),
        ([14, *[1] * 7], [14, *[1] * 7]),
        ([2200, 730, 243, 81, 27, 3, 3, 3], [3, 3, 3]),
        ([2200, 730, 243, 81, 27, 9, 3, 1], []),
    ],
)
def test_files_to_merge(sizes: list[int], merged: list[int]) -> None:
    """Those with at most twice the rows of all smaller ones, once there are eight."""
    files = [TableFile(str(place), 1, num_rows=size) for place, size in enumerate(sizes)]
    assert [file.num_rows for file in files_to_merge(files)] == merged


def test_merged_rows_are_sorted(storage: Storage) -> None:
    """They are those of the merged files, in one file."""
    things = CatalogTable(storage, "things", SCHEMA, sorted_by=["key"])
    for number in range(8):
        keys = [f"{(number * 5 + place) % 8}" for place in range(3)]
        things.append(pa.table({"key": keys, "value": [number] * 3}, schema=SCHEMA))
    expected = sorted(things.read().to_pylist(), key=str)
    things.merge()
    (uri,) = DeltaTable(storage.location.uri("things")).file_uris()
    rows = pq.read_table(uri)
    assert rows["key"].to_pylist() == sorted(rows["key"].to_pylist())
    assert sorted(things.read().to_pylist(), key=str) == expected
    assert len(things.select(["value"], "key = '3'")) == 3


def test_merge_during_a_commit_of_others(storage: Storage) -> None:
    """It leaves their rows untouched; the file that it wrote in vain is listed nowhere."""
    things, other = table(storage), table(storage)
    for number in range(8):
        add(things, number)
    read = parquet.from_parquet

    def read_late(*arguments: Any, **named: Any) -> pa.Table:
        if len(values(storage)) == 8:
            other.append(pa.table({"key": ["b"], "value": [8]}, schema=SCHEMA))
        return read(*arguments, **named)

    with mock.patch.object(delta, "from_parquet", read_late):
        things.merge()
    assert values(storage) == [*range(9)]
    listed = {uri.rpartition("/")[2] for uri in table(storage).current().file_uris()}
    assert len(listed) == 9
    assert listed < {*storage.data_files("things")}


def test_failed_sync_is_repeated(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that a failing sync did not reach are synced by the next commit, or nothing is."""
    things = table(storage)
    things.prepare()
    add(things, 1)
    real, synced = os.fsync, list[str]()
    failures = [OSError(5, "Input/output error")]

    def fsync(descriptor: int) -> None:
        if failures:
            raise failures.pop()
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="Input/output error"):
        add(things, 2)
    assert values(storage) == [1]
    add(things, 3)
    assert values(storage) == [1, 3]
    existing = {storage.location.uri(f"things/{path}") for path in storage.data_files("things")}
    assert len(existing - {*synced}) == 1, "only the first file was synced before"

"""A Delta table with several concurrent writers."""

from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog import delta
from snapshots.catalog.delta import CatalogTable, TableLog, add_action, query_table
from snapshots.catalog.parquet import named_by_bytes, to_parquet
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError
from snapshots.tables import StoredFile

SCHEMA = pa.schema({"key": pa.string(), "value": pa.int64()})


def table(storage: Storage, partition: str | None = None) -> CatalogTable:
    """Return the table as another importer opens it."""
    return CatalogTable(storage, "things", SCHEMA, partition)


def add(storage: Storage, to: CatalogTable, value: int) -> StoredFile:
    """Write a file of one row, and commit it."""
    data = to_parquet(pa.table({"key": ["a"], "value": [value]}, schema=SCHEMA))
    file = named_by_bytes("", data)
    storage.write(f"things/{file.path}", data)
    to.commit([add_action(file, 1, {})])
    return file


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
    add(storage, second, 1)
    assert values(storage) == [1]


def test_failed_creation(storage: Storage) -> None:
    """The error names the log, with the reason of the store."""
    failing = mock.patch.object(DeltaTable, "create", side_effect=DeltaError("no room is left"))
    with failing, pytest.raises(CatalogError, match="things/_delta_log: no room is left"):
        table(storage).prepare()


def test_failed_commit(storage: Storage) -> None:
    """The error names the log, and earlier rows remain."""
    things = table(storage)
    things.prepare()
    add(storage, things, 1)
    error = OSError(28, "No space left on device", "things/_delta_log/2.json")
    with (
        mock.patch.object(DeltaTable, "create_write_transaction", side_effect=error),
        pytest.raises(CatalogError, match=r"things/_delta_log: .*No space left"),
    ):
        add(storage, things, 2)
    assert values(storage) == [1]
    add(storage, things, 3)
    assert values(storage) == [1, 3]


def test_commit_after_others_removed_earlier_ones(storage: Storage) -> None:
    """The commit succeeds, even if the table cannot be opened again after it."""
    things = table(storage)
    things.prepare()
    add(storage, things, 1)
    error = DeltaError("Kernel error: File not found: 00000000000000000006.json")
    with mock.patch.object(delta, "query_table", side_effect=error):
        add(storage, things, 2)
    add(storage, things, 3)
    assert len(things.files()) == 3
    assert values(storage) == [1, 2, 3]
    assert things.mark() == table(storage).mark()


def test_files_that_are_removed_while_a_log_is_read(storage: Storage) -> None:
    """The log is listed again; a commit that does not exist has no mark."""
    things = table(storage)
    things.prepare()
    add(storage, things, 1)
    log = TableLog(storage, "things")
    assert log.mark(99) is None
    expected, sizes = log.files(), storage.sizes("things/_delta_log")
    results = [*[FileNotFoundError] * 4, sizes]
    with mock.patch.object(storage, "sizes", side_effect=results):
        assert log.files() == expected


def test_commits_that_are_removed_while_a_table_is_opened(storage: Storage) -> None:
    """The table is opened again, some times; other errors, and a missing table, are raised."""
    uri = storage.location.uri("things")
    table(storage).prepare()
    problems = [DeltaError("File not found"), DeltaError("File not found")]

    def version(opened: DeltaTable) -> int:
        if problems:
            raise problems.pop()
        return opened.version()

    assert query_table(uri, version) == 0
    assert not problems
    problems = [DeltaError("broken")] * 20
    with pytest.raises(DeltaError, match="broken"):
        query_table(uri, version)
    assert 10 < len(problems) < 19
    with pytest.raises(TableNotFoundError):
        query_table(storage.location.uri("nothing"), version)

"""A Delta table with several concurrent writers."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog.delta import CatalogTable, TableLog, add_action, ask_anew
from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import named_by_bytes, to_parquet
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError
from snapshots.tables import StoredFile

SCHEMA = pa.schema({"key": pa.string(), "value": pa.int64()})


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return the storage of a folder."""
    return Storage(parse_location(str(tmp_path)))


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
    """Return the rows as another program reads them."""
    read = DeltaTable(storage.location.uri("things")).to_pyarrow_table()
    return sorted(read["value"].to_pylist())


@pytest.mark.parametrize("partition", [None, "key"])
def test_a_table_of_nothing(storage: Storage, partition: str | None) -> None:
    """It has no files."""
    made = table(storage, partition)
    made.prepare()
    made.prepare()
    assert made.files() == []


def test_another_importer_makes_the_table_first(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second finds it made, and goes on with it."""
    create = DeltaTable.create

    def be_slow(*arguments: Any, **named: Any) -> DeltaTable:
        monkeypatch.undo()
        table(storage).prepare()
        return create(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create", be_slow)
    second = table(storage)
    second.prepare()
    add(storage, second, 1)
    assert values(storage) == [1]


def test_a_table_that_cannot_be_made(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names its log, with the store's reason."""

    def fail(*_: Any, **__: Any) -> DeltaTable:
        raise DeltaError("no room is left")

    monkeypatch.setattr(DeltaTable, "create", fail)
    with pytest.raises(CatalogError, match="things/_delta_log: no room is left"):
        table(storage).prepare()


def test_a_commit_that_fails(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the log, and what stood there stands."""
    made = table(storage)
    made.prepare()
    add(storage, made, 1)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", "things/_delta_log/2.json")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", fail)
        with pytest.raises(CatalogError, match=r"things/_delta_log: .*No space left"):
            add(storage, made, 2)
    assert values(storage) == [1]
    add(storage, made, 3)
    assert values(storage) == [1, 3]


def test_a_commit_that_others_have_left_far_behind(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands, though what was committed since can no longer be followed step by step."""
    made = table(storage)
    made.prepare()
    add(storage, made, 1)

    def failing(_: DeltaTable) -> None:
        raise DeltaError("Kernel error: File not found: 00000000000000000006.json")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "update_incremental", failing)
        add(storage, made, 2)
    add(storage, made, 3)
    assert len(made.files()) == 3
    assert values(storage) == [1, 2, 3]
    assert made.mark() == table(storage).mark()


def test_a_log_that_others_tidy(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes while it is read is looked for again; what is not there has no mark."""
    things = table(storage)
    things.prepare()
    add(storage, things, 1)
    log = TableLog(storage, "things")
    assert log.mark(99) is None
    expected = log.files()
    attempts = iter([FileNotFoundError] * 4)

    def sizes(folder: str) -> dict[str, int]:
        for error in attempts:
            raise error
        return Storage.sizes(storage, folder)

    monkeypatch.setattr(storage, "sizes", sizes)
    assert log.files() == expected


def test_a_commit_that_was_removed_while_the_log_was_read(storage: Storage) -> None:
    """The table is opened again, some times: damage stays damage, and what is missing does too."""
    uri = storage.location.uri("things")
    table(storage).prepare()
    problems = [DeltaError("File not found"), DeltaError("File not found")]

    def version(opened: DeltaTable) -> int:
        if problems:
            raise problems.pop()
        return opened.version()

    assert ask_anew(uri, version) == 0
    assert not problems
    problems = [DeltaError("broken")] * 20
    with pytest.raises(DeltaError, match="broken"):
        ask_anew(uri, version)
    assert 10 < len(problems) < 19
    with pytest.raises(TableNotFoundError):
        ask_anew(storage.location.uri("nothing"), version)

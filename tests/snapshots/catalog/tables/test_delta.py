"""A table of the store that several importers write to."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from snapshots.catalog.delta import CatalogTable, TableFile, TableLog, add_action
from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import named_by_bytes, to_parquet
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError
from snapshots.tables import StoredFile

SCHEMA = pa.schema({"key": pa.string(), "value": pa.int64()})


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return the files below a folder."""
    return Storage(parse_location(str(tmp_path)))


def table(storage: Storage, partition: str = "") -> CatalogTable:
    """Return a table as one more importer opens it."""
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


@pytest.mark.parametrize("partition", ["", "key"])
def test_a_table_of_nothing(storage: Storage, partition: str) -> None:
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


def test_merging_files(storage: Storage) -> None:
    """One stands in the place of all; a merge that comes too late returns False."""
    slow, quick = table(storage), table(storage)
    slow.prepare()
    added = [add(storage, slow, number) for number in (1, 2)]
    merging = [TableFile(file.path, file.size) for file in added]
    data = to_parquet(pa.table({"key": ["a", "a"], "value": [1, 2]}, schema=SCHEMA))
    merged = named_by_bytes("merged-", data)
    storage.write(f"things/{merged.path}", data)
    action = add_action(merged, 2, {}, is_new=False)
    add(storage, quick, 3)

    assert slow.merge(merging, [action]) is False
    assert values(storage) == [1, 2, 3]
    slow.current()
    assert slow.merge(merging, [action]) is True
    assert values(storage) == [1, 2, 3]
    gone = {file.path for file in merging}
    left = {file.path for file in quick.files()} - gone
    assert {file.path for file in slow.files()} == {merged.path, *left}


def test_the_mark_of_a_state(storage: Storage) -> None:
    """Importers agree on it; each commit makes another one."""
    made = table(storage)
    made.prepare()
    marks = {made.mark()}
    for number in range(3):
        add(storage, made, number)
        marks.add(made.mark())
        assert table(storage).mark() == made.mark()
    assert len(marks) == 4


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

"""Sorted runs: rows are found by key during concurrent writes, merges and removals."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog import sorted_table
from snapshots.catalog.delta import TableFile, add_action
from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import named_by_bytes, to_parquet
from snapshots.catalog.sorted_table import RATIO, SMALL_RUNS, SortedTable
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError

SCHEMA = pa.schema({"key": pa.string(), "value": pa.string()})

Rows = list[tuple[str, str]]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return the storage of a folder."""
    return Storage(parse_location(str(tmp_path)))


def opened(storage: Storage) -> SortedTable:
    """Return the table as another process opens it."""
    return SortedTable(storage, "things", SCHEMA, advice="make it again")


def add(table: SortedTable, rows: Rows) -> None:
    """Add rows, and merge runs if necessary."""
    columns = zip(*rows, strict=True) if rows else ([], [])
    table.append(pa.table([pa.array(it, pa.string()) for it in columns], schema=SCHEMA))
    table.compact()


def found(table: SortedTable, key: str) -> Rows:
    """Return the rows of a key."""
    rows = table.select(lambda it: it[0] <= key <= it[1], lambda it: pc.equal(it["key"], key))
    return [(row["key"], row["value"]) for row in rows.to_pylist()]


def every(table: SortedTable) -> Rows:
    """Return all rows."""
    rows = table.select(lambda _: True, lambda it: pc.is_valid(it["key"]))
    return [(row["key"], row["value"]) for row in rows.to_pylist()]


def files(storage: Storage) -> list[str]:
    """Return the files that the table lists."""
    return [Path(it).name for it in DeltaTable(storage.location.uri("things")).file_uris()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the size of runs, so that a few rows have runs of all sizes."""
    monkeypatch.setattr(sorted_table, "SMALL", 10)
    monkeypatch.setattr(sorted_table, "_ROWS_IN_MEMORY", 50)
    monkeypatch.setattr(sorted_table, "_ROWS_OF_FILE", 30)
    monkeypatch.setattr(sorted_table, "_ROWS_AT_ONCE", 4)


def batches(random: Random, count: int) -> Iterator[Rows]:
    """Yield unsorted batches of rows, with some duplicates."""
    for _ in range(count):
        keys = [f"key-{random.randrange(40):02}" for _ in range(random.randrange(12))]
        yield [(key, str(random.randrange(3))) for key in keys]


@pytest.mark.untraced
@pytest.mark.usefixtures("small")
def test_every_row_is_found_once(storage: Storage) -> None:
    """However many batches there are, by a table that is open and by one that is opened anew."""
    table, added = opened(storage), set[tuple[str, str]]()
    for number, batch in enumerate(batches(Random(1), 50)):
        add(table, batch)
        added.update(batch)
        if number % 20 == 0:
            assert every(opened(storage)) == sorted(added)
    anew = opened(storage)
    for key in {key for key, _ in added} | {"", "key-", "nothing", "z"}:
        expected = sorted(row for row in added if row[0] == key)
        assert found(table, key) == found(anew, key) == expected


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=60))
def test_what_is_merged(batches: list[int]) -> None:
    """One merge is enough, whatever comes; and no row is written again and again."""
    runs: list[TableFile] = []
    num_written = 0
    for number, num_rows in enumerate(batches):
        runs.append(TableFile(f"{number}", 0, num_rows=num_rows))
        if merged := sorted_table._to_merge(runs):
            total = sum(run.num_rows for run in merged)
            runs = [run for run in runs if run not in merged]
            runs.append(TableFile(f"{number}-merged", 0, num_rows=total))
            num_written += total
        assert not sorted_table._to_merge(runs)
        sizes = sorted((run.num_rows for run in runs), reverse=True)
        large = [size for size in sizes if size > sorted_table.SMALL]
        assert len(sizes) - len(large) < SMALL_RUNS
        for place, size in enumerate(large[:-1]):
            assert size >= RATIO * sum(large[place + 1 :])
    assert num_written <= 12 * sum(batches)


@pytest.mark.usefixtures("small")
def test_few_rows_are_in_memory_at_once(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the runs are that are merged: piece by piece of their keys, in their order."""
    table, in_memory = opened(storage), list[int]()
    keys = [f"{number:05}" for number in range(400 * SMALL_RUNS)]
    for first in range(SMALL_RUNS):
        own = keys[first::SMALL_RUNS]
        table.append(pa.table([pa.array(own), pa.array([""] * len(own))], schema=SCHEMA))
    sorting = SortedTable._sorted

    def recording(self: SortedTable, tables: Sequence[pa.Table]) -> pa.Table:
        in_memory.append(sum(map(len, tables)))
        return sorting(self, tables)

    monkeypatch.setattr(SortedTable, "_sorted", recording)
    table.compact()
    assert max(in_memory) < 200
    assert len({name.partition("-")[0] for name in files(storage)}) == 1
    assert every(table) == [(key, "") for key in keys]


@pytest.mark.usefixtures("small")
def test_little_is_read(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file of each run that can have the key, and of that only some rows."""
    table = opened(storage)
    add(table, [(f"key-{number:03}", "") for number in range(120)])
    add(table, [(f"other-{number:03}", "") for number in range(10)])
    read: list[str] = []
    reading = Storage.read

    def recording(self: Storage, path: str, size: int | None = None) -> pa.Buffer:
        if path.endswith(".parquet"):
            read.append(path)
        return reading(self, path, size)

    monkeypatch.setattr(Storage, "read", recording)
    seen: list[int] = []

    def meets(rows: pa.Table) -> pa.ChunkedArray:
        seen.append(len(rows))
        return pc.equal(rows["key"], "key-050")

    assert len(table.select(lambda it: it[0] <= "key-050" <= it[1], meets)) == 1
    assert (len(read), seen) == (1, [4])


def test_other_readers_know_what_to_leave_out(storage: Storage) -> None:
    """The log has the smallest and the largest value of every column of each file."""
    add(opened(storage), [("b", "1"), ("a", "3"), ("c", "2")])
    (action,) = pa.table(
        DeltaTable(storage.location.uri("things")).get_add_actions(flatten=True)
    ).to_pylist()
    names = ("num_records", "min.key", "max.key", "min.value", "max.value", "null_count.key")
    assert [action[name] for name in names] == [3, "a", "c", "1", "3", 0]


def test_files_of_other_tools(storage: Storage) -> None:
    """What another tool has merged or rewritten, under its own names, is found as well."""
    table = opened(storage)
    for number in range(5):
        add(table, [(f"key-{number}", ""), (f"key-{number + 10}", "")])
    DeltaTable(storage.location.uri("things")).optimize.compact()
    assert len(files(storage)) == 1
    assert found(table, "key-3") == [("key-3", "")]
    DeltaTable(storage.location.uri("things")).delete("key = 'key-1'")
    assert found(table, "key-1") == []
    assert found(table, "key-3") == [("key-3", "")]
    for number in range(20, 20 + SMALL_RUNS):
        add(table, [(f"key-{number}", "")])
    assert len(every(opened(storage))) == 9 + SMALL_RUNS


def test_nothing_is_merged_that_is_no_longer_so(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where this process has seen meanwhile what another one has done."""
    table, other = opened(storage), opened(storage)
    for number in range(SMALL_RUNS - 1):
        add(table, [(f"key-{number}", "")])
    writing = SortedTable._write_run

    def writing_late(
        self: SortedTable, rows: Iterable[pa.Table], *, is_new: bool
    ) -> list[AddAction]:
        if self is table and not is_new:
            add(other, [("other", "")])
            table.open()
        return writing(self, rows, is_new=is_new)

    monkeypatch.setattr(SortedTable, "_write_run", writing_late)
    add(table, [("key-9", "")])
    assert len(files(storage)) == 1  # as the other one has merged them
    assert len(list(Path(storage.location.uri("things")).glob("*.parquet"))) == SMALL_RUNS + 2
    assert len(every(table)) == SMALL_RUNS + 1


def test_damage_is_named(storage: Storage) -> None:
    """A file that has other bytes than were written, and a table that is not there."""
    table = opened(storage)
    with pytest.raises(CatalogError, match="the table things is missing; make it again"):
        found(table, "a")
    add(table, [("a", "1"), ("b", "2")])
    (name,) = files(storage)
    file = Path(storage.location.uri(f"things/{name}"))
    file.write_bytes(file.read_bytes()[::-1])
    with pytest.raises(CatalogError, match=f"{name} does not have the bytes.*make it again"):
        found(table, "a")
    for number in range(SMALL_RUNS):  # to merge is no use, but no harm either
        add(table, [(f"key-{number}", "")])
    file.unlink()
    with pytest.raises(CatalogError, match=f"things/{name}.*make it again$"):
        found(table, "a")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({"value": ["1"]}, "has no column key"),
        ({"key": ["a"]}, "has no column value"),
        ({"key": ["a"], "value": ["1"], "more": ["b"]}, None),
        ({"key": ["a"], "value": [["1"]]}, "has a column of another type"),
    ],
)
def test_columns_of_another_tool(
    storage: Storage, rows: dict[str, list[object]], reason: str | None
) -> None:
    """A file without those of the table is named, also where it lacks what files are chosen by."""
    table = opened(storage)
    add(table, [("a", "1")])
    data = to_parquet(pa.table(rows))
    file = named_by_bytes("theirs-", data)
    storage.write(f"things/{file.path}", data)
    table._table.commit([add_action(file, 1, {})])
    if reason is None:
        assert every(table) == [("a", "1")]
    else:
        with pytest.raises(CatalogError, match=rf"things/theirs-\S+ {reason}.*; make it again"):
            every(table)


def test_a_table_without_a_column(storage: Storage) -> None:
    """It is named."""
    write_deltalake(storage.location.uri("things"), pa.table({"key": ["a"]}))
    with pytest.raises(CatalogError, match="things has no column value; make it again"):
        every(opened(storage))

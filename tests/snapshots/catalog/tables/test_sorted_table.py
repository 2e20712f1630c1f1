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
from snapshots.catalog.parquet import named_by_bytes, to_parquet
from snapshots.catalog.sorted_table import RATIO, SMALL_RUNS, SortedTable
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError

SCHEMA = pa.schema({"key": pa.string(), "value": pa.string()})

Rows = list[tuple[str, str]]


def opened(storage: Storage) -> SortedTable:
    """Return the table as another process opens it."""
    return SortedTable(storage, "things", SCHEMA, advice="make it again")


def add(table: SortedTable, rows: Rows) -> None:
    """Add rows, and merge runs if necessary."""
    columns = zip(*rows, strict=True) if rows else ([], [])
    table.append(pa.table([pa.array(column, pa.string()) for column in columns], schema=SCHEMA))
    table.compact()


def rows_of(table: SortedTable, key: str) -> Rows:
    """Return the rows of a key."""
    rows = table.select(
        lambda bounds: bounds[0] <= key <= bounds[1],
        lambda table_rows: pc.equal(table_rows["key"], key),
    )
    return [(row["key"], row["value"]) for row in rows.to_pylist()]


def every(table: SortedTable) -> Rows:
    """Return all rows."""
    rows = table.select(lambda _: True, lambda selected: pc.is_valid(selected["key"]))
    return [(row["key"], row["value"]) for row in rows.to_pylist()]


def files(storage: Storage) -> list[str]:
    """Return the files that the table lists."""
    return [Path(uri).name for uri in DeltaTable(storage.location.uri("things")).file_uris()]


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.usefixtures("small_runs")
def test_every_row_is_found_once(storage: Storage) -> None:
    """Regardless of the number of batches, by an open table and by one that is opened again."""
    table, added = opened(storage), set[tuple[str, str]]()
    for number, batch in enumerate(batches(Random(1), 50)):
        add(table, batch)
        added.update(batch)
        if number % 20 == 0:
            assert every(opened(storage)) == sorted(added)
    again = opened(storage)
    for key in {key for key, _ in added} | {"", "key-", "nothing", "z"}:
        expected = sorted(row for row in added if row[0] == key)
        assert rows_of(table, key) == rows_of(again, key) == expected


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=60))
def test_merges_are_balanced(batches: list[int]) -> None:
    """One merge is enough after each batch, and the total number of rewritten rows is limited."""
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


@pytest.mark.usefixtures("small_runs")
def test_few_rows_are_in_memory_at_once(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large runs are merged by ranges of their keys, in order."""
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


@pytest.mark.usefixtures("small_runs")
def test_one_file_per_run_is_read(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a file that can have the key, and only some of its rows are compared."""
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

    def has_key(rows: pa.Table) -> pa.ChunkedArray:
        seen.append(len(rows))
        return pc.equal(rows["key"], "key-050")

    assert len(table.select(lambda bounds: bounds[0] <= "key-050" <= bounds[1], has_key)) == 1
    assert (len(read), seen) == (1, [4])


def test_statistics_for_other_readers(storage: Storage) -> None:
    """The log has the smallest and the largest value of every column of each file."""
    add(opened(storage), [("b", "1"), ("a", "3"), ("c", "2")])
    (action,) = pa.table(
        DeltaTable(storage.location.uri("things")).get_add_actions(flatten=True)
    ).to_pylist()
    names = ("num_records", "min.key", "max.key", "min.value", "max.value", "null_count.key")
    assert [action[name] for name in names] == [3, "a", "c", "1", "3", 0]


def test_files_of_other_tools(storage: Storage) -> None:
    """Files that another tool merged or rewrote under its own names are read as well."""
    table = opened(storage)
    for number in range(5):
        add(table, [(f"key-{number}", ""), (f"key-{number + 10}", "")])
    DeltaTable(storage.location.uri("things")).optimize.compact()
    assert len(files(storage)) == 1
    assert rows_of(table, "key-3") == [("key-3", "")]
    DeltaTable(storage.location.uri("things")).delete("key = 'key-1'")
    assert rows_of(table, "key-1") == []
    assert rows_of(table, "key-3") == [("key-3", "")]
    for number in range(20, 20 + SMALL_RUNS):
        add(table, [(f"key-{number}", "")])
    assert len(every(opened(storage))) == 9 + SMALL_RUNS


def test_concurrent_merges(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge is discarded if another process has merged the same runs."""
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
    """A file with other bytes than were written, and a missing table."""
    table = opened(storage)
    with pytest.raises(CatalogError, match="the table things is missing; make it again"):
        rows_of(table, "a")
    add(table, [("a", "1"), ("b", "2")])
    (name,) = files(storage)
    file = Path(storage.location.uri(f"things/{name}"))
    file.write_bytes(file.read_bytes()[::-1])
    with pytest.raises(CatalogError, match=f"{name} does not have the bytes.*make it again"):
        rows_of(table, "a")
    for number in range(SMALL_RUNS):  # to merge is no use, but no harm either
        add(table, [(f"key-{number}", "")])
    file.unlink()
    with pytest.raises(CatalogError, match=f"things/{name}.*make it again$"):
        rows_of(table, "a")


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
    """A file without columns of the table is named, even if it lacks the keys that select files."""
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


def test_table_without_a_column(storage: Storage) -> None:
    """The error names the table."""
    write_deltalake(storage.location.uri("things"), pa.table({"key": ["a"]}))
    with pytest.raises(CatalogError, match="things has no column value; make it again"):
        every(opened(storage))

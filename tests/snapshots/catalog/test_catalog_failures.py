"""A catalog under bad conditions: broken stores, imports that race, imports that are killed."""

import re
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.contents import Content
from snapshots.errors import CatalogError
from snapshots.tables import SPECS, revisions_table, with_columns
from tests.expensive import IS_QUICK
from tests.snapshots.factories import a_revision, a_snapshot, a_spec, day
from tests.snapshots.importers import (
    TAGS,
    publish_and_merge,
    publish_state,
    publish_together,
    publish_within,
    specs_of,
)
from tests.snapshots.records import with_digest


def parquet_files(folder: Path) -> list[Path]:
    """Return the files with the rows of a table."""
    return [file for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts]


def log_of(folder: Path) -> list[Path]:
    """Return the commits of a table, oldest first."""
    return sorted((folder / "_delta_log").glob("*.json"))


def overwrite(files: Iterable[Path]) -> None:
    """Put something else into files."""
    for file in files:
        file.write_bytes(b"garbage")


def remove(files: Iterable[Path]) -> None:
    """Remove files."""
    for file in files:
        file.unlink()


def replace_by_foreign_table(folder: Path) -> None:
    """Put a table with other columns in the place of one."""
    shutil.rmtree(folder)
    write_deltalake(folder, pa.table({"column": [1]}))


BREAKAGES: dict[str, Callable[[Path], None]] = {
    "commit is garbage": lambda folder: overwrite(log_of(folder)[-1:]),
    "first commit is gone": lambda folder: remove(log_of(folder)[:1]),
    "files are garbage": lambda folder: overwrite(parquet_files(folder)),
    "files are gone": lambda folder: remove(parquet_files(folder)),
    "foreign": replace_by_foreign_table,
}


def assert_is_told(call: Callable[[], object], location: str) -> None:
    """Hold that a call fails with one line that names the location."""
    with pytest.raises(CatalogError) as caught:
        call()
    assert str(caught.value).startswith(f"catalog {location}: ")
    assert "\n" not in str(caught.value)
    assert caught.value.location == location


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_broken_revisions(breakage: str, tmp_path: Path) -> None:
    """A list of revisions that cannot be read is an error, not an empty catalog."""
    location = str(tmp_path / "catalog")
    for number in range(2):
        publish_state(Catalog(location), number)
    BREAKAGES[breakage](tmp_path / "catalog" / "revisions")
    assert_is_told(Catalog(location).refresh, location)
    assert_is_told(lambda: publish_state(Catalog(location), 2), location)


@pytest.mark.parametrize("breakage", ["files are garbage", "files are gone", "gone"])
def test_broken_specs(breakage: str, tmp_path: Path) -> None:
    """A content that cannot be read is an error that names the catalog."""
    location = str(tmp_path / "catalog")
    catalog = Catalog(location)
    for number in range(2):
        publish_state(catalog, number)
    folder = tmp_path / "catalog" / "specs"
    BREAKAGES.get(breakage, shutil.rmtree)(folder)
    digest = catalog.history.resolve("develop").digest
    assert_is_told(lambda: catalog.load(digest), location)
    assert_is_told(lambda: catalog.reader().dependencies(digest), location)


@pytest.mark.parametrize("breakage", ["commit is garbage", "first commit is gone"])
def test_a_broken_log_of_specs(breakage: str, tmp_path: Path) -> None:
    """What is published is still read; publishing says which file is at fault and what to do."""
    location = str(tmp_path / "catalog")
    for number in range(2):
        publish_state(Catalog(location), number)
    BREAKAGES[breakage](tmp_path / "catalog" / "specs")
    catalog = Catalog(location)
    catalog.refresh()
    assert assert_is_sound(catalog) == [0, 1]
    with pytest.raises(CatalogError, match=r": specs/_delta_log.*(;|else) restore it from a copy"):
        publish_state(catalog, 2)
    assert assert_is_sound(catalog) == [0, 1]


def test_a_foreign_table_of_specs(tmp_path: Path) -> None:
    """Publishing into a table that is not cachelog's is refused, and loading goes on."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    digest = catalog.history.resolve("develop").digest
    files = parquet_files(tmp_path / "specs")
    replace_by_foreign_table(tmp_path / "specs")
    assert not files[0].exists()
    with pytest.raises(CatalogError, match="the table specs is not partitioned by digest"):
        Catalog(str(tmp_path)).load(digest)


def test_a_commit_that_is_gone(tmp_path: Path) -> None:
    """A gap in the log is named."""
    for number in range(3):
        publish_state(Catalog(str(tmp_path)), number)
    log_of(tmp_path / "revisions")[2].unlink()
    with pytest.raises(
        CatalogError, match=r"revisions/_delta_log lacks the commit 0+2\.json; rest"
    ):
        Catalog(str(tmp_path)).refresh()


def test_leftovers_of_another_version(tmp_path: Path) -> None:
    """What an import of the same content left that wrote other bytes does not stand twice."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    rows = with_columns(with_digest(Content.of(specs_of(1))), SPECS.names)
    write_deltalake(tmp_path / "specs", rows.slice(0, 4), mode="append", partition_by=["digest"])
    publish_state(catalog, 1)
    assert assert_is_sound(catalog) == [0, 1]
    assert DeltaTable(tmp_path / "specs").to_pyarrow_table().num_rows == 10 + 11


def test_files_that_another_tool_rewrote(tmp_path: Path) -> None:
    """After a compaction and a vacuum by anything that writes Delta tables, contents still load."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    digest = catalog.history.resolve("develop").digest
    table = DeltaTable(str(tmp_path / "specs"))
    rows = table.to_pyarrow_table()
    write_deltalake(table, rows, mode="overwrite")
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert len(parquet_files(tmp_path / "specs")) == 1
    assert len(catalog.load(digest)) == len(Catalog(catalog.location).load(digest)) == 10
    publish_state(catalog, 1)
    assert assert_is_sound(catalog) == [0, 1]


def test_a_catalog_of_before(tmp_path: Path) -> None:
    """A catalog whose rows name no files is read by the table's log, and goes on growing."""
    contents = [Content.of(specs_of(number)) for number in range(2)]
    rows = pa.concat_tables(map(with_digest, contents))
    write_deltalake(tmp_path / "specs", rows, partition_by=["digest"])
    revisions = [
        replace(a_revision(tag, number), digest=content.digest, num_specs=number + 10)
        for number, content in enumerate(contents)
        for tag in TAGS
    ]
    old = revisions_table(revisions, {}).drop_columns(["files"])
    write_deltalake(tmp_path / "revisions", old)
    catalog = Catalog(str(tmp_path))
    catalog.refresh()
    assert assert_is_sound(catalog) == [0, 1]
    publish_state(catalog, 2)
    assert assert_is_sound(catalog) == [0, 1, 2]
    reader = Catalog(str(tmp_path))
    reader.refresh()
    assert assert_is_sound(reader) == [0, 1, 2]


def test_a_column_that_this_version_does_not_know(tmp_path: Path) -> None:
    """Older catalogs have ``file_tails``, newer ones may have others; both are read, and grow."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    rows = pa.table(DeltaTable(tmp_path / "revisions").to_pyarrow_table())
    tails = pa.array([[{"start": 8, "checksum": "0" * 16}]] * len(rows))
    more = rows.append_column("file_tails", tails)
    write_deltalake(tmp_path / "revisions", more, mode="overwrite", schema_mode="overwrite")
    publish_state(Catalog(str(tmp_path)), 1)
    reader = Catalog(str(tmp_path))
    reader.refresh()
    assert assert_is_sound(reader) == [0, 1]


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    """What can never become a catalog is not taken for an empty one."""
    file = tmp_path / "catalog"
    file.write_text("no catalog")
    assert_is_told(Catalog(str(file)).refresh, str(file))
    assert_is_told(lambda: publish_state(Catalog(str(file)), 0), str(file))
    assert_is_told(lambda: publish_state(Catalog(f"{file}/below"), 0), f"{file}/below")
    assert file.read_text() == "no catalog"


def assert_is_sound(catalog: Catalog, first: int = 0) -> list[int]:
    """Hold that all tags have the same states, each whole; return their numbers, oldest first.

    The contents of states before ``first`` are not read again.
    """
    states = [[line.num_specs - 10 for line in catalog.history.of_tag(tag)] for tag in TAGS]
    assert all(numbers == states[0] for numbers in states)
    for line in catalog.history.of_tag(TAGS[0]):
        number = line.num_specs - 10
        assert line.taken_at == day(number)
        if number >= first:
            frame = catalog.load(line.digest)
            specs = list(map(frame.spec, range(len(frame))))
            assert Content.of(specs).digest == line.digest == Content.of(specs_of(number)).digest
    return states[0][::-1]


def test_an_import_that_dies_between_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Specs without a revision are not there, and the same import later leaves none over."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RevisionsTable, "append", die)
        with pytest.raises(KeyboardInterrupt):
            publish_state(catalog, 1)
    assert catalog.refresh() is False
    assert assert_is_sound(catalog) == [0]
    publish_state(catalog, 1)
    assert assert_is_sound(catalog) == [0, 1]
    assert DeltaTable(str(tmp_path / "specs")).to_pyarrow_table().num_rows == 10 + 11


@pytest.mark.untraced
def test_a_disk_that_is_full(tmp_path: Path, processes: ForkServerContext) -> None:
    """Whichever file cannot be written: it is told in one line, and nothing is lost or in the way.

    The first limits are too small for the specs, the others for the comparisons, which the next
    import makes, and for checkpoints: most tables write one with the 25th state.
    """
    full = tmp_path / "full"
    published = Catalog(str(full))
    for number in range(24):
        publish_state(published, number)
    failures = set()
    for limit in (0, 700, 4_500, 9_000, 12_000, 17_000, 19_000)[:: 2 if IS_QUICK else 1]:
        location = str(tmp_path / str(limit))
        shutil.copytree(full, location)
        told, signal = processes.Pipe(duplex=False)
        arguments = (location, 24, limit, signal)
        importer = processes.Process(target=publish_within, args=arguments)
        importer.start()
        failure = told.recv()
        importer.join()
        assert importer.exitcode == 0
        catalog = Catalog(location)
        catalog.refresh()
        expected = list(range(25 if failure is None else 24))
        assert assert_is_sound(catalog, 22) == expected
        assert not list(Path(location).rglob("*.tmp"))
        publish_state(catalog, 25)
        assert assert_is_sound(catalog, 22) == [*expected, 25]
        failures.add(failure)
    assert None in failures
    assert all(it is None or re.search(r"\.parquet: File too large$", it) for it in failures)


@pytest.mark.untraced
def test_reading_beside_imports_that_merge(tmp_path: Path, processes: ForkServerContext) -> None:
    """Two imports publish, merge files and shorten logs; a reader sees whole states all the while.

    What it has seen does not vanish, and no row stands twice in the end.
    """
    location = str(tmp_path)
    catalog = Catalog(location)
    publish_state(catalog, 0)
    barrier = processes.Barrier(3)
    importers = [
        processes.Process(target=publish_and_merge, args=(location, first, last, barrier))
        for first, last in ((1, 16), (16, 31))
    ]
    for importer in importers:
        importer.start()
    barrier.wait()
    seen: set[int] = set()
    while any(importer.is_alive() for importer in importers):
        catalog.refresh()
        reader = Catalog(location)
        reader.refresh()
        for each in (catalog, reader):
            numbers = set(assert_is_sound(each, first=max(seen, default=0)))
            assert seen <= numbers
        seen = numbers
    for importer in importers:
        importer.join()
        assert importer.exitcode == 0
    for each in (catalog, Catalog(location)):
        each.refresh()
        assert assert_is_sound(each) == list(range(31))
    rows = DeltaTable(f"{location}/revisions").to_pyarrow_table()
    assert rows.num_rows == 31 * len(TAGS)


def race(processes: ForkServerContext, location: str, numbers: list[int]) -> list[str | None]:
    """Publish states from as many processes at the same moment; return what each told."""
    barrier = processes.Barrier(len(numbers))
    running = []
    for number in numbers:
        told, signal = processes.Pipe(duplex=False)
        arguments = (location, number, barrier, signal)
        importer = processes.Process(target=publish_together, args=arguments)
        importer.start()
        running.append((importer, told))
    results = [told.recv() for _, told in running]
    for importer, _ in running:
        importer.join()
        assert importer.exitcode == 0
    return results


def test_two_imports_at_once(tmp_path: Path, processes: ForkServerContext) -> None:
    """Imports that race both succeed, also into a new catalog; or one of them says why not."""
    location = str(tmp_path)
    for first in (0, 10, 20):
        numbers = [first, first + 1]
        results = race(processes, location, numbers)
        catalog = Catalog(location)
        catalog.refresh()
        published = assert_is_sound(catalog, first)
        for number, failure in zip(numbers, results, strict=True):
            assert failure is None or failure.startswith(f"catalog {location}: ")
            assert failure is not None or number in published
        assert None in results


def test_two_imports_of_one_state(tmp_path: Path, processes: ForkServerContext) -> None:
    """A state that two imports publish at once is one revision of each tag, and whole."""
    assert None in race(processes, str(tmp_path), [5, 5])
    catalog = Catalog(str(tmp_path))
    catalog.refresh()
    assert assert_is_sound(catalog) == [5]
    publish_state(catalog, 5)
    assert assert_is_sound(catalog) == [5]


@pytest.mark.parametrize(("conflicts", "is_told"), [(1, False), (3, False), (99, True)])
def test_conflicts(
    conflicts: int, *, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that another import came in between is done again, but not for ever."""
    failures = iter(range(conflicts))

    commit = DeltaTable.create_write_transaction

    def fail_first(*arguments: Any, **named: Any) -> None:
        if next(failures, None) is not None:
            raise CommitFailedError("another import committed")
        commit(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", fail_first)
    catalog = Catalog(str(tmp_path))
    if is_told:
        assert_is_told(lambda: publish_state(catalog, 0), str(tmp_path))
        assert not catalog.history.revisions
    else:
        publish_state(catalog, 0)
        assert assert_is_sound(catalog) == [0]


def test_one_catalog_in_several_threads(tmp_path: Path) -> None:
    """Threads may publish, refresh and load with one catalog at the same time."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)

    def work(number: int) -> int:
        publish_state(catalog, number)
        catalog.refresh()
        return len(catalog.load(catalog.history.resolve("develop").digest))

    with ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(work, range(1, 7)))
    assert all(size in range(11, 17) for size in sizes)
    catalog.refresh()
    assert assert_is_sound(catalog) == list(range(7))


def test_what_another_import_published_counts(tmp_path: Path) -> None:
    """A state that another import published meanwhile is not published again."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    other = a_snapshot([a_spec("x")], "v0.22.0", day(0))
    (made,) = Catalog(str(tmp_path)).publish([other])
    (again,) = catalog.publish([replace(other, taken_at=day(1))])
    assert (made.is_new, again.is_new) == (True, False)
    assert again.revision == made.revision

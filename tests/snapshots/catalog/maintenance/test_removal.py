"""Removal of revisions and of unused files, in spite of concurrent imports and servers."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from snapshots.catalog import delta, parquet
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.storage import FileStat, Storage
from snapshots.catalog.vacuum import check_grace, vacuum
from snapshots.catalog.verification import verify
from snapshots.contents import Snapshot
from snapshots.errors import CatalogError, InvalidArgument, RevisionNotFound
from snapshots.history import Pair
from tests.snapshots.catalog.expected_histories import TABLES, forget
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import TAGS, publish_and_merge, specs_of
from tests.snapshots.removal_catalogs import (
    HOUR,
    clean,
    clean_all,
    drop,
    drop_unlisted,
    facts,
    file_size_limit,
    grow_old,
    hours_ago,
    listed,
    loaded,
    publish,
    publish_killed,
    rows,
    running_before,
    stored,
)
from tests.snapshots.templates import reopened


def test_removed_revisions(catalog: Catalog) -> None:
    """Readers do not see them after the next refresh; other revisions are unchanged."""
    server = reopened(catalog)
    before, generation = server.history, server.generation
    middle = before.resolve("develop~1")
    done = drop(catalog, "develop~1")
    assert facts(list(done.revisions)) == [("develop", 1)]
    assert done.contents == (middle.digest,)
    assert done.num_bytes > 0
    assert server.refresh()
    assert server.generation > generation
    assert facts(server.history.revisions) == [("develop", 2), ("develop", 0)]
    with pytest.raises(RevisionNotFound):
        server.history.resolve(middle.digest)


def test_removal_in_spite_of_damage(catalog: Catalog) -> None:
    """A pair that cannot be compared is reported; the revisions are removed."""
    damaged = catalog.history.resolve("develop~2").digest
    for file in Path(catalog.location, "specs", f"digest={damaged}").iterdir():
        file.write_bytes(b"nothing")
    done = drop(catalog, "develop~1")
    assert len(done.not_stored) == 1
    assert damaged[:12] in done.not_stored[0]
    assert facts(catalog.history.revisions) == [("develop", 2), ("develop", 0)]


def test_publications_after_the_plan_are_kept(catalog: Catalog) -> None:
    """A row that confirms a removed revision becomes a revision."""
    planned = plan(catalog, [catalog.history.resolve("develop")])
    other = Catalog(catalog.location)
    publish(other, 2, 9)
    publish(other, 7, 7, "main")
    done = remove(catalog, planned)
    assert done.contents == ()
    assert {row[:2] for row in rows(catalog)} == {
        ("develop", 0),
        ("develop", 1),
        ("develop", 9),
        ("main", 7),
    }
    assert listed(catalog) >= loaded(catalog).keys()


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, action: Callable[[], object], times: int = 1
) -> None:
    """Call a function between the reading of files for a rewrite and its commit."""
    calls = iter(range(times))
    real = parquet.from_parquet

    def read(path: str, *arguments: Any, **named: Any) -> pa.Table:
        rows = real(path, *arguments, **named)
        if path.startswith("revisions/") and next(calls, None) is not None:
            action()
        return rows

    monkeypatch.setattr(delta, "from_parquet", read)


def test_concurrent_publications_are_kept(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The removal notices other commits, and starts again."""
    other = Catalog(catalog.location)
    states = iter(range(10, 20))
    planned = plan(catalog, [catalog.history.resolve("develop~1")])
    meanwhile(monkeypatch, lambda: publish(other, state := next(states), state), times=2)
    remove(catalog, planned)
    assert {number for _, number, _ in rows(catalog)} == {0, 2, 10, 11}


def importing(state: int, then: Callable[[], object]) -> Iterator[Snapshot]:
    """Yield a state that the catalog contains; then call a function while the import is running."""
    yield a_snapshot(specs_of(state), "main", day(50))
    then()
    yield a_snapshot(specs_of(99), "main", day(51))


def test_import_of_a_content_that_is_removed_meanwhile(catalog: Catalog) -> None:
    """The import found the content stored; it is listed again when the import ends."""
    other = Catalog(catalog.location)
    other.publish(importing(1, lambda: drop_unlisted(catalog, "develop~1")))
    assert len(loaded(catalog)) == 4
    assert listed(catalog) == loaded(catalog).keys()


def test_import_of_a_content_that_is_deleted_meanwhile(catalog: Catalog) -> None:
    """An import that takes longer than the grace period fails and publishes nothing."""
    other = Catalog(catalog.location)

    def delete() -> None:
        drop(catalog, "develop~1")
        assert clean_all(catalog).files["specs"]

    with pytest.raises(CatalogError, match="was removed while this import ran; import again"):
        other.publish(importing(1, delete))
    assert {tag for tag, _, _ in rows(catalog)} == {"develop"}
    other.publish(importing(1, lambda: None))
    assert listed(catalog) == loaded(catalog).keys()


def test_concurrent_imports_removals_vacuums_and_readers(
    catalog: Catalog, processes: ForkServerContext
) -> None:
    """No row is lost or duplicated, and readers find every content complete."""
    barrier, reader = processes.Barrier(3), Catalog(catalog.location)
    importers = [
        processes.Process(
            target=publish_and_merge, args=(catalog.location, first, first + 3, barrier)
        )
        for first in (100, 200)
    ]
    for importer in importers:
        importer.start()
    barrier.wait()
    expected = {("develop", number) for number in range(3)}
    expected |= {
        (tag, first + number) for tag in TAGS for first in (100, 200) for number in range(3)
    }
    complete: set[str] = set()
    while any(importer.is_alive() for importer in importers):
        catalog.refresh()
        revisions = catalog.history.revisions
        removed = [*revisions[len(revisions) // 2 :: 4]]
        expected -= set(facts(removed))
        remove(catalog, plan(catalog, removed))
        clean(catalog)
        reader.refresh()
        for revision in reader.history.revisions:
            if revision.digest not in complete:
                assert len(reader.reader().frame(revision.digest)) == revision.num_specs
        complete |= {*reader.history.digests}
    for importer in importers:
        importer.join()
        assert importer.exitcode == 0
    assert {row[:2] for row in rows(catalog)} == expected
    assert len(DeltaTable(f"{catalog.location}/revisions").to_pyarrow_table()) == len(expected)
    assert listed(catalog) >= loaded(catalog).keys()
    assert verify(catalog.location).is_sound


def test_removals_with_permanent_conflicts(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They fail after some attempts, without any change."""
    monkeypatch.setattr(CatalogTable, "exchange", lambda *_: False)
    with pytest.raises(CatalogError, match="to the table revisions; nothing was changed, try"):
        drop(catalog, "develop~1")
    assert {number for _, number, _ in rows(catalog)} == {0, 1, 2}


# -- vacuums


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        (1, 1),
        (1.5, 1),
        (168, 168),
        (0, "still need what was just removed"),
        (0.9, "from 1h to 7d"),
        (169, "from 1h to 7d$"),
    ],
)
def test_grace_periods(hours: float, expected: int | str) -> None:
    """They are entire hours, up to the time for which the log remembers removals."""
    if isinstance(expected, str):
        with pytest.raises(InvalidArgument, match=expected):
            check_grace(timedelta(hours=hours))
    else:
        grace = check_grace(timedelta(hours=hours))
        assert grace == timedelta(hours=expected)


def test_files_in_use_are_kept(catalog: Catalog) -> None:
    """Regardless of their age; also without history tables."""
    grow_old(catalog, 10_000)
    forget(catalog, *TABLES)
    assert not any(clean(catalog).files.values())


def test_grace_period_begins_with_the_removal(catalog: Catalog) -> None:
    """With the vacuum that finds the content unneeded; the age of the file does not matter."""
    grow_old(catalog, 10_000)
    digest = drop_unlisted(catalog, "develop~1")
    assert not clean(catalog).files["specs"]
    assert any(digest in file for file in stored(catalog))
    with hours_ago():
        digest = drop_unlisted(catalog, "develop~1")
    done = clean(catalog)
    assert [digest in file for file in done.files["specs"]] == [True]
    assert done.num_bytes["specs"] > 0
    assert not any(digest in file for file in stored(catalog))
    assert not any(clean(catalog).files.values())


def test_checkpoints_preserve_the_time_of_removal(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that removed a file may itself be removed from the log."""
    monkeypatch.setattr("snapshots.catalog.delta.CHECKPOINT_EVERY", 2)
    grow_old(catalog, 10_000)
    young = drop_unlisted(catalog, "develop~1")
    with hours_ago():
        old = drop_unlisted(catalog, "develop~1")
    for number in range(10, 13):
        publish(catalog, number, number)
    log = Path(catalog.location, "specs", "_delta_log")
    checkpoint = max(int(file.name[:20]) for file in log.glob("*.checkpoint.parquet"))
    for commit in log.glob("*.json"):
        if int(commit.stem) < checkpoint:
            commit.unlink()
    (deleted,) = clean(catalog).files["specs"]
    assert old in deleted
    assert any(young in file for file in stored(catalog))


def test_dry_run(catalog: Catalog) -> None:
    """It changes nothing, and returns what the next run deletes."""
    with hours_ago():
        drop(catalog, "develop~1")
    Path(catalog.location, "revisions", ".1f.tmp").write_bytes(b"half")
    grow_old(catalog)
    before = sorted(Path(catalog.location).rglob("*"))
    planned = vacuum(catalog, older_than=HOUR, dry_run=True)
    assert sorted(Path(catalog.location).rglob("*")) == before
    assert clean(catalog).files == planned.files
    assert ".1f.tmp" in planned.files["revisions"]


def test_files_of_killed_imports(catalog: Catalog) -> None:
    """Unfinished files, files that no commit names, and contents that no row names."""
    publish_killed(catalog, 10, delta.CatalogTable, "change")
    with hours_ago():
        publish_killed(catalog, 11, RevisionsTable, "append")
    unfinished = Path(catalog.location, "specs", next(iter(stored(catalog)))).with_name(".a.tmp")
    unfinished.write_bytes(b"half")
    commit = Path(catalog.location, "specs", "_delta_log", "_commit_1.json.tmp")
    commit.write_bytes(b"half")
    own = Path(catalog.location, "specs", "README")
    own.write_bytes(b"not cachelog's")
    assert not any(clean(catalog).files.values())
    grow_old(catalog)
    done = clean(catalog)
    assert len(done.files["specs"]) == 3
    assert [file.exists() for file in (unfinished, commit, own)] == [False, False, True]
    # The first run removed the content of the second import from the log: its commit is old.
    with hours_ago():
        clean(catalog, timedelta(hours=1))
    assert len(listed(catalog)) == 3
    assert len(loaded(catalog)) == 3


def test_full_disk(catalog: Catalog) -> None:
    """Files are deleted before anything is written."""
    with hours_ago():
        publish(catalog, 5, 5)
        digest = drop_unlisted(catalog, "develop~1")
    assert any(digest in file for file in stored(catalog))
    with file_size_limit(0), pytest.raises(CatalogError, match="too large"):
        clean(catalog)
    assert not any(digest in file for file in stored(catalog))
    assert clean(catalog).num_rows
    assert verify(catalog.location).is_sound


def test_content_of_a_running_import(catalog: Catalog) -> None:
    """It is kept: it is written and listed, but no row names it yet."""
    with running_before(RevisionsTable, "append", lambda: clean(catalog)):
        publish(Catalog(catalog.location), 10, 10)
    assert listed(catalog) == loaded(catalog).keys()
    assert len(loaded(catalog)) == 4


def test_content_of_an_import_that_takes_too_long(catalog: Catalog) -> None:
    """Its file is deleted before a row names it: the import fails and publishes nothing."""
    other = Catalog(catalog.location)

    def delete() -> None:
        clean_all(catalog)

    with (
        running_before(Catalog, "_store_new_pairs", delete),
        pytest.raises(CatalogError, match="was removed while this import ran; import again"),
    ):
        publish(other, 11, 11)
    publish(other, 11, 11)
    assert listed(catalog) == loaded(catalog).keys()


def test_content_that_is_published_again_during_its_deletion(catalog: Catalog) -> None:
    """The new file has another name."""
    with hours_ago():
        digest = drop_unlisted(catalog, "develop~1")
    grow_old(catalog)
    other = Catalog(catalog.location)
    with running_before(Storage, "remove", lambda: publish(other, 1, 70)):
        assert any(digest in file for file in clean(catalog).files["specs"])
    assert loaded(catalog)[digest] == 11
    assert listed(catalog) == loaded(catalog).keys()


def test_content_that_is_named_while_it_is_unlisted(catalog: Catalog) -> None:
    """The vacuum read the rows before; the import lists the content again after its commit."""
    drop(catalog, "develop~1")
    grow_old(catalog)
    other = Catalog(catalog.location)
    unlist = mock.patch.object(
        RevisionsTable, "digests", mock.PropertyMock(return_value=frozenset())
    )

    def clean_by_old_rows() -> None:
        with unlist, hours_ago(-2):
            vacuum(reopened(catalog), older_than=HOUR)

    with running_before(Catalog, "_after_publishing", clean_by_old_rows):
        publish(other, 11, 11)
    assert len(loaded(catalog)) == 3
    assert verify(catalog.location).is_sound


def test_unused_pairs(catalog: Catalog) -> None:
    """They are removed from ``comparisons``; their rows follow when no server can use them."""
    server = reopened(catalog)
    hashes = {spec.hash: spec.name for spec in specs_of(1)}
    old = server.history
    before = Library(server).history_queries.hash_histories(old, hashes.items())
    with hours_ago():
        drop(catalog, "develop~1")
    with hours_ago(30):
        grow_old(catalog)
    assert clean(catalog).num_pairs == 0  # recent pairs may belong to a running import
    done = clean(catalog, timedelta(0))
    assert (done.num_pairs, done.num_rows) == (2, 0)
    later = clean(catalog, timedelta(0))
    assert (later.num_pairs, later.num_rows > 0) == (0, True)
    assert before
    read = reopened(catalog)
    assert missing_pairs(read, read.history) == []
    assert set(read.changes.counts) == set(read.history.pairs)
    rows = read.changes.changes_of([f"package-{number}" for number in range(7)]).to_pylist()
    assert {Pair(row["base"], row["head"]) for row in rows} == set(read.history.pairs)


def test_concurrent_vacuums(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that another vacuum deleted are no error; a damaged file is."""
    real = Storage.find

    def find(self: Storage, folder: str) -> dict[str, FileStat]:
        return real(self, folder) | {"deleted.parquet": FileStat(1, 0.0)}

    monkeypatch.setattr(Storage, "find", find)
    assert clean(catalog).num_pairs == 0
    damaged = min(Path(catalog.location, "comparisons").glob("*.parquet"))
    damaged.write_bytes(b"")
    with pytest.raises(CatalogError, match=f"table comparisons cannot be read: .*{damaged.name}"):
        clean(catalog)

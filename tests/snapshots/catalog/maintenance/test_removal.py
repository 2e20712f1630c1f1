"""Removal of revisions, without losing changes of concurrent imports and servers."""

from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from snapshots.catalog import removal
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.removal import Contents, drop_rows, plan, remove
from snapshots.catalog.verification import verify
from snapshots.contents import Snapshot
from snapshots.errors import CatalogError, RevisionNotFound
from tests.snapshots.factories import a_snapshot, day, hash_of
from tests.snapshots.importers import TAGS, publish_and_merge, specs_of
from tests.snapshots.removal_catalogs import (
    clean,
    drop,
    facts,
    grow_old,
    hours_ago,
    listed,
    loaded,
    publish,
    rows,
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
    assert listed(catalog) == set(server.history.digests) == loaded(catalog).keys()
    assert missing_pairs(server, server.history) == []
    new = Library(server).history_queries.hash_history(server.history, hash_of("2 0"))
    assert new is not None
    assert (new.spans[0].first, new.spans[0].is_current) == (server.history.revisions[0], True)


def test_shared_contents_are_kept(catalog: Catalog) -> None:
    """A content of another revision is not deleted."""
    publish(catalog, 1, 1, "main")
    done = drop(catalog, "develop~1")
    assert (done.contents, done.num_bytes) == ((), 0)
    assert len(listed(catalog)) == 3


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
    assert listed(catalog) == loaded(catalog).keys()


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, action: Callable[[], object], times: int = 1
) -> None:
    """Call a function between the reading of files for a rewrite and its commit."""
    calls = iter(range(times))
    real = removal.rows_of

    def rows_of(*arguments: Any) -> pa.Table:
        rows = real(*arguments)
        if next(calls, None) is not None:
            action()
        return rows

    monkeypatch.setattr(removal, "rows_of", rows_of)
    monkeypatch.setattr(removal, "_WAIT_SECONDS", 0)


def test_concurrent_publications_are_kept(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The removal notices other commits, starts again, and leaves no file behind."""
    other = Catalog(catalog.location)
    states = iter(range(10, 20))
    meanwhile(monkeypatch, lambda: publish(other, state := next(states), state), times=2)
    drop(catalog, "develop~1")
    assert {number for _, number, _ in rows(catalog)} == {0, 2, 10, 11}
    contents = Contents(catalog.location)
    contents.revisions.current()
    files = {file.name for file in Path(catalog.location, "revisions").glob("*.parquet")}
    unlisted = files - {file.path for file in contents.revisions.files()}
    assert len(unlisted) == 1  # the replaced file; those of earlier attempts are deleted


def test_rows_are_dropped_from_a_known_state_only(catalog: Catalog) -> None:
    """Later commits of others prevent it."""
    contents = Contents(catalog.location)
    table = contents.revisions
    table.current()
    seen = table.mark()
    publish(catalog, 3, 3)

    def everything(rows: pa.Table) -> pa.ChunkedArray:
        return pc.is_valid(rows["tag"])

    assert drop_rows(contents.storage, table, everything, seen=seen) == 0
    assert len(rows(catalog)) == 4
    assert drop_rows(contents.storage, table, everything, seen=table.mark()) == 4
    assert rows(catalog) == set()


def importing(state: int, then: Callable[[], object]) -> Iterator[Snapshot]:
    """Yield a state that the catalog contains; then call a function while the import is running."""
    yield a_snapshot(specs_of(state), "main", day(50))
    then()
    yield a_snapshot(specs_of(99), "main", day(51))


def test_import_of_a_content_that_is_removed_meanwhile(catalog: Catalog) -> None:
    """The import found the content stored; it is listed again when the import ends."""
    other = Catalog(catalog.location)
    other.publish(importing(1, lambda: drop(catalog, "develop~1")))
    assert len(loaded(catalog)) == 4
    assert listed(catalog) == loaded(catalog).keys()


def test_import_of_a_content_that_is_deleted_meanwhile(catalog: Catalog) -> None:
    """An import that takes longer than the grace period fails and publishes nothing."""
    other = Catalog(catalog.location)

    def delete() -> None:
        with hours_ago():
            drop(catalog, "develop~1")
        grow_old(catalog)
        assert clean(catalog).files["specs"]

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
    assert listed(catalog) == loaded(catalog).keys()
    assert verify(catalog.location, deep=True).is_sound


def test_removals_with_permanent_conflicts(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They fail after some attempts, without any change."""
    monkeypatch.setattr(removal, "_WAIT_SECONDS", 0)
    monkeypatch.setattr(CatalogTable, "exchange", lambda *_: False)
    with pytest.raises(CatalogError, match="nothing was dropped, try again"):
        drop(catalog, "develop~1")
    assert {number for _, number, _ in rows(catalog)} == {0, 1, 2}
    contents = Contents(catalog.location)
    monkeypatch.setattr(contents, "named", dict)
    with pytest.raises(CatalogError, match="other processes kept writing to the table specs"):
        contents.strike_off(lambda _: True)
    assert len(listed(catalog)) == 3

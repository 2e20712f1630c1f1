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
from snapshots.catalog.library import Library
from snapshots.catalog.past import missing_pairs
from snapshots.catalog.removal import Contents, drop_rows, plan, remove
from snapshots.catalog.verification import verify
from snapshots.contents import Snapshot
from snapshots.errors import CatalogError, EmptyCatalog, RevisionNotFound
from tests.snapshots.factories import a_snapshot, day, hash_of
from tests.snapshots.importers import TAGS, publish_and_merge, specs_of
from tests.snapshots.keeping import (
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


def test_what_is_removed_is_gone(catalog: Catalog) -> None:
    """From the next refresh on, for all readers; the others stay as they are."""
    server = Catalog(catalog.location)
    server.refresh()
    before, generation = server.history, server.generation
    middle = before.resolve("develop~1")
    done = drop(catalog, "develop~1")
    assert facts(list(done.revisions)) == [("develop", 1)]
    assert done.contents == (middle.digest,)
    assert done.num_bytes > 0
    assert server.refresh()
    assert server.generation > generation
    assert facts(server.history.revisions) == [("develop", 2), ("develop", 0)]
    assert middle.key not in server.history.by_key
    with pytest.raises(RevisionNotFound):
        server.history.resolve(middle.digest)
    assert listed(catalog) == set(server.history.digests) == loaded(catalog).keys()


def test_what_confirms_it_goes_too(catalog: Catalog) -> None:
    """All rows of the revision, and what stood on either side of it becomes one, if it is equal."""
    digest = publish(catalog, 5, 3)
    publish(catalog, 5, 4)
    publish(catalog, 2, 5)
    assert len(drop(catalog, digest).rows) == 2
    assert facts(catalog.history.revisions) == [("develop", 2), ("develop", 1), ("develop", 0)]
    newest = catalog.history.revisions[0]
    assert catalog.history.confirmed_at(newest) == day(5)


def test_a_content_that_others_have_stays(catalog: Catalog) -> None:
    """It is not part of what a vacuum deletes."""
    publish(catalog, 1, 1, "main")
    done = drop(catalog, "develop~1")
    assert (done.contents, done.num_bytes) == ((), 0)
    assert len(listed(catalog)) == 3


def test_all_can_go(catalog: Catalog) -> None:
    """Then the catalog is empty, and can be published to again."""
    drop(catalog, "develop", "develop~1", "develop~2")
    with pytest.raises(EmptyCatalog):
        Catalog(catalog.location).require_history()
    digest = publish(catalog, 1, 1)
    assert loaded(catalog) == {digest: 11}
    assert listed(catalog) == {digest}


def test_new_neighbours_are_compared_before(catalog: Catalog) -> None:
    """Nothing of the history is missing, and it is that of what is left."""
    specs = specs_of(1)
    drop(catalog, "develop~1")
    read = Catalog(catalog.location)
    read.refresh()
    assert missing_pairs(read, read.history) == []
    library = Library(read)
    assert library.past.hash_history(read.history, specs[0].hash) is None
    (span,) = library.past.hash_history(read.history, hash_of("2 0")).spans  # type: ignore[union-attr]
    assert (span.first, span.is_current) == (read.history.revisions[0], True)


def test_damage_does_not_keep_a_revision(catalog: Catalog) -> None:
    """The pair that cannot be compared is named; the revisions are removed all the same."""
    damaged = catalog.history.resolve("develop~2").digest
    for file in Path(catalog.location, "specs", f"digest={damaged}").iterdir():
        file.write_bytes(b"nothing")
    done = drop(catalog, "develop~1")
    assert len(done.unkept) == 1
    assert damaged[:12] in done.unkept[0]
    assert facts(catalog.history.revisions) == [("develop", 2), ("develop", 0)]


def test_what_is_published_after_the_plan_stays(catalog: Catalog) -> None:
    """Also a row that confirms what goes: it is a revision of its own then."""
    planned = plan(catalog, [catalog.history.resolve("develop")])
    other = Catalog(catalog.location)
    publish(other, 2, 9)
    publish(other, 7, 7, "main")
    done = remove(catalog, planned)
    assert done.contents == ()
    assert {it[:2] for it in rows(catalog)} == {
        ("develop", 0),
        ("develop", 1),
        ("develop", 9),
        ("main", 7),
    }
    assert listed(catalog) == loaded(catalog).keys()


def meanwhile(monkeypatch: pytest.MonkeyPatch, what: Callable[[], object], times: int = 1) -> None:
    """Call a function between the reading of files for a rewrite and its commit."""
    calls = iter(range(times))
    real = removal.rows_of

    def rows_of(*arguments: Any) -> pa.Table:
        rows = real(*arguments)
        if next(calls, None) is not None:
            what()
        return rows

    monkeypatch.setattr(removal, "rows_of", rows_of)
    monkeypatch.setattr(removal, "_WAIT_SECONDS", 0)


def test_what_is_published_at_the_same_moment_stays(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The removal finds that others committed, looks again, and leaves no file behind."""
    other = Catalog(catalog.location)
    states = iter(range(10, 20))
    meanwhile(monkeypatch, lambda: publish(other, state := next(states), state), times=2)
    drop(catalog, "develop~1")
    assert {number for _, number, _ in rows(catalog)} == {0, 2, 10, 11}
    contents = Contents(catalog.location)
    contents.revisions.current()
    kept = {file.path for file in contents.revisions.files()}
    unlisted = {it.name for it in Path(catalog.location, "revisions").glob("*.parquet")} - kept
    assert len(unlisted) == 1  # what it replaced; what it tried before is gone


def test_nothing_goes_where_others_committed_since(catalog: Catalog) -> None:
    """What was seen before is no ground to drop rows any more."""
    contents = Contents(catalog.location)
    table = contents.revisions
    table.current()
    seen = table.mark()
    publish(catalog, 3, 3)

    def everything(found: pa.Table) -> pa.ChunkedArray:
        return pc.is_valid(found["tag"])

    assert drop_rows(contents.storage, table, everything, seen=seen) == 0
    assert len(rows(catalog)) == 4
    assert drop_rows(contents.storage, table, everything, seen=table.mark()) == 4
    assert rows(catalog) == set()


def importing(state: int, then: Callable[[], object]) -> Iterator[Snapshot]:
    """Yield a state that the catalog contains; then call a function while the import is running."""
    yield a_snapshot(specs_of(state), "main", day(50))
    then()
    yield a_snapshot(specs_of(99), "main", day(51))


def test_an_import_of_what_is_removed_meanwhile(catalog: Catalog) -> None:
    """It found the content, so did not write it; when it ends the content is there and listed."""
    other = Catalog(catalog.location)
    other.publish(importing(1, lambda: drop(catalog, "develop~1")))
    assert len(loaded(catalog)) == 4
    assert listed(catalog) == loaded(catalog).keys()


def test_an_import_of_what_is_deleted_meanwhile(catalog: Catalog) -> None:
    """Where it took longer than the time of grace it says so, and publishes nothing."""
    other = Catalog(catalog.location)

    def forget() -> None:
        with hours_ago():
            drop(catalog, "develop~1")
        grow_old(catalog)
        assert clean(catalog).files["specs"]

    with pytest.raises(CatalogError, match="was removed while this import ran; import again"):
        other.publish(importing(1, forget))
    assert {tag for tag, _, _ in rows(catalog)} == {"develop"}
    other.publish(importing(1, lambda: None))
    assert listed(catalog) == loaded(catalog).keys()


def test_imports_removals_cleanings_and_readers_at_once(
    catalog: Catalog, processes: ForkServerContext
) -> None:
    """Processes import and merge files beside removals: no row is lost, none stands twice.

    A reader finds each content whole all the while.
    """
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
    expected |= {(tag, first + it) for tag in TAGS for first in (100, 200) for it in range(3)}
    whole: set[str] = set()
    while any(importer.is_alive() for importer in importers):
        catalog.refresh()
        revisions = catalog.history.revisions
        removed = [*revisions[len(revisions) // 2 :: 4]]
        expected -= set(facts(removed))
        remove(catalog, plan(catalog, removed))
        clean(catalog)
        reader.refresh()
        for revision in reader.history.revisions:
            if revision.digest not in whole:
                assert len(reader.load(revision.digest)) == revision.num_specs
        whole |= {*reader.history.digests}
    for importer in importers:
        importer.join()
        assert importer.exitcode == 0
    assert {it[:2] for it in rows(catalog)} == expected
    assert len(DeltaTable(f"{catalog.location}/revisions").to_pyarrow_table()) == len(expected)
    assert listed(catalog) == loaded(catalog).keys()
    assert verify(catalog.location, deep=True).is_sound


def test_removals_that_others_always_precede(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They give up after some attempts; nothing is removed or struck off then."""
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

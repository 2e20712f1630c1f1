"""Vacuums: all unneeded files are deleted, and no others."""

from datetime import timedelta
from pathlib import Path
from time import time
from typing import Any

import orjson
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from snapshots.catalog import catalog as catalog_module
from snapshots.catalog import delta, sorted_table, specs_table, whole_table
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import named_by_bytes
from snapshots.catalog.past import Past, missing_pairs
from snapshots.catalog.removal import Contents
from snapshots.catalog.storage import Found, Storage
from snapshots.catalog.vacuum import vacuum
from snapshots.catalog.verification import verify
from snapshots.errors import CatalogError
from snapshots.history import Pair
from tests.snapshots.catalog.pasts import TABLES, forget
from tests.snapshots.importers import specs_of
from tests.snapshots.keeping import (
    HOUR,
    clean,
    drop,
    file_size_limit,
    grow_old,
    hours_ago,
    listed,
    loaded,
    publish,
    publish_killed,
    stored,
)


def test_a_catalog_in_use_keeps_all(catalog: Catalog) -> None:
    """However old its files are; one of before has no history that anything could go of."""
    grow_old(catalog, 10_000)
    before = {file: file.read_bytes() for file in Path(catalog.location).rglob("*.parquet")}
    done = clean(catalog)
    assert not any(done.files.values())
    assert (done.struck_off, done.relisted, done.num_pairs, done.num_rows) == ((), (), 0, 0)
    assert {it: it.read_bytes() for it in Path(catalog.location).rglob("*.parquet")} == before
    forget(catalog, *TABLES)
    assert not any(clean(catalog).files.values())


def test_the_time_of_grace_begins_when_it_goes_out_of_use(catalog: Catalog) -> None:
    """Not when it was written: that may be long ago."""
    grow_old(catalog, 10_000)
    digest = drop(catalog, "develop~1").contents[0]
    assert not clean(catalog).files["specs"]
    assert any(digest in file for file in stored(catalog))
    with hours_ago():
        digest = drop(catalog, "develop~1").contents[0]
    done = clean(catalog)
    assert [digest in file for file in done.files["specs"]] == [True]
    assert done.num_bytes["specs"] > 0
    assert not any(digest in file for file in stored(catalog))
    assert not any(clean(catalog).files.values())


def test_checkpoints_know_when_it_went_out_of_use(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after the commit that struck it off was removed from the log."""
    monkeypatch.setattr("snapshots.catalog.delta._CHECKPOINT_EVERY", 2)
    grow_old(catalog, 10_000)
    young = drop(catalog, "develop~1").contents[0]
    with hours_ago():
        old = drop(catalog, "develop~1").contents[0]
    for number in range(10, 13):
        publish(catalog, number, number)
    assert len(list(Path(catalog.location, "specs", "_delta_log").glob("*.json"))) < 6
    (gone,) = clean(catalog).files["specs"]
    assert old in gone
    assert any(young in file for file in stored(catalog))


def test_a_dry_run_changes_nothing(catalog: Catalog) -> None:
    """It returns what the next run then does."""
    with hours_ago():
        drop(catalog, "develop~1")
    Path(catalog.location, "revisions", ".1f.tmp").write_bytes(b"half")
    grow_old(catalog)
    before = sorted(Path(catalog.location).rglob("*"))
    planned = vacuum(catalog, older_than=HOUR, dry_run=True)
    assert sorted(Path(catalog.location).rglob("*")) == before
    assert clean(catalog).files == planned.files
    assert ".1f.tmp" in planned.files["revisions"]


def test_what_a_killed_import_left(catalog: Catalog) -> None:
    """Unfinished files, files that no commit names, and contents that no row names."""
    publish_killed(catalog, 10, delta.CatalogTable, "commit")
    with hours_ago():
        publish_killed(catalog, 11, whole_table.WholeTable, "append")
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
    assert [it.exists() for it in (unfinished, commit, own)] == [False, False, True]
    # The content of the second one was struck off in the first run, as its commit is old.
    with hours_ago():
        clean(catalog, timedelta(hours=1))
    assert len(listed(catalog)) == 3
    assert len(loaded(catalog)) == 3


def test_a_full_disk(catalog: Catalog) -> None:
    """What is out of use is deleted before anything is written."""
    with hours_ago():
        publish(catalog, 5, 5)
        digest = drop(catalog, "develop~1").contents[0]
    assert any(digest in file for file in stored(catalog))
    with file_size_limit(0), pytest.raises(CatalogError, match="too large"):
        clean(catalog)
    assert not any(digest in file for file in stored(catalog))
    assert clean(catalog).num_pairs == 1
    assert verify(catalog.location, deep=True).is_sound


def test_leftovers_of_a_failed_import(catalog: Catalog) -> None:
    """They go after an hour without a new file, also where the time of grace is longer."""
    folder = Path(catalog.location, "specs", "digest=1")
    folder.mkdir()
    for name in (".a.tmp", "first.parquet"):
        (folder / name).write_bytes(b"left")
    with hours_ago():
        digest = drop(catalog, "develop~1").contents[0]
    assert not any(clean(catalog, timedelta(days=1)).files.values())
    grow_old(catalog)
    (folder / "last.parquet").write_bytes(b"left")
    assert clean(catalog, timedelta(days=1)).files["specs"] == ("digest=1/.a.tmp",)
    grow_old(catalog)
    files = clean(catalog, timedelta(days=1)).files
    assert files["specs"] == ("digest=1/first.parquet", "digest=1/last.parquet")
    assert any(digest in file for file in stored(catalog))


def test_a_content_of_an_import_that_still_runs(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written and listed, but not named yet."""
    other = Catalog(catalog.location)
    real = whole_table.WholeTable.append

    def append(self: whole_table.WholeTable[object], rows: pa.Table) -> None:
        clean(catalog)
        real(self, rows)

    monkeypatch.setattr(whole_table.WholeTable, "append", append)
    publish(other, 10, 10)
    assert listed(catalog) == loaded(catalog).keys()
    assert len(loaded(catalog)) == 4


def test_a_content_that_comes_back_as_it_is_deleted(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have the same name by its bytes; so it gets another one."""
    with hours_ago():
        digest = drop(catalog, "develop~1").contents[0]
    grow_old(catalog)
    other = Catalog(catalog.location)
    real = Storage.remove
    published: list[str] = []

    def remove(self: Storage, path: str) -> None:
        if digest in path and not published:
            published.append(publish(other, 1, 70))
        real(self, path)

    monkeypatch.setattr(Storage, "remove", remove)
    clean(catalog)
    assert published == [digest]
    assert loaded(catalog)[digest] == 11
    assert listed(catalog) == loaded(catalog).keys()


def test_a_content_that_comes_back_as_it_is_struck_off(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import finds what a killed one left, and names it: it is not struck off any more."""
    with hours_ago():
        publish_killed(catalog, 11, whole_table.WholeTable, "append")
    other = Catalog(catalog.location)
    real = Contents.named
    published: list[str] = []

    def named(self: Contents) -> object:
        found = real(self)
        if not published:
            published.append(publish(other, 11, 11))
        return found

    monkeypatch.setattr(Contents, "named", named)
    assert clean(catalog).struck_off == ()
    assert listed(catalog) == loaded(catalog).keys() >= set(published)


def test_a_content_of_an_import_that_takes_too_long(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was written, and deleted before it was named: the import says so and names nothing."""
    other = Catalog(catalog.location)
    real = Catalog._keep_new_pairs

    def keep(self: Catalog, *arguments: Any) -> Any:
        grow_old(catalog)
        clean(catalog, timedelta(0))
        monkeypatch.setattr(catalog_module, "FRESH_SECONDS", 0)
        return real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "_keep_new_pairs", keep)
        with pytest.raises(CatalogError, match="was removed while this import ran; import again"):
            publish(other, 11, 11)
    publish(other, 11, 11)
    assert listed(catalog) == loaded(catalog).keys()


def test_merges_delete_what_earlier_ones_merged(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year of imports leaves no more than a day's merges behind, without any vacuum."""
    monkeypatch.setattr(whole_table, "_MAX_FILES", 3)
    monkeypatch.setattr(sorted_table, "SMALL_RUNS", 2)
    for days in range(5, 1, -1):
        with hours_ago(24 * days):
            publish(catalog, 20 - days, 20 - days)
    publish(catalog, 20, 20)
    publish(catalog, 21, 21)
    since = (time() - 24 * 3_600) * 1_000
    for table in ("comparisons", "changes", "hashes", "revisions"):
        folder = f"{catalog.location}/{table}"
        log = [
            action
            for commit in sorted(Path(folder, "_delta_log").glob("*.json"))
            for action in map(orjson.loads, commit.read_bytes().splitlines())
        ]
        removals = [action["remove"] for action in log if "remove" in action]
        removed = {removal["path"]: removal["deletionTimestamp"] for removal in removals}
        recent = {path for path, moment in removed.items() if moment > since}
        assert len(removed) > len(recent) > 0, table
        there = {Path(uri).name for uri in DeltaTable(folder).file_uris()}
        assert stored(catalog, table) == there | recent, table
    assert len(loaded(catalog)) == 9
    assert verify(catalog.location, deep=True).is_sound


def test_a_file_that_is_lost_is_named(catalog: Catalog) -> None:
    """What the table still lists was not merged: that is damage."""
    lost = min(Path(catalog.location, "comparisons").glob("*.parquet"))
    lost.unlink()
    with pytest.raises(CatalogError, match=f"{lost.name}.*; remove the tables comparisons"):
        Past(catalog).package_counts(catalog.history.pairs)


def test_pairs_that_nobody_asks_for(catalog: Catalog) -> None:
    """They leave ``comparisons``; their rows follow when no server can believe in them any more."""
    server = Catalog(catalog.location)
    server.refresh()
    hashes = {spec.hash: spec.name for spec in specs_of(1)}
    old = server.history
    before = Library(server).past.hash_histories(old, hashes)
    with hours_ago():
        drop(catalog, "develop~1")
    with hours_ago(30):
        grow_old(catalog)
    assert clean(catalog).num_pairs == 0  # what was kept just now may be of an import that runs
    done = clean(catalog, timedelta(0))
    assert (done.num_pairs, done.num_rows > 0) == (2, True)
    assert before
    read = Catalog(catalog.location)
    read.refresh()
    assert missing_pairs(read, read.history) == []
    assert set(read.counts) == set(read.history.pairs)
    every = [f"package-{it}" for it in range(7)]
    pairs = read.changes.changes_of(every).select(["base", "head"]).to_pylist()
    assert {Pair(it["base"], it["head"]) for it in pairs} == set(read.history.pairs)
    assert read.changes.packages_of(hashes) == {}


def test_a_second_file_of_a_content(catalog: Catalog) -> None:
    """Two imports at once may have written it under two names: the one that no row names goes."""
    file = next(iter(stored(catalog)))
    digest = file.partition("/")[0].removeprefix("digest=")
    storage = Storage(parse_location(catalog.location))
    data = storage.read(f"specs/{file}")
    second = named_by_bytes(f"digest={digest}/1-", data)
    storage.write(f"specs/{second.path}", data)
    with hours_ago():
        specs_table.SpecsTable(storage).list_again({digest: (second,)})
    assert clean(catalog).struck_off == (digest,)
    assert listed(catalog) == loaded(catalog).keys()


def test_a_vacuum_beside_another(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other one has deleted was out of use; what is damaged is named."""
    real = Storage.find

    def find(self: Storage, folder: str) -> dict[str, Found]:
        return real(self, folder) | {"deleted.parquet": Found(1, 0.0)}

    monkeypatch.setattr(Storage, "find", find)
    assert clean(catalog).num_pairs == 0
    damaged = min(Path(catalog.location, "comparisons").glob("*.parquet"))
    damaged.write_bytes(b"")
    with pytest.raises(CatalogError, match=f"{damaged.name} does not have the bytes"):
        clean(catalog)

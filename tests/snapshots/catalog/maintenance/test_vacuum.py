"""Vacuums: all unneeded files are deleted after the grace period, and no others."""

from datetime import timedelta
from pathlib import Path
from time import time

import orjson
import pytest
from deltalake import DeltaTable

from snapshots.catalog import catalog as catalog_module
from snapshots.catalog import delta, sorted_table, specs_table, whole_table
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import HistoryQueries, missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import named_by_bytes
from snapshots.catalog.removal import Contents
from snapshots.catalog.storage import FileStat, Storage
from snapshots.catalog.vacuum import check_grace, vacuum
from snapshots.catalog.verification import verify
from snapshots.errors import CatalogError, InvalidArgument
from snapshots.history import Pair
from tests.snapshots.catalog.expected_histories import TABLES, forget
from tests.snapshots.importers import specs_of
from tests.snapshots.removal_catalogs import (
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
    running_before,
    stored,
)
from tests.snapshots.templates import reopened


@pytest.mark.parametrize(
    ("hours", "nothing_runs", "expected"),
    [
        (1, False, 1),
        (24, False, 24),
        (1.5, False, 1),
        (168, False, 168),
        (0, True, 0),
        (0, False, "still needs what was just removed.*--nothing-runs"),
        (0.9, False, "--nothing-runs"),
        (0.9, True, "from 1h to 7d"),
        (169, False, "from 1h to 7d$"),
    ],
)
def test_grace_periods(hours: float, *, nothing_runs: bool, expected: int | str) -> None:
    """They are entire hours, up to the time for which the log remembers removals."""
    if isinstance(expected, str):
        with pytest.raises(InvalidArgument, match=expected):
            check_grace(timedelta(hours=hours), nothing_runs=nothing_runs)
    else:
        grace = check_grace(timedelta(hours=hours), nothing_runs=nothing_runs)
        assert grace == timedelta(hours=expected)


def test_files_in_use_are_kept(catalog: Catalog) -> None:
    """Regardless of their age; also in an older catalog, which has no history tables."""
    grow_old(catalog, 10_000)
    before = {file: file.read_bytes() for file in Path(catalog.location).rglob("*.parquet")}
    done = clean(catalog)
    assert not any(done.files.values())
    assert (done.struck_off, done.relisted, done.num_pairs, done.num_rows) == ((), (), 0, 0)
    assert all(file.read_bytes() == data for file, data in before.items())
    forget(catalog, *TABLES)
    assert not any(clean(catalog).files.values())


def test_grace_period_begins_with_the_removal(catalog: Catalog) -> None:
    """The age of the file does not matter."""
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


def test_checkpoints_preserve_the_time_of_removal(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that removed a file may itself be removed from the log."""
    monkeypatch.setattr("snapshots.catalog.delta._CHECKPOINT_EVERY", 2)
    grow_old(catalog, 10_000)
    young = drop(catalog, "develop~1").contents[0]
    with hours_ago():
        old = drop(catalog, "develop~1").contents[0]
    for number in range(10, 13):
        publish(catalog, number, number)
    assert len(list(Path(catalog.location, "specs", "_delta_log").glob("*.json"))) < 6
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
        digest = drop(catalog, "develop~1").contents[0]
    assert any(digest in file for file in stored(catalog))
    with file_size_limit(0), pytest.raises(CatalogError, match="too large"):
        clean(catalog)
    assert not any(digest in file for file in stored(catalog))
    assert clean(catalog).num_pairs == 1
    assert verify(catalog.location, deep=True).is_sound


def test_leftovers_of_a_failed_import(catalog: Catalog) -> None:
    """They are deleted an hour after the last new file, even if the grace period is longer."""
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


def test_content_of_a_running_import(catalog: Catalog) -> None:
    """It is kept: it is written and listed, but no row names it yet."""
    with running_before(whole_table.WholeTable, "append", lambda: clean(catalog)):
        publish(Catalog(catalog.location), 10, 10)
    assert listed(catalog) == loaded(catalog).keys()
    assert len(loaded(catalog)) == 4


def test_content_of_an_import_that_takes_too_long(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is deleted before a row names it: the import fails and publishes nothing."""
    other = Catalog(catalog.location)

    def delete() -> None:
        grow_old(catalog)
        clean(catalog, timedelta(0))
        monkeypatch.setattr(catalog_module, "FRESH_SECONDS", 0)

    with (
        running_before(Catalog, "_store_new_pairs", delete),
        pytest.raises(CatalogError, match="was removed while this import ran; import again"),
    ):
        publish(other, 11, 11)
    monkeypatch.undo()
    publish(other, 11, 11)
    assert listed(catalog) == loaded(catalog).keys()


def test_content_that_is_published_again_during_its_deletion(catalog: Catalog) -> None:
    """The new file has another name, which would otherwise depend on its bytes alone."""
    with hours_ago():
        digest = drop(catalog, "develop~1").contents[0]
    grow_old(catalog)
    other = Catalog(catalog.location)
    with running_before(Storage, "remove", lambda: publish(other, 1, 70)):
        assert any(digest in file for file in clean(catalog).files["specs"])
    assert loaded(catalog)[digest] == 11
    assert listed(catalog) == loaded(catalog).keys()


def test_content_that_is_named_during_its_removal_from_the_log(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import reuses a content of a killed one, which remains listed."""
    with hours_ago():
        publish_killed(catalog, 11, whole_table.WholeTable, "append")
    other = Catalog(catalog.location)
    real = Contents.named
    published: list[str] = []

    def named(self: Contents) -> object:
        names = real(self)
        if not published:
            published.append(publish(other, 11, 11))
        return names

    monkeypatch.setattr(Contents, "named", named)
    assert clean(catalog).struck_off == ()
    assert listed(catalog) == loaded(catalog).keys() >= set(published)


def test_merges_delete_files_of_earlier_merges(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any vacuum, a year of imports leaves only the merged files of a day."""
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
        current = {Path(uri).name for uri in DeltaTable(folder).file_uris()}
        assert stored(catalog, table) == current | recent, table
    assert len(loaded(catalog)) == 9
    assert verify(catalog.location, deep=True).is_sound


def test_missing_file(catalog: Catalog) -> None:
    """A file that the table lists was not deleted by a merge: it is damage."""
    lost = min(Path(catalog.location, "comparisons").glob("*.parquet"))
    lost.unlink()
    with pytest.raises(CatalogError, match=f"{lost.name}.*; remove the tables comparisons"):
        HistoryQueries(catalog).package_counts(catalog.history.pairs)


def test_unused_pairs(catalog: Catalog) -> None:
    """They are removed from ``comparisons``; their rows follow when no server can use them."""
    server = reopened(catalog)
    hashes = {spec.hash: spec.name for spec in specs_of(1)}
    old = server.history
    before = Library(server).history_queries.hash_histories(old, hashes)
    with hours_ago():
        drop(catalog, "develop~1")
    with hours_ago(30):
        grow_old(catalog)
    assert clean(catalog).num_pairs == 0  # recent pairs may belong to a running import
    done = clean(catalog, timedelta(0))
    assert (done.num_pairs, done.num_rows > 0) == (2, True)
    assert before
    read = reopened(catalog)
    assert missing_pairs(read, read.history) == []
    assert set(read.changes.counts) == set(read.history.pairs)
    rows = read.changes.changes_of([f"package-{number}" for number in range(7)]).to_pylist()
    assert {Pair(row["base"], row["head"]) for row in rows} == set(read.history.pairs)
    assert read.changes.packages_of(hashes) == {}


def test_second_file_of_a_content(catalog: Catalog) -> None:
    """Concurrent imports may write two files: the one that no row names is removed."""
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


def test_concurrent_vacuums(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that another vacuum deleted are no error; a damaged file is."""
    real = Storage.find

    def find(self: Storage, folder: str) -> dict[str, FileStat]:
        return real(self, folder) | {"deleted.parquet": FileStat(1, 0.0)}

    monkeypatch.setattr(Storage, "find", find)
    assert clean(catalog).num_pairs == 0
    damaged = min(Path(catalog.location, "comparisons").glob("*.parquet"))
    damaged.write_bytes(b"")
    with pytest.raises(CatalogError, match=f"{damaged.name} does not have the bytes"):
        clean(catalog)

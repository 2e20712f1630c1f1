"""Removal of revisions and of unused files, in spite of concurrent imports and servers."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from snapshots.catalog import delta, parquet
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.vacuum import vacuum
from snapshots.errors import RevisionNotFound
from snapshots.history import Pair
from tests.snapshots.catalog.expected_histories import TABLES, forget
from tests.snapshots.importers import specs_of
from tests.snapshots.removal_catalogs import (
    HOUR,
    clean,
    drop,
    drop_unlisted,
    facts,
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


# -- vacuums


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


def test_content_of_a_running_import(catalog: Catalog) -> None:
    """It is kept: it is written and listed, but no row names it yet."""
    with running_before(RevisionsTable, "append", lambda: clean(catalog)):
        publish(Catalog(catalog.location), 10, 10)
    assert listed(catalog) == loaded(catalog).keys()
    assert len(loaded(catalog)) == 4


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

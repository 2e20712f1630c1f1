"""Power cuts: the files on disk are a catalog with everything that was reported as published."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from snapshots.catalog import delta, sorted_table, whole_table
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.verification import verify
from snapshots.errors import CatalogError
from tests.expensive import IS_QUICK
from tests.snapshots.catalog.test_broken_logs import COMMITS, log, template
from tests.snapshots.importers import TAGS, publish_state
from tests.snapshots.removal_catalogs import publish, published
from tests.snapshots.templates import copied

__all__ = ["log", "template"]

STEP = 10 if IS_QUICK else 1
"""Number of calls of fsync between simulated power cuts."""

TABLES = ("revisions", "specs", "comparisons", "changes", "hashes")
DAMAGES = {"empty": b"", "zeros": bytes(40), "half": b'{"add":{"path":"a.par'}


class Disk:
    """The files that remain of a folder: synced bytes (else none) under synced names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, bytes] = {}
        self._names: dict[Path, set[str]] = {}
        self.num_syncs = 0

    def sync(self, descriptor: int) -> None:
        """Record the effect of a call of fsync."""
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        self.num_syncs += 1
        if path.is_dir():
            self._names[path] = {file.name for file in path.iterdir()}
        else:
            self._files[path] = path.read_bytes()

    def write_to(self, target: Path, folder: Path | None = None) -> None:
        """Write the remaining files."""
        folder = folder or self._folder
        target.mkdir()
        for name in self._names.get(folder, ()):
            place = folder / name
            if place in self._names or place.is_dir():
                self.write_to(target / name, place)
            else:
                (target / name).write_bytes(self._files.get(place, b""))


@contextmanager
def power_cuts(disk: Disk, targets: Path) -> Iterator[None]:
    """Write the remaining files of power cuts after calls of fsync."""

    def sync(descriptor: int) -> None:
        disk.sync(descriptor)
        if not disk.num_syncs % STEP:
            disk.write_to(targets / f"{disk.num_syncs:04}")

    with mock.patch.object(os, "fsync", sync):
        yield


def test_catalog_after_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All listed contents can be read, and all published revisions are listed."""
    monkeypatch.setattr(delta, "_CHECKPOINT_EVERY", 2)
    monkeypatch.setattr(whole_table, "_MAX_FILES", 3)
    monkeypatch.setattr(sorted_table, "SMALL_RUNS", 2)
    folder, targets = tmp_path / "site", tmp_path / "left"
    folder.mkdir()
    targets.mkdir()
    disk, catalog = Disk(folder), Catalog(str(folder / "catalog"))
    published = {0: 0}
    with power_cuts(disk, targets):
        for number in range(3):
            publish_state(catalog, number)
            published[disk.num_syncs] = number + 1
            if disk.num_syncs % STEP:
                disk.write_to(targets / f"{disk.num_syncs:04}")
        remove(catalog, plan(catalog, catalog.history.of_tag(TAGS[0])[-1:]))
    assert disk.num_syncs > 100
    least = 0
    for target in sorted(targets.iterdir()):
        number = int(target.name)
        least = published.get(number, least)
        remaining = Catalog(str(target / "catalog"))
        remaining.refresh(missing_ok=not least)
        history = remaining.history
        assert len(history.of_tag(TAGS[1])) >= least
        assert all(len(remaining.reader().frame(digest)) for digest in history.digests)
        if number in published or (least and number % 20 == 0):
            verified = verify(remaining.location)
            assert [finding for finding in verified.findings if finding.is_damage] == []


@pytest.fixture(scope="module")
def two_states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish two states once for all tests."""
    return published(tmp_path_factory.mktemp("two-states"), 2)


@pytest.mark.parametrize(
    ("table", "damage"),
    [(table, damage) for table in TABLES for damage in DAMAGES][:: 4 if IS_QUICK else 1],
)
def test_unreadable_last_commit(table: str, damage: str, two_states: Path, tmp_path: Path) -> None:
    """The error names the remedy, which drops it; earlier revisions remain."""
    catalog = copied(two_states, tmp_path)
    log_folder = tmp_path / table / "_delta_log"
    last = f"{max(int(file.stem) for file in log_folder.glob('*.json')) + 1:020}.json"
    (log_folder / last).write_bytes(DAMAGES[damage])
    damaged = [finding for finding in verify(catalog.location).findings if finding.is_damage]
    assert damaged
    assert all(f"{table}/_delta_log/{last}" in finding.reason for finding in damaged)
    assert all("'cachelog verify --repair' drops it" in str(finding) for finding in damaged)
    if table in ("revisions", "specs"):
        with pytest.raises(CatalogError, match=rf"{last} is .*; if the power was cut.*; else re"):
            publish(Catalog(catalog.location), 2, 2)

    repaired = verify(catalog.location, repair=True)
    assert repaired.is_sound
    assert f"{last} was unreadable, and is dropped" in str(repaired.findings[0])
    assert repaired.num_revisions == 2
    publish(Catalog(catalog.location), 2, 2)
    assert verify(catalog.location, deep=True).findings == ()


def test_unreadable_last_checkpoint(log: Path) -> None:
    """It is dropped if the commits that it was made of exist."""
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-9])
    location = str(log.parent.parent)
    with pytest.raises(
        CatalogError, match=r"is not a checkpoint.*; if the power was cut.*; else re"
    ):
        Catalog(location).refresh()
    repaired = verify(location, repair=True)
    assert repaired.is_sound
    assert repaired.num_revisions == (COMMITS - 1) * len(TAGS)


def test_required_files_are_not_dropped(log: Path) -> None:
    """Earlier commits, and a checkpoint without the commits before it, need a backup."""
    location = str(log.parent.parent)
    (log / f"{2:020}.json").write_bytes(b"")
    with pytest.raises(CatalogError, match="is empty; restore it from a copy"):
        Catalog(location).refresh()
    (log / f"{2:020}.json").unlink()
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(b"")
    before = {file.name for file in log.iterdir()}
    assert not verify(location, repair=True).is_sound
    assert {file.name for file in log.iterdir()} == before

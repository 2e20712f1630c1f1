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
from tests.snapshots.keeping import publish, published
from tests.snapshots.templates import copied

__all__ = ["log", "template"]

STEP = 10 if IS_QUICK else 1
"""A power cut comes after so many calls of fsync, and again after as many, and so on."""

TABLES = ("revisions", "specs", "comparisons", "changes", "hashes")
DAMAGES = {"empty": b"", "zeros": bytes(40), "half": b'{"add":{"path":"a.par'}


class Disk:
    """The files that remain of a folder: with synced bytes, under synced names.

    Everything else is lost, or an empty file if only its name was synced.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, bytes] = {}
        self._names: dict[Path, set[str]] = {}
        self.num_syncs = 0

    def sync(self, descriptor: int) -> None:
        """Record the effect of a call of fsync."""
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        self.num_syncs += 1
        if place.is_dir():
            self._names[place] = {it.name for it in place.iterdir()}
        else:
            self._files[place] = place.read_bytes()

    def lay_out(self, target: Path, folder: Path | None = None) -> None:
        """Write the remaining files."""
        folder = folder or self._folder
        target.mkdir()
        for name in self._names.get(folder, ()):
            place = folder / name
            if place in self._names or place.is_dir():
                self.lay_out(target / name, place)
            else:
                (target / name).write_bytes(self._files.get(place, b""))


@contextmanager
def power_cuts(disk: Disk, targets: Path) -> Iterator[None]:
    """Write the remaining files of power cuts after calls of fsync."""

    def sync(descriptor: int) -> None:
        disk.sync(descriptor)
        if not disk.num_syncs % STEP:
            disk.lay_out(targets / f"{disk.num_syncs:04}")

    with mock.patch.object(os, "fsync", sync):
        yield


def test_after_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it comes, all that is listed can be read, and all that was published is listed."""
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
                disk.lay_out(targets / f"{disk.num_syncs:04}")
        remove(catalog, plan(catalog, catalog.history.of_tag(TAGS[0])[-1:]))
    assert disk.num_syncs > 100
    least = 0
    for left_over in sorted(targets.iterdir()):
        number = int(left_over.name)
        least = published.get(number, least)
        left = Catalog(str(left_over / "catalog"))
        left.refresh(missing_ok=not least)
        history = left.history
        assert len(history.of_tag(TAGS[1])) >= least
        assert all(len(left.load(digest)) for digest in history.digests)
        if number in published or (least and number % 20 == 0):
            verified = verify(left.location)
            assert [it for it in verified.findings if it.is_damage] == []


@pytest.fixture(scope="module")
def two_states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish two states once for all tests."""
    return published(tmp_path_factory.mktemp("two-states"), 2)


@pytest.mark.parametrize(
    ("table", "damage"),
    [(table, damage) for table in TABLES for damage in DAMAGES][:: 4 if IS_QUICK else 1],
)
def test_an_unreadable_last_commit(
    table: str, damage: str, two_states: Path, tmp_path: Path
) -> None:
    """It is named with what drops it; then all that was published before is there."""
    catalog = copied(two_states, tmp_path)
    log_folder = tmp_path / table / "_delta_log"
    last = f"{max(int(it.stem) for it in log_folder.glob('*.json')) + 1:020}.json"
    (log_folder / last).write_bytes(DAMAGES[damage])
    damaged = [it for it in verify(catalog.location).findings if it.is_damage]
    assert damaged
    assert all(f"{table}/_delta_log/{last}" in it.reason for it in damaged)
    assert all("'cachelog verify --repair' drops it" in str(it) for it in damaged)
    if table in ("revisions", "specs"):
        with pytest.raises(CatalogError, match=rf"{last} is .*; if the power was cut.*; else re"):
            publish(Catalog(catalog.location), 2, 2)

    repaired = verify(catalog.location, repair=True)
    assert repaired.is_sound
    assert f"{last} was unreadable, and is dropped" in str(repaired.findings[0])
    assert repaired.num_revisions == 2
    publish(Catalog(catalog.location), 2, 2)
    assert verify(catalog.location, deep=True).findings == ()


def test_an_unreadable_last_checkpoint(log: Path) -> None:
    """It is dropped where the commits that it was made of are there."""
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


def test_what_is_needed_is_not_dropped(log: Path) -> None:
    """Commits in the middle, and a checkpoint without the commits before it, are for a copy."""
    location = str(log.parent.parent)
    (log / f"{2:020}.json").write_bytes(b"")
    with pytest.raises(CatalogError, match="is empty; restore it from a copy"):
        Catalog(location).refresh()
    (log / f"{2:020}.json").unlink()
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(b"")
    before = {it.name for it in log.iterdir()}
    assert not verify(location, repair=True).is_sound
    assert {it.name for it in log.iterdir()} == before

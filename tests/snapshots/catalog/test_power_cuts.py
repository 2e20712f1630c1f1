"""Power cuts: the files on disk are a catalog with everything that was reported as published."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.verification import verify
from tests.expensive import IS_QUICK
from tests.snapshots.importers import TAGS, publish_state

STEP = 10 if IS_QUICK else 1
"""Number of calls of fsync between simulated power cuts."""


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
    monkeypatch.setattr(delta, "CHECKPOINT_EVERY", 2)
    monkeypatch.setattr(delta, "MIN_FILES", 2)
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

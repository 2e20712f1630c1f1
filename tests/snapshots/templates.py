"""Folders that many tests start from: made once, and read only or copied for each test."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot


def catalog_of(folder: Path, *snapshots: Snapshot) -> Path:
    """Publish snapshots to a new catalog in a folder; return the folder."""
    Catalog(str(folder)).publish(snapshots)
    return folder


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that only the first worker of a run makes; tests only read it."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # that of the run
    folder = root / name
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = root / f"{name}.unfinished"
            make(unfinished)
            unfinished.rename(folder)
    return folder


def copied(template: Path, folder: Path) -> Catalog:
    """Copy a catalog to a folder, and return it opened there."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    catalog = Catalog(str(folder))
    catalog.refresh()
    return catalog


def reopened(catalog: Catalog) -> Catalog:
    """Return the same catalog as another process opens it."""
    other = Catalog(catalog.location)
    other.refresh()
    return other

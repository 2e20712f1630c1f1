"""Catalogs that many tests start from: published once, and copied for each test."""

import shutil
from pathlib import Path

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot


def catalog_of(folder: Path, *snapshots: Snapshot) -> Path:
    """Publish snapshots to a new catalog in a folder; return the folder."""
    Catalog(str(folder)).publish(snapshots)
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

"""Catalogs that many tests start from: published once, and copied for each test."""

import shutil
from pathlib import Path

from snapshots.catalog.catalog import Catalog


def copied(template: Path, folder: Path) -> Catalog:
    """Copy a catalog to a folder, and return it opened there."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    catalog = Catalog(str(folder))
    catalog.refresh()
    return catalog

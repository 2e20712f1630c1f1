"""Catalogs that many tests begin with: published once, and copied for each of them."""

import shutil
from pathlib import Path

from snapshots.catalog.catalog import Catalog


def copied(template: Path, folder: Path) -> Catalog:
    """Copy a catalog into a folder, and return it as whoever opens it there has it."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    catalog = Catalog(str(folder))
    catalog.refresh()
    return catalog

"""The table ``costs``: replaced as a whole, and optional."""

from pathlib import Path

import numpy as np
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.copies import backup
from snapshots.catalog.library import Library
from snapshots.changes.costs import BuildCost
from snapshots.errors import CatalogError
from tests.snapshots.costs import rows
from tests.snapshots.factories import a_snapshot, a_spec


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog with one spec."""
    made = Catalog(str(tmp_path / "catalog"))
    made.publish([a_snapshot([a_spec("a", name="zlib")], "develop")])
    return made


def cost(catalog: Catalog) -> BuildCost | None:
    """Return the cost of building the spec."""
    costs = Library(catalog).costs_of(catalog.require_history().revisions[0])
    return None if costs is None else costs.total(np.array([0]))


def test_each_import_replaces_what_was_there(catalog: Catalog) -> None:
    """Others see it with their next refresh; without rows there are none."""
    other = Catalog(catalog.location)
    assert cost(catalog) is None
    catalog.costs.replace(rows((None, "zlib", 5.0, None), (None, "png", 1.0, None)))
    generation = other.generation
    assert cost(other) == BuildCost(5.0, None, None, 1, 0)
    assert other.generation != generation
    assert not other.costs.refresh()
    catalog.costs.replace(rows((None, "zlib", 7.0, 1.0), unit="usd"))
    assert cost(catalog) == cost(other) == BuildCost(7.0, 1.0, "usd", 1, 0)
    catalog.costs.replace(rows())
    assert cost(catalog) is None
    assert cost(other) is None


def test_a_damaged_file_is_named(catalog: Catalog) -> None:
    """What it takes to build is not made up of what is left."""
    catalog.costs.replace(rows((None, "zlib", 5.0, None)))
    (file,) = (Path(catalog.location) / "costs").glob("*.parquet")
    file.write_bytes(b"PAR1")
    with pytest.raises(CatalogError, match=file.name):
        cost(Catalog(catalog.location))


def test_a_broken_log_is_no_table(catalog: Catalog) -> None:
    """There are no costs then; a new import says what is broken."""
    catalog.costs.replace(rows((None, "zlib", 5.0, None)))
    for file in (Path(catalog.location) / "costs/_delta_log").iterdir():
        file.write_text("{")
    assert cost(Catalog(catalog.location)) is None
    with pytest.raises(CatalogError, match="costs"):
        catalog.costs.replace(rows())


def test_costs_are_copied(catalog: Catalog, tmp_path: Path) -> None:
    """A backup has them."""
    catalog.costs.replace(rows((None, "zlib", 5.0, None)))
    backup(catalog.location, str(tmp_path / "copy"))
    assert cost(Catalog(str(tmp_path / "copy"))) == BuildCost(5.0, None, None, 1, 0)

"""The optional table ``costs``, which each import replaces."""

from pathlib import Path

import numpy as np
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.copies import backup
from snapshots.catalog.costs_table import COSTS_TABLE
from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.library import Library
from snapshots.changes.costs import BuildCost
from snapshots.errors import CatalogError
from snapshots.tables import COSTS
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


def test_imports_replace_the_costs(catalog: Catalog) -> None:
    """Other processes see the costs with their next refresh; a table without rows has none."""
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


def test_killed_import(catalog: Catalog) -> None:
    """An import of costs that was killed after it created the table leaves no costs."""
    CatalogTable(catalog.storage, COSTS_TABLE, COSTS).prepare()
    assert cost(Catalog(catalog.location)) is None


def test_damaged_file(catalog: Catalog) -> None:
    """The error names it: no costs are computed from the rest."""
    catalog.costs.replace(rows((None, "zlib", 5.0, None)))
    (file,) = (Path(catalog.location) / "costs").glob("*.parquet")
    file.write_bytes(b"PAR1")
    with pytest.raises(CatalogError, match=file.name):
        cost(Catalog(catalog.location))


def test_broken_log(catalog: Catalog) -> None:
    """The catalog has no costs; an import of costs fails with the reason."""
    catalog.costs.replace(rows((None, "zlib", 5.0, None)))
    for file in (Path(catalog.location) / "costs/_delta_log").iterdir():
        file.write_text("{")
    assert cost(Catalog(catalog.location)) is None
    with pytest.raises(CatalogError, match="costs"):
        catalog.costs.replace(rows())


def test_costs_are_copied(catalog: Catalog, tmp_path: Path) -> None:
    """A backup includes the costs."""
    catalog.costs.replace(rows((None, "zlib", 5.0, None)))
    backup(catalog.location, str(tmp_path / "copy"))
    assert cost(Catalog(str(tmp_path / "copy"))) == BuildCost(5.0, None, None, 1, 0)

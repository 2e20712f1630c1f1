"""Fixtures: a small catalog, and processes that import."""

from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.locations import parse_location
from snapshots.catalog.storage import Storage
from tests.snapshots.removal_catalogs import published
from tests.snapshots.templates import copied


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return the storage of a folder."""
    return Storage(parse_location(str(tmp_path)))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish three states, once for all tests."""
    return published(tmp_path_factory.mktemp("template"), 3)


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog of three states of develop, one per day."""
    return copied(template, tmp_path / "catalog")

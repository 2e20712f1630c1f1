"""A catalog to remove from."""

from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.snapshots.keeping import published
from tests.snapshots.templates import copied


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish three states, once for all tests."""
    return published(tmp_path_factory.mktemp("template"), 3)


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog of three states of develop, a day apart."""
    return copied(template, tmp_path / "catalog")

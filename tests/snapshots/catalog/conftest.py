"""A small catalog, processes that import, contents that share their rows."""

from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.snapshots import forks, overlays
from tests.snapshots.keeping import published
from tests.snapshots.templates import copied


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Return a context whose processes start fast: what they import is there already."""
    return forks.begin_anew()


@pytest.fixture
def laid_always() -> Iterator[None]:
    """Lay every content over another one that can be, however small."""
    with overlays.laid_always():
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish three states, once for all tests."""
    return published(tmp_path_factory.mktemp("template"), 3)


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog of three states of develop, a day apart."""
    return copied(template, tmp_path / "catalog")

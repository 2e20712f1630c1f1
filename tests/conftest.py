"""Fixtures that several floors' tests share: what takes long to make is made once."""

from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history


@pytest.fixture(scope="session")
def demo_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a small made-up history, for tests that only read it."""
    folder = tmp_path_factory.mktemp("demo")
    Catalog(str(folder)).publish(list(history(revisions=5, packages=40, specs=400)))
    return folder

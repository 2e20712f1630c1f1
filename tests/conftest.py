"""Fixtures that several floors' tests share: what takes long to make is made once."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history

# HYPOTHESIS_PROFILE=default makes twice as many.
settings.register_profile("suite", max_examples=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(scope="session")
def demo_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a small made-up history, for tests that only read it."""
    folder = tmp_path_factory.mktemp("demo")
    Catalog(str(folder)).publish(list(history(revisions=5, packages=40, specs=400)))
    return folder

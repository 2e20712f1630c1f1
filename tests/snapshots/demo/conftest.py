"""The demo's history, which takes long to generate and is only read."""

import pytest

from snapshots.contents import Snapshot
from snapshots.demo import history


@pytest.fixture(scope="session")
def revisions() -> list[Snapshot]:
    """Return the default history."""
    return list(history())

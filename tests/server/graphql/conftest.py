"""Lanes of threads that end with the test."""

from collections.abc import Iterator

import pytest

from server.graphql.lanes import Lanes
from server.settings import Settings


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    """Return lanes as a server has them by default."""
    lanes = Lanes.of(Settings())
    yield lanes
    lanes.close()

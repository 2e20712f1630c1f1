"""Processes that import, contents that share their rows."""

from collections.abc import Iterator
from multiprocessing.context import ForkServerContext

import pytest

from tests.snapshots import forking, laying


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Return a context whose processes start fast: what they import is there already."""
    return forking.begin_anew()


@pytest.fixture
def laid_always() -> Iterator[None]:
    """Lay every content over another one that can be, however small."""
    with laying.laid_always():
        yield

"""Ways to map a function on one machine, processes that import, contents that share their rows."""

from collections.abc import Iterator
from multiprocessing.context import ForkServerContext

import pytest

from snapshots.catalog.bulk.mapping import has_daft
from tests.snapshots import forking, laying

_BY_DAFT = pytest.param(
    "daft", marks=pytest.mark.skipif(not has_daft(), reason="Daft is not installed")
)


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Return a context whose processes start fast: what they import is there already."""
    return forking.begin_anew()


@pytest.fixture(params=["pool", _BY_DAFT])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Map in a pool of processes, and by Daft where that is installed."""
    request.getfixturevalue("processes")
    way: str = request.param
    if way == "pool":
        monkeypatch.setattr("snapshots.catalog.bulk.mapping.has_daft", bool)
    return way


@pytest.fixture
def laid_always() -> Iterator[None]:
    """Lay every content over another one that can be, and give it a tail, however small."""
    with laying.laid_always():
        yield

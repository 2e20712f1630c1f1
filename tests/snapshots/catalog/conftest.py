"""The ways that a function can be mapped over what a catalog has, on one machine."""

import gc
from collections.abc import Iterator

import pytest

from snapshots.catalog.bulk.mapping import has_daft

_BY_DAFT = pytest.param(
    "daft",
    marks=[
        pytest.mark.skipif(not has_daft(), reason="Daft is not installed"),
        # It does not close the pipe to a process that has ended.
        pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    ],
)


@pytest.fixture(params=["pool", _BY_DAFT])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Map in a pool of processes, and by Daft where that is installed."""
    if request.param == "pool":
        monkeypatch.setattr("snapshots.catalog.bulk.mapping.has_daft", bool)
    yield request.param
    gc.collect()

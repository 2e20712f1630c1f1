"""The HTTP server of tests that read over the network."""

from collections.abc import Iterator

import pytest

from snapshots.sources import boundary
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 unless a path has another reply."""
    with serving() as running:
        yield running


@pytest.fixture
def as_if_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the server's own address as public."""
    special = boundary.kind_of
    monkeypatch.setattr(
        boundary, "kind_of", lambda address: None if address == "127.0.0.1" else special(address)
    )

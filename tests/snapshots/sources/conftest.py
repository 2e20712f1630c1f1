"""The HTTP server of tests that read over the network."""

from collections.abc import Iterator

import pytest

from tests.snapshots.sources.buildcache.misbehaving_servers import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 unless a path has another reply."""
    with serving() as running:
        yield running

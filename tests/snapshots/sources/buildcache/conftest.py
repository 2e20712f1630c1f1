"""The server that tests of reading over HTTP talk to."""

from collections.abc import Iterator

import pytest

from tests.snapshots.sources.buildcache.misbehaving import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 until told otherwise."""
    with serving() as running:
        yield running

"""A server that is started once, for all tests that only ask it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.asgi.lanes import Lanes
from server.settings import Settings
from tests.server.servers import Server, serving


@pytest.fixture(scope="session")
def demo_server(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server of the demo catalog."""
    log = tmp_path_factory.mktemp("server") / "serve.log"
    with serving(demo_catalog, log) as server:
        yield server


@pytest.fixture(scope="session")
def client(demo_server: Server) -> Iterator[httpx.Client]:
    """Return a client of that server, which keeps its connections."""
    with httpx.Client(base_url=demo_server.url) as client:
        yield client


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    """Return lanes of threads as a server has them by default; they end with the test."""
    lanes = Lanes.of(Settings())
    yield lanes
    lanes.close()

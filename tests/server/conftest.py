"""A server and a browser that are started once, for all tests that use them."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium import webdriver

from server.asgi.lanes import Lanes
from server.settings import Settings
from tests.server.browsers import chromium_in, fresh_profile
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


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Return a headless Chromium; ``browser`` is what a test asks for."""
    with chromium_in(tmp_path_factory.mktemp("chromium")) as chromium:
        yield chromium


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Return that Chromium with a profile that no other test has used."""
    with fresh_profile(chromium) as browser:
        yield browser


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run tests that are coroutines by asyncio, as the server does."""
    return "asyncio"

"""Servers and a browser that are started once for all tests."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium import webdriver

from server.asgi.lanes import Lanes
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from tests.server import npm
from tests.server.browsers import chromium_in, fresh_profile
from tests.server.pages.browser import complaints, seen_as
from tests.server.pages.recipes import import_recipes
from tests.server.servers import Server, application, serving
from tests.snapshots.templates import made_once

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "clients"


@pytest.fixture(scope="session")
def demo_server(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server of the demo catalog."""
    log = tmp_path_factory.mktemp("server") / "serve.log"
    with serving(demo_catalog, log) as server:
        yield server


@pytest.fixture
def new_server_url(demo_catalog: Path) -> Iterator[str]:
    """Return the URL of a new server of the demo catalog, without registered documents."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="session")
def client(demo_server: Server) -> Iterator[httpx.Client]:
    """Return a client of the demo server, which reuses its connections."""
    with httpx.Client(base_url=demo_server.url) as client:
        yield client


@pytest.fixture(scope="session")
def history_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of five weeks of develop with commits of recipes; tests only read it."""

    def make(folder: Path) -> None:
        catalog = Catalog(str(folder))
        catalog.publish(list(develop_history(revisions=5, packages=24, specs=150)))
        import_recipes(catalog, sorted(catalog.package_names())[::2])

    return made_once(tmp_path_factory, "history", make)


@pytest.fixture(scope="session")
def history_client(history_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of a server of the history catalog."""
    with application(Settings(catalog=str(history_catalog))) as client:
        yield client


@pytest.fixture(scope="session")
def typescript_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of clients/typescript, built as npm publishes it."""

    def make(folder: Path) -> None:
        folder.mkdir()
        package = npm.installed(CLIENTS / "typescript", folder)
        npm.run(package, "build.mjs", ROOT / "schema/schema.graphql", CLIENTS / "documents")
        npm.run(package, "node_modules/typescript/bin/tsc")

    return made_once(tmp_path_factory, "client", make) / "typescript"


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    """Return lanes with the default number of threads."""
    lanes = Lanes.of_server()
    yield lanes
    lanes.close()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Return a headless Chromium; tests use ``browser``."""
    with chromium_in(tmp_path_factory.mktemp("chromium")) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def profile(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Return a browser with a new profile for a module, whose tests share its cached scripts."""
    with fresh_profile(chromium) as browser:
        yield browser


@pytest.fixture
def browser(profile: webdriver.Chrome) -> webdriver.Chrome:
    """Return the browser of the module with an empty page and console, and a wide window."""
    profile.get("about:blank")
    profile.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    seen_as(profile, "light", 1600)
    complaints(profile)
    return profile


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run coroutines with asyncio, as the server does."""
    return "asyncio"

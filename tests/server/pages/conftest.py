"""The demo as `cachelog serve --demo` shows it, but smaller: with a series that has a past."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from tests.server import npm
from tests.server.pages.recipes import keep_recipes
from tests.server.pages.tour import tour
from tests.server.servers import Server, serving

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def told_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with five weeks of develop and their commits, which tests only read."""
    folder = tmp_path_factory.mktemp("told")
    catalog = Catalog(str(folder))
    catalog.publish(list(develop_history(revisions=5, packages=24, specs=150)))
    keep_recipes(catalog, sorted(catalog.package_names())[::2])
    return folder


@pytest.fixture(scope="session")
def told_server(told_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server of that catalog."""
    log = tmp_path_factory.mktemp("telling") / "serve.log"
    with serving(told_catalog, log) as server:
        yield server


@pytest.fixture(scope="session")
def told(told_server: Server) -> Iterator[httpx.Client]:
    """Return a client of that server."""
    with httpx.Client(base_url=told_server.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def pages(told: httpx.Client) -> dict[str, str]:
    """Return the addresses of all its pages, by what they show."""
    return {name: str(told.base_url.join(it)) for name, it in tour(told).items()}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core."""
    return (
        npm.installed(HERE / "axe", tmp_path_factory.mktemp("axe"))
        / "node_modules/axe-core/axe.min.js"
    ).read_text()

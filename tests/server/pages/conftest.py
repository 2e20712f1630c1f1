"""The demo as `cachelog serve --demo` shows it, but smaller: with a series that has a past."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium import webdriver

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from tests.server import npm
from tests.server.browsers import fresh_profile
from tests.server.pages.recipes import keep_recipes
from tests.server.pages.seeing import complaints, seen_as
from tests.server.pages.tour import tour
from tests.server.servers import application

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def history_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with five weeks of develop and their commits, which tests only read."""
    folder = tmp_path_factory.mktemp("history")
    catalog = Catalog(str(folder))
    catalog.publish(list(develop_history(revisions=5, packages=24, specs=150)))
    keep_recipes(catalog, sorted(catalog.package_names())[::2])
    return folder


@pytest.fixture(scope="session")
def history_client(history_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of a server of that catalog."""
    with application(Settings(catalog=str(history_catalog))) as client:
        yield client


@pytest.fixture(scope="session")
def addresses(history_client: httpx.Client) -> dict[str, str]:
    """Return the addresses of all its pages, from its root on, by what they show."""
    return tour(history_client)


@pytest.fixture(scope="session")
def pages(history_client: httpx.Client, addresses: dict[str, str]) -> dict[str, str]:
    """Return the same addresses for a browser."""
    return {name: str(history_client.base_url.join(path)) for name, path in addresses.items()}


@pytest.fixture(scope="module")
def profile(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Return a browser with a profile that the tests of a module share."""
    with fresh_profile(chromium) as browser:
        yield browser


@pytest.fixture
def browser(profile: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Return a browser with scripts and a wide window, whose console stays empty."""
    profile.get("about:blank")
    profile.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    seen_as(profile, "light", 1600)
    complaints(profile)
    yield profile
    assert complaints(profile) == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core."""
    return (
        npm.installed(HERE / "axe", tmp_path_factory.mktemp("axe"))
        / "node_modules/axe-core/axe.min.js"
    ).read_text()

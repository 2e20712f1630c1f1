"""A smaller form of the demo that `cachelog serve --demo` shows, with a series with a history."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from selenium import webdriver

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.models import Spec
from tests.demo_histories import history
from tests.server import npm
from tests.server.pages.browser import complaints
from tests.server.pages.page_reader import Serve
from tests.server.pages.tour import tour
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, day

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def addresses(history_client: httpx.Client) -> dict[str, str]:
    """Return the paths of all its pages, by name."""
    return tour(history_client)


@pytest.fixture(scope="session")
def pages(history_client: httpx.Client, addresses: dict[str, str]) -> dict[str, str]:
    """Return their addresses for a browser, by name."""
    return {name: str(history_client.base_url.join(path)) for name, path in addresses.items()}


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog with a small history, which tests only read."""
    folder = str(tmp_path_factory.mktemp("small"))
    Catalog(folder).publish(list(history(revisions=2, packages=6, specs=60)))
    return folder


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Return a function that serves snapshots, or states of develop and other tags by the day."""
    with ExitStack() as servers:

        def begin(
            *states: Snapshot | Iterable[Spec], **others: Sequence[Iterable[Spec]]
        ) -> httpx.Client:
            snapshots = [
                state if isinstance(state, Snapshot) else a_snapshot(state, tag, day(number))
                for tag, of_tag in {"develop": states, **others}.items()
                for number, state in enumerate(of_tag)
            ]
            folder = str(tmp_path_factory.mktemp("served"))
            Catalog(folder).publish(snapshots)
            return servers.enter_context(application(Settings(catalog=folder)))

        yield begin


@pytest.fixture
def browser(browser: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Return a browser whose console must stay empty."""
    yield browser
    assert complaints(browser) == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core."""
    return (
        npm.installed(HERE / "axe", tmp_path_factory.mktemp("axe"))
        / "node_modules/axe-core/axe.min.js"
    ).read_text()

"""The documentation site: it is built strictly, is whole, and can be read at every width."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePath
from threading import Thread

import pytest
from graphql import build_schema
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from docs.hooks import ELSEWHERE
from schema import api
from tests.server.browsers import SECONDS
from tests.server.pages.seeing import complaints, loaded, seen_as, settle, sideways
from tests.server.test_cli import EVERY

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site: a link that dangles, or a document that no menu has, is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    """Serve the site; return its address."""
    handler = partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    return set(re.findall(r'<h2 id="([^"]+)"', page.read_text("utf-8")))


def test_each_document_is_a_page(site: Path) -> None:
    """Those of docs/, and those of other folders."""
    names = {it.stem for it in (ROOT / "docs").glob("*.md")}
    names |= {PurePath(it).stem for it in ELSEWHERE.values()}
    assert {it.stem for it in site.glob("*.html")} == names | {"404"}


def test_each_command_and_type_is_there(site: Path) -> None:
    """As the program and the schema have them."""
    reference = site / "reference"
    assert anchors(reference / "commands.html") == {path.replace(" ", "-") for path in EVERY}
    names = {name.lower() for name in build_schema(api.sdl()).type_map if name[:2] != "__"}
    pages = ("queries", "objects", "inputs", "enums")
    shown = set().union(*(anchors(reference / f"{page}.html") for page in pages))
    assert shown == {name for name in names if not name.endswith(("connection", "edge"))}


PAGES = ("index", "settings", "tables", "reference/commands", "reference/objects")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_pages_can_be_read(
    browser: webdriver.Chrome, url: str, page: str, scheme: str, width: int
) -> None:
    """In both colours, on a telephone too; they load nothing from other servers."""
    seen_as(browser, scheme, width)
    browser.get(f"{url}/{page}.html")
    settle(browser)
    assert sideways(browser) == 0
    assert complaints(browser) == []
    assert [name for name in loaded(browser) if not name.startswith(url)] == []
    shown = browser.find_element(By.TAG_NAME, "body").get_attribute("data-md-color-scheme")
    assert shown == {"light": "default", "dark": "slate"}[scheme]


def test_words_are_found(browser: webdriver.Chrome, url: str) -> None:
    """The search leads to the setting."""
    seen_as(browser, "light", 1280)
    browser.get(f"{url}/index.html")
    settle(browser)
    field = browser.find_element(By.CSS_SELECTOR, ".md-search__input")
    field.click()
    field.send_keys("CACHELOG_HEARTBEAT")
    found = ".md-search-result__link"
    WebDriverWait(browser, SECONDS).until(
        lambda _: any(
            "settings.html" in (link.get_attribute("href") or "")
            for link in browser.find_elements(By.CSS_SELECTOR, found)
        )
    )

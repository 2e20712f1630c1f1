"""The documentation site: it builds strictly, is complete, and is readable at every width."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePath

import pytest
from graphql import build_schema
from selenium import webdriver
from selenium.webdriver.common.by import By

from docs.hooks import ELSEWHERE
from schema import api
from tests.server.browsers import paste
from tests.server.pages.browser import complaints, loaded, seen_as, settle, sideways
from tests.server.servers import serving_files, until
from tests.server.test_cli import COMMANDS

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://git.example/cachelog"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a broken link, or a document without a menu entry, is an error."""
    folder = tmp_path_factory.mktemp("site")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "CACHELOG_BUILD_REPOSITORY": REPOSITORY},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    """Serve the site; return its URL."""
    with serving_files(site) as url:
        yield url


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    return set(re.findall(r'<h2 id="([^"]+)"', page.read_text("utf-8")))


def test_each_document_is_a_page(site: Path) -> None:
    """Those of docs/, and those of other folders."""
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    names |= {PurePath(path).stem for path in ELSEWHERE.values()}
    assert {path.stem for path in site.glob("*.html")} == names | {"404"}


def test_reference_is_complete(site: Path) -> None:
    """It has all commands of the program and all types of the schema."""
    reference = site / "reference"
    assert anchors(reference / "commands.html") == {path.replace(" ", "-") for path in COMMANDS}
    names = {name.lower() for name in build_schema(api.sdl()).type_map if name[:2] != "__"}
    pages = ("queries", "objects", "inputs", "enums")
    scheme_of_page = set().union(*(anchors(reference / f"{page}.html") for page in pages))
    assert scheme_of_page == {name for name in names if not name.endswith(("connection", "edge"))}


@pytest.mark.parametrize(
    ("page", "scheme", "width"),
    [
        ("index", "light", 1280),
        ("tables", "dark", 390),
        ("reference/commands", "light", 390),
        ("reference/objects", "dark", 390),
    ],
)
def test_pages_fit_the_window(
    browser: webdriver.Chrome, url: str, page: str, scheme: str, width: int
) -> None:
    """In both colour schemes and on phones; they load nothing from other servers."""
    seen_as(browser, scheme, width)
    browser.get(f"{url}/{page}.html")
    settle(browser)
    assert sideways(browser) == 0
    assert complaints(browser) == []
    assert [name for name in loaded(browser) if not name.startswith(url)] == []
    scheme_of_page = browser.find_element(By.TAG_NAME, "body").get_attribute("data-md-color-scheme")
    assert scheme_of_page == {"light": "default", "dark": "slate"}[scheme]


SEARCHES = {
    "install": "install.html",
    "import public cache": "real-cache.html",
    "why was hdf5 rebuilt": "real-cache.html",
    "publish release notes": "notes.html",
    "embed a package": "api.html",
    "run two replicas": "object-storage.html",
    "prune": "keeping.html",
    "upgrade": "install.html",
    "CACHELOG_REFRESH": "settings.html",
}
"""Searches of new readers, and the relevant page of each."""

_RESULTS = """
[...document.querySelectorAll(".md-search-result__item > .md-search-result__link")]
  .map((link) => link.pathname)
"""


def test_search_ranks_the_relevant_page_first(browser: webdriver.Chrome, url: str) -> None:
    """The page is among the first three results."""
    seen_as(browser, "light", 1280)
    browser.get(f"{url}/index.html")
    settle(browser)
    field = browser.find_element(By.CSS_SELECTOR, ".md-search__input")
    field.click()
    for words, page in SEARCHES.items():
        paste(browser, words)
        is_shown = f"return ({_RESULTS}).slice(0, 3).includes(arguments[0])"
        until(partial(browser.execute_script, is_shown, f"/{page}"), f"{words}: {page}")
        field.clear()
        is_empty = f"return ({_RESULTS}).length === 0"
        until(partial(browser.execute_script, is_empty), "the results of the last search are gone")


@pytest.mark.parametrize("path", ["nothing.html", "a/b/c/"])
def test_unknown_url_has_a_page(browser: webdriver.Chrome, url: str, path: str) -> None:
    """Its links work at any depth of the URL."""
    seen_as(browser, "light", 1280)
    browser.get(f"{url}/{path}")
    settle(browser)
    assert "404" in browser.find_element(By.TAG_NAME, "h1").text
    link = browser.find_element(By.CSS_SELECTOR, ".md-tabs a[href*='install']")
    assert link.get_attribute("href") == f"{url}/install.html"
    assert all(path in complaint["message"] for complaint in complaints(browser))
    assert [name for name in loaded(browser) if not name.startswith(url)] == []

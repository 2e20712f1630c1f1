"""A site: its pages equal those of a server, and its search works on local files."""

import posixpath
import re
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import orjson
import pytest
from lxml import html
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from starlette.routing import compile_path

from server.pages.routes import PAGES
from snapshots.catalog.catalog import Catalog
from snapshots.models import Dependency
from tests.server.browsers import wait_for
from tests.server.pages.browser import settle
from tests.server.site.sites import export, files_in
from tests.snapshots.factories import a_snapshot, a_spec, day

ONLY_OF_A_SERVER = {
    "/search",
    "/specs",
    "/specs/{base}...{head}",
    "/compare",
    "/badge/{ref}/{name}.svg",
    "/badge/{ref}/{name}.json",
    "/compare/{base}...{head}/notes.md",  # which is not HTML
    "/compare/{base}...{head}/causes/{cause}",
    "/compare/{base}...{head}/packages/{packages}/commits",
    "/compare/{base}...{head}/specs/{hashPrefix}/commits",
}
BASE = ("--base-url", "https://example.org/cache")


def kind_of(file: str) -> str:
    """Return the path of the page that a server has at the URL of a file."""
    path = address_of(file)
    return next(page.path for page in PAGES if compile_path(page.path)[0].match(path))


def address_of(file: str) -> str:
    """Return the path of a page on a server by its file."""
    return "/" + file.removesuffix("index.html").rstrip("/")


@pytest.fixture(scope="module")
def site(history_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the newest revisions of a series with commits; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    result = export(history_catalog, folder, "--last", 2, "--limit", 2, *BASE)
    assert (result.code, result.out) == (0, ""), result.err
    assert re.match(r"\d+ files written in ", result.err)
    return folder


def test_pages_equal_those_of_a_server(site: Path, history_client: httpx.Client) -> None:
    """Except for interactive parts; notes in Markdown are equal byte for byte."""
    files = [file for file in files_in(site) if file.endswith("index.html")]
    pages = {kind_of(file): file for file in files}
    assert {page.path for page in PAGES} - pages.keys() == ONLY_OF_A_SERVER
    for file in pages.values():
        exported = html.document_fromstring((site / file).read_bytes())
        served = html.document_fromstring(history_client.get(quote(address_of(file))).content)
        live = "form:not(.choosing), .choosing button, .choosing abbr, details.narrowing"
        requesting = '.examples, .exports, .live, .unfolded a, a[href*="compare?head="]'
        for part in [*served.cssselect(f"{live}, {requesting}"), *exported.cssselect("form")]:
            part.drop_tree()
        texts = [dom.cssselect("main")[0].text_content().split() for dom in (exported, served)]
        assert texts[0] == texts[1], file
    (notes, *_) = (file for file in files_in(site) if file.endswith("/notes.md"))
    assert (site / notes).read_bytes() == history_client.get(f"/{notes}").content


def target(file: str, link: str) -> str:
    """Return the file that a relative link in a file leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), link))


def test_links_lead_to_files(site: Path) -> None:
    """Links that need a server are removed; no page requests more than files."""
    files, links = files_in(site), set()
    for file in (file for file in files if file.endswith(".html")):
        dom = html.document_fromstring(files[file])
        for attribute in ("href", "src", "data-copy-from"):
            for url in dom.xpath(f"//@{attribute}"):
                assert url, (file, attribute)
                parts = urlsplit(url)
                if not parts.netloc and parts.path:
                    links.add(target(file, parts.path))
                    assert "?" not in url.replace("?v=", "")
        assert not dom.xpath("//form[not(@data-index)] | //*[@*[starts-with(name(), 'hx-')]]")
        for box in dom.cssselect("form"):
            links.add(target(file, box.get("data-index", "")))
        (canonical,) = dom.cssselect("link[rel=canonical]") or [None]
        if canonical is not None:
            path = canonical.get("href").removeprefix("https://example.org/cache/")
            assert f"{path}index.html" in files or path in files
    assert links <= files.keys()
    assert {file for file in files if file.startswith("compare/")} <= links


def test_feeds_link_to_pages_of_the_site(site: Path) -> None:
    """There is one per series, with the URL of the site."""
    files = files_in(site)
    feed = files["feeds/develop.atom"].decode()
    assert 'href="https://example.org/cache/feeds/develop.atom"' in feed
    links = re.findall(r'href="\.\./(compare/[^"]*)"', feed)
    assert f"{links[0]}/index.html" in files


STACKS = ("e4s", "root", "..", "a/b", "x" * 300)
REMOVED = a_spec("a", name="pa")


@pytest.fixture(scope="module")
def odd_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a removed package, and stacks whose names are no valid file names."""
    folder = tmp_path_factory.mktemp("catalog")
    remaining = [a_spec(text, name=f"p{text}", stacks=tuple(sorted(STACKS))) for text in "bc"]
    Catalog(str(folder)).publish(
        [
            a_snapshot([REMOVED, *remaining], "develop", day(1)),
            a_snapshot(remaining, "develop", day(2)),
        ]
    )
    return folder


@pytest.fixture(scope="module")
def odd_site(odd_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the complete site of that catalog; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    result = export(odd_catalog, folder)
    assert result.code == 0, result.err
    return folder


def index_of(site: Path) -> tuple[list[list[str]], str]:
    """Return the names in a site's index, and the sentence about those that it leaves out."""
    names, left_out = (site / "search-index.js").read_text().splitlines()
    prefixes = "globalThis.searchIndex = ", "globalThis.searchLeftOut = "
    assert names.startswith(prefixes[0])
    assert left_out.startswith(prefixes[1])
    texts = (names.removeprefix(prefixes[0]), left_out.removeprefix(prefixes[1]))
    rows, sentence = (orjson.loads(text.removesuffix(";")) for text in texts)
    return rows, sentence


def test_search_index_has_all_names(odd_site: Path) -> None:
    """Series, revisions, packages, stacks and hashes, including removed ones, have a page."""
    rows, left_out = index_of(odd_site)  # kind, value, detail, file
    assert left_out == ""
    assert {file for *_, file in rows} <= files_in(odd_site).keys()
    kinds = [kind for kind, *_ in rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "series": 1,
        "revision": 1,
        "package": 3,
        "stack": 2,
        "hash": 3,
    }


def test_packages_that_are_most_looked_for_come_first(tmp_path: Path) -> None:
    """Within the limit: those that most specs use, before what only builds need.

    The index says how many are left out.
    """
    python = a_spec("python", name="python")
    gmake = a_spec("gmake", name="gmake")
    edges = (
        Dependency("python", python.hash, ("run",)),
        Dependency("gmake", gmake.hash, ("build",)),
    )
    users = [
        a_spec(
            f"a{number}",
            name=f"a{number}",
            dependencies=edges,
        )
        for number in range(4)
    ]
    Catalog(str(tmp_path / "catalog")).publish(
        [
            a_snapshot(
                [python, gmake, *users, a_spec("b1", name="zlib"), a_spec("b2", name="zlib")], "v1"
            )
        ]
    )
    assert export(tmp_path / "catalog", tmp_path / "site", "--limit", 2).code == 0
    folder = tmp_path / "site" / "packages"
    assert {path.name for path in folder.iterdir()} == {"python", "zlib", "index.html"}
    _, left_out = index_of(tmp_path / "site")
    assert left_out.startswith("This site leaves out 5 packages")


def suggestions(browser: webdriver.Chrome, page: Path, text: str, number: int) -> list[str]:
    """Type into the search of a page; return the suggestions once there are ``number`` of them."""
    browser.get(page.as_uri())
    settle(browser)
    browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(text)
    options = (By.CSS_SELECTOR, ".suggestions [role=option]")
    wait_for(browser, lambda: len(browser.find_elements(*options)) == number)
    return [option.text for option in browser.find_elements(*options)]


def test_search_opens_pages(browser: webdriver.Chrome, odd_site: Path) -> None:
    """By part of a name or the start of a hash; Enter opens the first suggestion.

    Exact matches come first; there is no suggestion for names that the site lacks.
    """
    for text, title in (("pa", "pa"), (f"/{REMOVED.hash[:9]}", "pa@1.14.5")):
        suggestions(browser, odd_site / "series/develop/index.html", text, 1)
        browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(Keys.ENTER)
        wait_for(browser, lambda: "/series/" not in browser.current_url)
        assert browser.find_element(By.CSS_SELECTOR, "h1").text == title
    suggestions(browser, odd_site / "index.html", "nothing", 0)
    browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(Keys.ENTER)
    note = (By.CSS_SELECTOR, "[role=search] .none")
    wait_for(browser, lambda: "Nothing here has" in browser.find_element(*note).text)
    first, *_ = suggestions(browser, odd_site / "index.html", "develop", 2)
    assert first.startswith("develop\nseries")
    assert suggestions(browser, odd_site / "index.html", "nothing-like-it", 0) == []

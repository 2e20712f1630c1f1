"""The entries of a site beside its revisions, and its search, in a browser on local files."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from server.settings import Settings
from server.site.entries import SiteEntry, entries
from server.site.queries import choose
from snapshots.catalog.catalog import Catalog
from tests.server.browsers import wait_for
from tests.server.pages.browser import settle
from tests.server.pages.page_reader import data_of
from tests.server.servers import application
from tests.server.site.sites import export, files_in
from tests.snapshots.factories import a_snapshot, a_spec, day

STACKS = ("e4s", "root", "..", "a/b", "x" * 300)
REMOVED = a_spec("a", name="pa")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
def site(catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the complete site of that catalog; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    result = export(catalog, folder)
    assert result.code == 0, result.err
    return folder


def test_search_index_has_all_entries(site: Path) -> None:
    """Series, revisions, packages, stacks and hashes, including removed ones, have a page."""
    text = (site / "search-index.js").read_text().removeprefix("globalThis.searchIndex = ")
    rows = orjson.loads(text.removesuffix(";\n"))  # kind, value, detail, file
    assert {file for *_, file in rows} <= files_in(site).keys()
    kinds = [kind for kind, *_ in rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "series": 1,
        "revision": 1,
        "package": 3,
        "stack": 2,
        "hash": 3,
    }
    details = {value: detail for _, value, detail, _ in rows}
    assert details["pa"] == "removed, last in develop"
    assert details["pb"] == "1.14.5 in develop"
    assert details[REMOVED.hash] == "pa@1.14.5 for x86_64_v3"


def test_limit_applies_to_each_kind(catalog: Path) -> None:
    """It applies to each kind; with 0, series and revisions remain."""

    def limited(limit: int) -> list[SiteEntry]:
        return asyncio.run(entries(execute, choose(history), limit))

    async def execute(text: str, variables: Mapping[str, Any]) -> Any:
        (answer,) = data_of(client, text, **variables).values()
        return answer

    published = Catalog(str(catalog))
    published.refresh()
    history = published.history
    with application(Settings(catalog=str(catalog))) as client:
        one, none = limited(1), limited(0)
    addresses = [address for entry in one for address in entry.addresses]
    for part, maximum in {"/packages/p": 3, "/specs/": 1, "/stacks/": 0, "/hash/": 2}.items():
        assert len([address for address in addresses if part in address]) == maximum, part
    assert {entry.kind for entry in none} == {"series", "revision"}


def suggestions(browser: webdriver.Chrome, page: Path, text: str, number: int) -> list[str]:
    """Type into the search of a page; return the suggestions once there are ``number`` of them."""
    browser.get(page.as_uri())
    settle(browser)
    browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(text)
    options = (By.CSS_SELECTOR, ".suggestions [role=option]")
    wait_for(browser, lambda: len(browser.find_elements(*options)) == number)
    return [option.text for option in browser.find_elements(*options)]


def test_search_opens_pages(browser: webdriver.Chrome, site: Path) -> None:
    """By part of a name or the start of a hash; Enter opens the first suggestion.

    Exact matches come first; there is no suggestion for names that the site lacks.
    """
    for text, title in (("pa", "pa"), (f"/{REMOVED.hash[:9]}", "pa@1.14.5")):
        (suggestion,) = suggestions(browser, site / "series/develop/index.html", text, 1)
        assert "pa" in suggestion
        browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(Keys.ENTER)
        wait_for(browser, lambda: "/series/" not in browser.current_url)
        assert browser.find_element(By.CSS_SELECTOR, "h1").text == title
    first, *_ = suggestions(browser, site / "index.html", "develop", 2)
    assert first.startswith("develop\nseries")
    assert suggestions(browser, site / "index.html", "nothing-like-it", 0) == []

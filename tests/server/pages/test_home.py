"""The first page."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from server.pages.addresses import Address
from server.pages.renderer import MINUS, Renderer
from server.pages.routes import PAGES
from server.settings import Settings
from tests.server.pages.api_answers import LARGE, answered
from tests.server.pages.catalogs import without_sizes
from tests.server.pages.page_reader import Shown, shown
from tests.server.servers import application

HOME = PAGES[0]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a catalog without sizes, with one series of one revision.

    What changed with the last revision of the other is not kept.
    """
    folder = tmp_path_factory.mktemp("odd")
    catalog = without_sizes(folder)
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(folder / table)
    with application(Settings(catalog=catalog)) as client:
        yield client


def test_every_series_leads_on(client: httpx.Client) -> None:
    """Develop stands first; each leads to its page, its newest revision and its last change."""
    page = shown(client, "/")
    assert page.status == 200
    every = answered(client, "home")["allSeries"]
    assert [page.text("#newest"), *page.texts("tbody th")] == [it["name"] for it in every]
    assert every[0]["name"] == "develop"
    for it in every:
        place = "article" if it is every[0] else f"tbody tr:nth-child({every.index(it)})"
        leads = {urlsplit(link).path for link in page.links(f"{place} a").values()}
        assert leads >= {f"/series/{it['name']}", f"/r/{it['latest']['tag']}"}
        if base := it["latest"]["previous"]:
            pair = f"{base['digest'][:12]}...{it['latest']['digest'][:12]}"
            assert f"/compare/{pair}" in leads


def test_numbers_are_those_of_the_api(client: httpx.Client) -> None:
    """Packages, specs and what came and went, with thousands apart."""
    page = shown(client, "/")
    first, *others = answered(client, "home")["allSeries"]
    shown_first = page.texts("article dd")
    assert shown_first[:2] == [f"{first['latest'][it]:,}" for it in ("numPackages", "numSpecs")]
    for row, it in zip(page.dom.cssselect("tbody tr"), others, strict=True):
        cells = [" ".join(cell.text_content().split()) for cell in row.cssselect("td")]
        latest = it["latest"]
        assert cells[2:4] == [f"{latest['numPackages']:,}", f"{latest['numSpecs']:,}"]
        if latest["previous"]:
            grown = latest["growth"]
            assert cells[-1] == f"+{grown['specsAdded']:,} {MINUS}{grown['specsRemoved']:,}"


def test_made_up_data_is_said(client: httpx.Client, odd: httpx.Client) -> None:
    """Nobody takes a demonstration for a build cache."""
    assert "generated sample data" in shown(client, "/").text(".intro")
    assert "generated sample data" not in shown(odd, "/").text(".intro")


def test_an_empty_catalog_says_how_it_is_filled(tmp_path: Path) -> None:
    """There is nothing to search; the commands are there to copy."""
    with application(Settings(catalog=str(tmp_path / "nothing"))) as client:
        page = shown(client, "/")
    assert page.status == 200
    assert any("cachelog import" in it for it in page.texts("pre"))
    assert any("cachelog serve --demo" in it for it in page.texts("pre"))
    assert page.dom.cssselect("form") == []


def test_what_is_not_known_is_said(odd: httpx.Client) -> None:
    """Sizes, changes that are not kept, and what a single revision has none of."""
    page = shown(odd, "/")
    assert page.status == 200
    assert page.texts("article dd")[-2:] == ["unknown", "not known yet"]
    assert page.texts("tbody td")[-3:] == ["unknown", "one revision", "not known yet"]
    assert "cachelog history fill" in page.text(".problem")
    assert odd.get("/series/develop").status_code == 200  # which makes them
    assert odd.get("/series/alone").status_code == 200
    assert shown(odd, "/").texts("article dd")[-1] == "+2 0"
    assert shown(odd, "/").texts("tbody td")[-1] == "the first"
    assert shown(odd, "/").dom.cssselect(".problem") == []


def test_a_hundred_series_are_no_long_page() -> None:
    """At most 100 kB, whatever they are called."""
    latest = LARGE | {"tag": "v0.28.0-of-a-site"}
    points = [{"numSpecs": number * 7_919 % 58_000} for number in range(30)]
    every = [
        {
            "name": f"site-{number}<b>",
            "latest": latest,
            "revisions": {"totalCount": 1_000, "nodes": points},
        }
        for number in range(100)
    ]
    body = rendered({"allSeries": every})
    assert len(body) <= 100_000
    page = Shown(httpx.Response(200, content=body))
    assert page.dom.cssselect("main b") == []
    assert page.texts("tbody th")[-1] == "site-99<b>"


def rendered(data: Any) -> bytes:
    """Return the page of an answer."""
    return Renderer().page(HOME, Address("/", {}), data, params={}, variables={}, errors=[])

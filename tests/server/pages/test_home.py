"""The home page."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from server.pages.filters import MINUS
from server.pages.routes import PAGES
from server.settings import Settings
from tests.server.pages.api_answers import LARGE, page_data
from tests.server.pages.catalogs import without_sizes
from tests.server.pages.demo_comparison import rows
from tests.server.pages.page_reader import rendered, shown
from tests.server.servers import application


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a catalog without sizes, with one series of one revision.

    The changes of the other series are not stored.
    """
    folder = tmp_path_factory.mktemp("odd")
    catalog = without_sizes(folder)
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(folder / table)
    with application(Settings(catalog=catalog)) as client:
        yield client


def test_every_series_has_links(client: httpx.Client) -> None:
    """Develop first; each links to its page, its newest revision and its last comparison."""
    page = shown(client, "/")
    assert page.status == 200
    all_series = page_data(client, "home")["allSeries"]
    names = [series["name"] for series in all_series]
    assert [page.text("#newest"), *page.texts("tbody th")] == names
    assert names[0] == "develop"
    for number, series in enumerate(all_series):
        place = f"tbody tr:nth-child({number})" if number else "article"
        paths = {urlsplit(link).path for link in page.links(f"{place} a").values()}
        assert paths >= {f"/series/{series['name']}", f"/r/{series['latest']['tag']}"}
        if base := series["latest"]["previous"]:
            pair = f"{base['digest'][:12]}...{series['latest']['digest'][:12]}"
            assert f"/compare/{pair}" in paths


def test_numbers_are_those_of_the_api(client: httpx.Client) -> None:
    """Packages, specs and changes, with thousands separators."""
    page = shown(client, "/")
    first, *others = (series["latest"] for series in page_data(client, "home")["allSeries"])
    counts = [f"{first[name]:,}" for name in ("numPackages", "numSpecs")]
    assert page.texts("article dd")[:2] == counts
    for (_, *cells), latest in zip(rows(page, "table"), others, strict=True):
        assert cells[2:4] == [f"{latest['numPackages']:,}", f"{latest['numSpecs']:,}"]
        if latest["previous"]:
            grown = latest["growth"]
            assert cells[-1] == f"+{grown['specsAdded']:,} {MINUS}{grown['specsRemoved']:,}"


def test_generated_data_is_marked(client: httpx.Client, odd: httpx.Client) -> None:
    """A demonstration is not mistaken for a build cache."""
    assert "generated sample data" in shown(client, "/").text(".intro")
    assert "generated sample data" not in shown(odd, "/").text(".intro")


def test_empty_catalog_explains_imports(tmp_path: Path) -> None:
    """With commands to copy, and without a search form."""
    with application(Settings(catalog=str(tmp_path / "nothing"))) as client:
        page = shown(client, "/")
    assert page.status == 200
    assert any("cachelog import" in text for text in page.texts("pre"))
    assert any("cachelog serve --demo" in text for text in page.texts("pre"))
    assert page.dom.cssselect("form") == []


def test_unknown_values_are_stated(odd: httpx.Client) -> None:
    """Sizes, changes that are not stored, and those of a single revision."""
    page = shown(odd, "/")
    assert page.status == 200
    assert page.texts("article dd")[-2:] == ["unknown", "not known yet"]
    assert page.texts("tbody td")[-3:] == ["unknown", "one revision", "not known yet"]
    assert "cachelog history fill" in page.text(".problem")
    assert odd.get("/series/develop").status_code == 200  # which computes them
    assert odd.get("/series/alone").status_code == 200
    assert shown(odd, "/").texts("article dd")[-1] == "+2 0"
    assert shown(odd, "/").texts("tbody td")[-1] == "the first"
    assert shown(odd, "/").dom.cssselect(".problem") == []


def test_size_of_the_page_of_a_hundred_series() -> None:
    """At most 100 kB, with any names."""
    latest = LARGE | {"tag": "v0.28.0-of-a-site"}
    points = [{"numSpecs": number * 7_919 % 58_000} for number in range(30)]
    all_series = [
        {
            "name": f"site-{number}<b>",
            "latest": latest,
            "revisions": {"totalCount": 1_000, "nodes": points},
        }
        for number in range(100)
    ]
    page = rendered(PAGES[0], "/", {"allSeries": all_series})
    assert len(page.response.content) <= 100_000
    assert page.dom.cssselect("main b") == []
    assert page.texts("tbody th")[-1] == "site-99<b>"

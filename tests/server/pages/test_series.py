"""The page of a series (charts, revisions, largest causes), and the home page of all series."""

from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest

from server.pages.filters import MINUS
from server.pages.routes import PAGES
from server.settings import Settings
from tests.server.pages.page_reader import Shown, page_data, rendered, shown
from tests.server.servers import application
from tests.snapshots.factories import day

(PAGE,) = (page for page in PAGES if page.document_name == "series")


_REF = "develop@2025-11-06T180059.01234567"
LARGE = {
    "tagName": "develop",
    "ref": _REF,
    "takenAt": "2025-11-06T18:00:00Z",
    "numPackages": 1_234,
    "numSpecs": 58_000,
    "numStacks": 30,
    "totalSize": str(5 << 40),
    "source": {"isSynthetic": False},
    "previous": {"ref": _REF, "totalSize": str(5 << 40)},
    "growthPoint": {
        "numSpecsAdded": 12_345,
        "numSpecsRemoved": 12_345,
        "numSpecsRebuilt": 10_000,
        "numPackagesAdded": 100,
        "numPackagesRemoved": 100,
    },
}
"""A revision as the API returns it, with numbers of the greatest length."""


@pytest.fixture(scope="module")
def page(history_client: httpx.Client) -> Shown:
    """Return the page of a series of five revisions."""
    return shown(history_client, "/series/develop")


@pytest.fixture(scope="module")
def answer(history_client: httpx.Client) -> Any:
    """Return the response to its document."""
    return page_data(history_client, "series", name="develop", first=50)


def rows_of(page: Shown) -> list[list[str]]:
    """Return the texts of the log, row by row, without the radio buttons."""
    return [row[-9:] for row in page.rows("table.log")]


def points_of(page: Shown) -> Any:
    """Return the points that a script draws."""
    return orjson.loads(page.text("#points"))


def test_log_of_revisions(page: Shown, answer: Any) -> None:
    """The newest revision first, with its changes, and links to it and its comparison."""
    nodes = answer["series"]["revisions"]["nodes"]
    assert len(nodes) > 2
    for row, node in zip(rows_of(page), nodes, strict=True):
        day, revision, packages, _, specs, changes, rebuilt, _, _ = row
        assert day == node["takenAt"][:10]
        assert revision == node["ref"]
        assert packages == f"{node['numPackages']:,}"
        assert specs == f"{node['numSpecs']:,}"
        growth = node["growthPoint"]
        went = f"{MINUS}{growth['numSpecsRemoved']:,}" if node["previous"] else "the first"
        assert changes == f"+{growth['numSpecsAdded']:,} {went}"
        assert rebuilt == f"{growth['numSpecsRebuilt']:,}"
    paths = {urlsplit(link).path for link in page.links("tbody a").values()}
    compared = {f"/compare/{node['previous']['ref']}...{node['ref']}" for node in nodes[:-1]}
    assert paths == {f"/r/{node['ref']}" for node in nodes} | compared


def test_charts_show_the_growth_of_the_api(page: Shown, answer: Any) -> None:
    """Times are minutes since the previous point; sizes are MiB."""
    points, growth = points_of(page), answer["growing"]["growth"]
    times = [datetime.fromisoformat(point["takenAt"]).timestamp() for point in growth]
    assert [minutes * 60 for minutes in accumulate(points["taken"])] == times
    for name, field in (("specs", "numSpecs"), ("packages", "numPackages")):
        assert points[name] == [point[field] for point in growth]
    assert points["size"] == [round(int(point["totalSize"]) / 2**20) for point in growth]
    for name, field in (("added", "numSpecsAdded"), ("removed", "numSpecsRemoved")):
        assert points[name] == [0, *(point[field] for point in growth[1:])]


def series_of(nodes: list[Any], total: int) -> dict[str, Any]:
    """Return the part of a response for the log."""
    ends = {"startCursor": "a", "endCursor": "b", "startIndex": 0}
    info = {"hasNextPage": True, "hasPreviousPage": False, **ends}
    log = {"totalCount": total, "pageInfo": info, "nodes": nodes}
    return {"name": "develop", "latest": LARGE, "revisions": log}


def test_size_of_the_page_of_a_thousand_revisions() -> None:
    """At most 100 kB with all points; the log lists the newest, and has further pages."""
    growth = [
        {
            "takenAt": f"{day(number).isoformat()[:10]}T06:00:00Z",
            "numSpecs": 50_000 + number * 7_919 % 9_000,
            "numPackages": 1_000 + number % 300,
            "totalSize": str((5 << 40) + (number << 30)),
            "numSpecsAdded": 1_000 + number * 7_919 % 9_000,
            "numSpecsRemoved": 1_000 + number * 7_907 % 9_000,
        }
        for number in range(1_000)
    ]
    series = series_of([LARGE] * 50, 1_200)
    data = {"growing": {"growth": growth}, "series": series}
    page = rendered(PAGE, "/series/develop", data, name="develop")
    assert len(page.response.content) <= 100_000
    assert len(points_of(page)["specs"]) == 1_000
    assert "The last 1,000 of 1,200 revisions." in page.text()
    assert page.links(".pager a")["Next →"] == "http://a/series/develop?after=b"


def test_largest_causes(history_client: httpx.Client) -> None:
    """One row each, with bars over time, in groups; commits link to their pages."""
    page = shown(history_client, "/series/develop/causes")
    series = page_data(history_client, "series_causes", name="develop", first=50)["series"]
    nodes = series["causes"]["nodes"]
    assert nodes
    assert page.texts("#results tbody th") == [node["packageName"] for node in nodes]
    assert page.texts("#results thead th")[1:3] == ["Specs", "Reached"]
    drawn = page.dom.cssselect("#results svg.bars")
    assert len(drawn) == sum(node["numSpecs"] > 0 for node in nodes)
    kinds = shown(history_client, "/series/develop/causes?by=KIND")
    assert {"version", "recipe"} & {*kinds.texts("#results tbody th")}
    commits = shown(history_client, "/series/develop/causes?by=COMMIT")
    assert any("/commits/" in link for link in commits.links("#results th a").values())
    early = shown(history_client, "/series/develop/causes?until=2000-01-01")
    assert "Nothing is known" in early.text("main")
    links = shown(history_client, "/series/develop").links("main p a").values()
    assert any(link.endswith("/series/develop/causes") for link in links)
    assert history_client.get("/series/nope/causes").status_code == 404


# -- the home page


def test_every_series_has_its_news(client: httpx.Client) -> None:
    """Develop first, each with its page, newest revision and last changes; all generated."""
    page, all_series = shown(client, "/"), page_data(client, "home")["allSeries"]
    assert "generated sample data" in page.text(".intro")
    names = [series["name"] for series in all_series]
    assert page.texts("article h2") == names
    assert names[0] == "develop"
    assert "unknown" not in page.text("main")
    for series in all_series:
        article = f'article[aria-labelledby="series-{names.index(series["name"]) + 1}"]'
        latest, news = series["latest"], series["news"]["nodes"]
        assert f"{latest['numSpecs']:,} specs of {latest['numPackages']:,}" in page.text(article)
        assert ("has one tag for each" in page.text(article)) == (
            series["name"] != latest["tagName"]
        )
        paths = {urlsplit(link).path for link in page.links(f"{article} a").values()}
        assert paths >= {f"/series/{series['name']}", f"/r/{latest['tagName']}"}
        for item, revision in zip(page.texts(f"{article} li"), news, strict=True):
            assert " ".join(revision["mainChanges"]) in item
            if base := revision["previous"]:
                assert f"/compare/{base['ref']}...{revision['ref']}" in paths
                grown = revision["growthPoint"]
                change = f"+{grown['numSpecsAdded']:,} {MINUS}{grown['numSpecsRemoved']:,}"
                assert change in item


def test_empty_catalog_explains_imports(tmp_path: Path) -> None:
    """With commands to copy, and without a search form; there is nothing to compare."""
    with application(Settings(catalog=str(tmp_path / "nothing"))) as client:
        page = shown(client, "/")
        assert "nothing to compare" in shown(client, "/compare").text()
    assert page.status == 200
    assert any("cachelog import" in text for text in page.texts("pre"))
    assert any("cachelog serve --demo" in text for text in page.texts("pre"))
    assert page.dom.cssselect("form") == []

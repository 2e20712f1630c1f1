"""The page of a series (charts, revisions, largest causes), and the home page of all series."""

import shutil
from collections.abc import Iterator
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
from tests.server.pages.api_answers import LARGE, page_data
from tests.server.pages.catalogs import without_sizes
from tests.server.pages.demo_comparison import rows
from tests.server.pages.page_reader import Shown, rendered, shown
from tests.server.servers import application
from tests.snapshots.factories import day

(PAGE,) = (page for page in PAGES if page.document_name == "series")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a catalog without sizes, with a series of two and one of one revision."""
    catalog = without_sizes(tmp_path_factory.mktemp("odd"))
    with application(Settings(catalog=catalog)) as client:
        yield client


@pytest.fixture(scope="module")
def page(history_client: httpx.Client) -> Shown:
    """Return the page of a series of five revisions."""
    return shown(history_client, "/series/develop")


@pytest.fixture(scope="module")
def answer(history_client: httpx.Client) -> Any:
    """Return the response to its document."""
    return page_data(history_client, "series", name="develop", first=50)


@pytest.fixture(scope="module")
def nodes(answer: Any) -> list[Any]:
    """Return its revisions in the API."""
    nodes: list[Any] = answer["series"]["revisions"]["nodes"]
    return nodes


def rows_of(page: Shown) -> list[list[str]]:
    """Return the texts of the log, row by row, without the radio buttons."""
    return [row[-9:] for row in rows(page, "table.log")]


def points_of(page: Shown) -> Any:
    """Return the points that a script draws."""
    return orjson.loads(page.text("#points"))


def test_log_of_revisions(page: Shown, nodes: list[Any]) -> None:
    """The newest revision first, with its changes."""
    assert page.status == 200
    assert len(nodes) > 2
    for row, node in zip(rows_of(page), nodes, strict=True):
        day, revision, packages, _, specs, changes, rebuilt, _, _ = row
        assert day == node["takenAt"][:10]
        assert revision == f"{node['tag']} {node['digest'][:12]}"
        assert packages == f"{node['numPackages']:,}"
        assert specs == f"{node['numSpecs']:,}"
        growth = node["growth"]
        went = f"{MINUS}{growth['specsRemoved']:,}" if node["previous"] else "the first"
        assert changes == f"+{growth['specsAdded']:,} {went}"
        assert rebuilt == f"{growth['specsRebuilt']:,}"


def test_log_has_links(page: Shown, nodes: list[Any]) -> None:
    """To each revision and its comparison by digests."""
    paths = {urlsplit(link).path for link in page.links("tbody a").values()}
    compared = {f"/compare/{node['previous']['digest']}...{node['digest']}" for node in nodes[:-1]}
    assert paths == {f"/r/{node['digest']}" for node in nodes} | compared


def test_any_two_revisions_can_be_compared(
    page: Shown, nodes: list[Any], history_client: httpx.Client
) -> None:
    """By a form without a script; the newest two are selected by default."""
    digests = [node["digest"][:12] for node in nodes]
    for name, chosen in (("base", digests[1]), ("head", digests[0])):
        assert page.values(f"main form input[name={name}]") == digests
        assert page.values(f"main form input[name={name}][checked]") == [chosen]
    (action,) = page.values("main form", "action")
    target = page.response.url.join(action or "")
    refs = {"base": digests[-1], "head": digests[0]}
    assert history_client.get(target, params=refs, follow_redirects=True).status_code == 200


def test_charts_show_the_growth_of_the_api(page: Shown, answer: Any) -> None:
    """Times are minutes since the previous point; sizes are MiB."""
    points, growth = points_of(page), answer["growing"]["growth"]
    times = [datetime.fromisoformat(point["takenAt"]).timestamp() for point in growth]
    assert [minutes * 60 for minutes in accumulate(points["taken"])] == times
    for name, field in (("specs", "numSpecs"), ("packages", "numPackages")):
        assert points[name] == [point[field] for point in growth]
    assert points["size"] == [round(int(point["totalSize"]) / 2**20) for point in growth]
    for name, field in (("added", "specsAdded"), ("removed", "specsRemoved")):
        assert points[name] == [0, *(point[field] for point in growth[1:])]


def test_charts_without_a_script(page: Shown, answer: Any) -> None:
    """Each is drawn, and described in words."""
    charts = page.dom.cssselect(".chart")
    assert [chart.get("data-chart") for chart in charts] == ["specs", "packages", "size", "changes"]
    assert all(chart.cssselect(".plot[role=img] svg path") for chart in charts)
    numbers = [point["numSpecs"] for point in answer["growing"]["growth"]]
    assert page.values(".plot", "aria-label")[0] == (
        f"Specs: {numbers[0]:,} at first, {numbers[-1]:,} at last; "
        f"least {min(numbers):,}, most {max(numbers):,}"
    )


def test_series_of_a_single_revision(odd: httpx.Client) -> None:
    """No chart and no comparison; the page says so."""
    page = shown(odd, "/series/alone")
    assert page.status == 200
    assert "One revision so far" in page.text()
    assert page.dom.cssselect(".chart, input[type=radio], main button, #points") == []
    assert rows_of(page)[0][-1] == "the first"


def test_unknown_sizes_are_stated(odd: httpx.Client) -> None:
    """In the figures, in place of the chart, and in the log."""
    page = shown(odd, "/series/develop")
    assert page.texts(".figures dd")[-1] == "unknown"
    assert "Sizes are unknown" in page.text()
    charts = [chart.get("data-chart") for chart in page.dom.cssselect(".chart")]
    assert charts == ["specs", "packages", "changes"]
    assert [row[-2:] for row in rows_of(page)] == [["unknown", "unknown"], ["unknown", "the first"]]


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
            "specsAdded": 1_000 + number * 7_919 % 9_000,
            "specsRemoved": 1_000 + number * 7_907 % 9_000,
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


def test_incomplete_history_is_stated() -> None:
    """The log has all other data; the error states the reason."""
    bare = LARGE | {"growth": None}
    errors = [
        ("the history is not complete", ["growing", "growth"]),
        ("not <b>kept</b>", ["series", "latest", "growth"]),
    ]
    data = {"growing": None, "series": series_of([bare], 2) | {"latest": bare}}
    page = rendered(PAGE, "/series/develop", data, errors, name="develop")
    first, second = page.texts(".problem")
    assert first == "the history is not complete"
    assert "not <b>kept</b>" in second
    (row,) = rows_of(page)
    assert row[2:7] == ["1,234", "not known yet", "58,000", "compare", "not known yet"]


def test_largest_causes(history_client: httpx.Client) -> None:
    """One row each, with bars over time."""
    page = shown(history_client, "/series/develop/causes")
    series = page_data(history_client, "series_causes", name="develop", first=50)["series"]
    nodes = series["causes"]["nodes"]
    assert nodes
    assert page.texts("#results tbody th") == [node["package"] for node in nodes]
    assert page.texts("#results thead th")[1:3] == ["Rebuilt", "Reached"]
    drawn = page.dom.cssselect("#results svg.bars")
    assert len(drawn) == sum(node["numSpecs"] > 0 for node in nodes)


def test_causes_by_kind_and_commit(history_client: httpx.Client) -> None:
    """Tabs group otherwise; commits link to their pages."""
    kinds = shown(history_client, "/series/develop/causes?by=KIND")
    assert {"version", "recipe"} & {*kinds.texts("#results tbody th")}
    commits = shown(history_client, "/series/develop/causes?by=COMMIT")
    assert any("/commits/" in link for link in commits.links("#results th a").values())


def test_causes_in_an_interval(history_client: httpx.Client) -> None:
    """None before the first revision; the series links to the page."""
    page = shown(history_client, "/series/develop/causes?until=2000-01-01")
    assert "Nothing is known" in page.text("main")
    links = shown(history_client, "/series/develop").links("main p a").values()
    assert any(link.endswith("/series/develop/causes") for link in links)
    assert history_client.get("/series/nope/causes").status_code == 404


# -- the home page


@pytest.fixture(scope="module")
def unfilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
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


def test_generated_data_is_marked(client: httpx.Client, unfilled: httpx.Client) -> None:
    """A demonstration is not mistaken for a build cache."""
    assert "generated sample data" in shown(client, "/").text(".intro")
    assert "generated sample data" not in shown(unfilled, "/").text(".intro")


def test_empty_catalog_explains_imports(tmp_path: Path) -> None:
    """With commands to copy, and without a search form."""
    with application(Settings(catalog=str(tmp_path / "nothing"))) as client:
        page = shown(client, "/")
    assert page.status == 200
    assert any("cachelog import" in text for text in page.texts("pre"))
    assert any("cachelog serve --demo" in text for text in page.texts("pre"))
    assert page.dom.cssselect("form") == []


def test_unknown_values_are_stated(unfilled: httpx.Client) -> None:
    """Sizes, changes that are not stored, and those of a single revision."""
    page = shown(unfilled, "/")
    assert page.status == 200
    assert page.texts("article dd")[-2:] == ["unknown", "not known yet"]
    assert page.texts("tbody td")[-3:] == ["unknown", "one revision", "not known yet"]
    assert "cachelog history fill" in page.text(".problem")
    assert unfilled.get("/series/develop").status_code == 200  # which computes them
    assert unfilled.get("/series/alone").status_code == 200
    assert shown(unfilled, "/").texts("article dd")[-1] == "+2 0"
    assert shown(unfilled, "/").texts("tbody td")[-1] == "the first"
    assert shown(unfilled, "/").dom.cssselect(".problem") == []


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

"""The page of a series: charts of its growth, and its revisions as a log."""

from collections.abc import Iterator
from datetime import datetime
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest

from server.pages.addresses import Address
from server.pages.renderer import MINUS, Renderer
from server.pages.routes import PAGES
from server.settings import Settings
from tests.server.pages.asked import LARGE, answered
from tests.server.pages.catalogs import without_sizes
from tests.server.pages.reading import Shown, shown
from tests.server.servers import application

(PAGE,) = (it for it in PAGES if it.query == "series")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a catalog without sizes, with a series of two and one of one revision."""
    catalog = without_sizes(tmp_path_factory.mktemp("odd"))
    with application(Settings(catalog=catalog)) as client:
        yield client


@pytest.fixture(scope="module")
def longest(client: httpx.Client) -> str:
    """Return the series of the demo that has most revisions."""
    text = "{ allSeries { name revisions { totalCount } } }"
    every = client.post("/graphql", json={"query": text}).json()["data"]["allSeries"]
    name: str = max(every, key=lambda it: it["revisions"]["totalCount"])["name"]
    return name


def rows_of(page: Shown) -> list[list[str]]:
    """Return the texts of the log, row by row, without the choice of what to compare."""
    return [
        [" ".join(cell.text_content().split()) for cell in row.cssselect("td, th")][-9:]
        for row in page.dom.cssselect("tbody tr")
    ]


def points_of(page: Shown) -> Any:
    """Return the points that a script draws."""
    (script,) = page.dom.cssselect("#points")
    return orjson.loads(script.text)


def test_the_log_is_that_of_the_api(client: httpx.Client, longest: str) -> None:
    """The newest revision first, with what came and went with each."""
    page = shown(client, f"/series/{longest}")
    assert page.status == 200
    nodes = answered(client, "series", name=longest, first=50)["series"]["revisions"]["nodes"]
    assert len(nodes) > 2
    for row, it in zip(rows_of(page), nodes, strict=True):
        day, revision, packages, _, specs, came_and_went, rebuilt, _, _ = row
        assert day == it["takenAt"][:10]
        assert revision == f"{it['tag']} {it['digest'][:12]}"
        assert packages == f"{it['numPackages']:,}"
        assert specs == f"{it['numSpecs']:,}"
        grown = it["growth"]
        went = f"{MINUS}{grown['specsRemoved']:,}" if it["previous"] else "the first"
        assert came_and_went == f"+{grown['specsAdded']:,} {went}"
        assert rebuilt == f"{grown['specsRebuilt']:,}"


def test_the_log_leads_on(client: httpx.Client, longest: str) -> None:
    """To each revision and its comparison by their digests, and to what else the page offers."""
    page = shown(client, f"/series/{longest}")
    nodes = answered(client, "series", name=longest, first=50)["series"]["revisions"]["nodes"]
    leads = {urlsplit(link).path for link in page.links("tbody a").values()}
    compared = {f"/compare/{it['previous']['digest']}...{it['digest']}" for it in nodes[:-1]}
    assert leads == {f"/r/{it['digest']}" for it in nodes} | compared
    some = [*page.links("main a").values()][:8]
    assert {client.get(link, follow_redirects=True).status_code for link in some} == {200}


def test_any_two_revisions_can_be_compared(client: httpx.Client, longest: str) -> None:
    """A form without a script leads there; the newest two are chosen at first."""
    page = shown(client, f"/series/{longest}")
    (form,) = page.dom.cssselect("main form")
    nodes = answered(client, "series", name=longest, first=50)["series"]["revisions"]["nodes"]
    for name, chosen in (("base", nodes[1]), ("head", nodes[0])):
        radios = form.cssselect(f"input[name={name}]")
        assert [it.get("value") for it in radios] == [it["digest"][:12] for it in nodes]
        assert [it.get("value") for it in radios if "checked" in it.attrib] == [
            chosen["digest"][:12]
        ]
    sent = {"base": nodes[-1]["digest"][:12], "head": nodes[0]["digest"][:12]}
    target = httpx.URL(str(page.response.url)).join(form.get("action"))
    assert client.get(target, params=sent, follow_redirects=True).status_code == 200


def test_charts_show_the_growth_of_the_api(client: httpx.Client, longest: str) -> None:
    """Times are minutes, each after the first since the one before; sizes are MiB."""
    page = shown(client, f"/series/{longest}")
    points = points_of(page)
    growth = answered(client, "series", name=longest, first=50)["growing"]["growth"]
    taken = [datetime.fromisoformat(it["takenAt"]).timestamp() for it in growth]
    assert [it * 60 for it in accumulate(points["taken"])] == taken
    assert points["specs"] == [it["numSpecs"] for it in growth]
    assert points["packages"] == [it["numPackages"] for it in growth]
    assert points["size"] == [round(int(it["totalSize"]) / 2**20) for it in growth]
    assert points["added"] == [0, *(it["specsAdded"] for it in growth[1:])]
    assert points["removed"] == [0, *(it["specsRemoved"] for it in growth[1:])]


def test_charts_are_there_without_a_script(client: httpx.Client, longest: str) -> None:
    """Each is drawn, and says in words what it shows."""
    page = shown(client, f"/series/{longest}")
    charts = page.dom.cssselect(".chart")
    assert [it.get("data-chart") for it in charts] == ["specs", "packages", "size", "changes"]
    numbers = [
        it["numSpecs"]
        for it in answered(client, "series", name=longest, first=50)["growing"]["growth"]
    ]
    for chart in charts:
        assert chart.cssselect("svg path")
        (plot,) = chart.cssselect(".plot")
        assert plot.get("role") == "img"
    said = charts[0].cssselect(".plot")[0].get("aria-label")
    assert said == (
        f"Specs: {numbers[0]:,} at first, {numbers[-1]:,} at last; "
        f"least {min(numbers):,}, most {max(numbers):,}"
    )


def test_its_feed_is_offered(client: httpx.Client, longest: str) -> None:
    """To programs and to people."""
    page = shown(client, f"/series/{longest}")
    (link,) = page.dom.cssselect("link[rel=alternate]")
    feed = client.get(httpx.URL(str(page.response.url)).join(link.get("href")))
    assert feed.status_code == 200
    assert feed.headers["content-type"].startswith("application/atom+xml")
    assert str(feed.url) in page.links("main a").values()


def test_a_shared_link_says_what_changed(client: httpx.Client, longest: str) -> None:
    """In one sentence, with the numbers of the newest revision."""
    page = shown(client, f"/series/{longest}")
    latest = answered(client, "series", name=longest, first=50)["series"]["latest"]
    (said,) = page.dom.cssselect("meta[property='og:description']")
    assert f"{latest['numSpecs']:,} specs of " in said.get("content", "")
    assert f"{latest['growth']['specsAdded']:,} added" in said.get("content", "")


def test_a_single_revision_has_nothing_to_compare(odd: httpx.Client) -> None:
    """No chart, no choice; that is said."""
    page = shown(odd, "/series/alone")
    assert page.status == 200
    assert "One revision so far" in page.text()
    assert page.dom.cssselect(".chart, input[type=radio], main button, #points") == []
    assert rows_of(page)[0][-1] == "the first"


def test_unknown_sizes_are_said(odd: httpx.Client) -> None:
    """In the figures, in place of the chart, and in the log."""
    page = shown(odd, "/series/develop")
    assert page.texts(".figures dd")[-1] == "unknown"
    assert "Sizes are unknown" in page.text()
    assert [it.get("data-chart") for it in page.dom.cssselect(".chart")] == [
        "specs",
        "packages",
        "changes",
    ]
    assert [row[-2:] for row in rows_of(page)] == [["unknown", "unknown"], ["unknown", "the first"]]


def test_an_unknown_series_is_not_found(client: httpx.Client) -> None:
    """The page says so, and leads to the one with the nearest name."""
    page = shown(client, "/series/develp")
    assert page.status == 404
    assert page.text(".problem") == "There is no such series."
    links = page.links("main a")
    assert urlsplit(links["develop"]).path == "/series/develop"
    assert client.get(links["develop"]).status_code == 200


def rendered(data: Any, errors: list[dict[str, Any]] | None = None) -> bytes:
    """Return the page of an answer."""
    address = Address("/series/develop", {})
    known = {"name": "develop"}
    return Renderer().page(PAGE, address, data, params=known, variables=known, errors=errors or [])


def series_of(nodes: list[Any], total: int) -> dict[str, Any]:
    """Return the part of an answer that the log is made of."""
    ends = {"startCursor": "a", "endCursor": "b", "startIndex": 0}
    info = {"hasNextPage": True, "hasPreviousPage": False, **ends}
    log = {"totalCount": total, "pageInfo": info, "nodes": nodes}
    return {"name": "develop", "latest": LARGE, "revisions": log}


def test_a_thousand_revisions_are_no_long_page() -> None:
    """At most 100 kB with all of their points; the log has the newest, and leads to the others."""
    growth = [
        {
            "takenAt": f"20{it // 300:02}-{it // 25 % 12 + 1:02}-{it % 25 + 1:02}T06:00:00Z",
            "numSpecs": 50_000 + it * 7_919 % 9_000,
            "numPackages": 1_000 + it % 300,
            "totalSize": str((5 << 40) + (it << 30)),
            "specsAdded": 1_000 + it * 7_919 % 9_000,
            "specsRemoved": 1_000 + it * 7_907 % 9_000,
        }
        for it in range(1_000)
    ]
    series = series_of([LARGE] * 50, 1_200)
    body = rendered({"growing": {"growth": growth}, "series": series})
    assert len(body) <= 100_000
    page = Shown(httpx.Response(200, content=body, request=httpx.Request("GET", "http://a/b/c")))
    assert len(points_of(page)["specs"]) == 1_000
    assert "The last 1,000 of 1,200 revisions." in page.text()
    assert page.links(".pager a")["Next →"] == "http://a/b/c?after=b"


def test_a_history_that_is_not_there_takes_nothing_else_with_it() -> None:
    """The log has what is known without it; what is missing is said, and why."""
    bare = LARGE | {"growth": None}
    errors = [
        {"message": "the history is not complete", "path": ["growing", "growth"]},
        {"message": "not <b>kept</b>", "path": ["series", "latest", "growth"]},
    ]
    data = {"growing": None, "series": series_of([bare], 2) | {"latest": bare}}
    page = Shown(httpx.Response(200, content=rendered(data, errors)))
    first, second = page.texts(".problem")
    assert first == "the history is not complete"
    assert "not <b>kept</b>" in second
    (row,) = rows_of(page)
    assert row[2:7] == ["1,234", "not known yet", "58,000", "compare", "not known yet"]

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
from tests.server.pages.api_answers import LARGE, answered
from tests.server.pages.catalogs import without_sizes
from tests.server.pages.page_reader import Shown, shown
from tests.server.servers import application

(PAGE,) = (it for it in PAGES if it.query == "series")


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
    """Return what the API answers to its document."""
    return answered(history_client, "series", name="develop", first=50)


@pytest.fixture(scope="module")
def nodes(answer: Any) -> list[Any]:
    """Return its revisions, as the API tells them."""
    nodes: list[Any] = answer["series"]["revisions"]["nodes"]
    return nodes


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


def test_the_log_is_that_of_the_api(page: Shown, nodes: list[Any]) -> None:
    """The newest revision first, with what came and went with each."""
    assert page.status == 200
    assert len(nodes) > 2
    for row, node in zip(rows_of(page), nodes, strict=True):
        day, revision, packages, _, specs, came_and_went, rebuilt, _, _ = row
        assert day == node["takenAt"][:10]
        assert revision == f"{node['tag']} {node['digest'][:12]}"
        assert packages == f"{node['numPackages']:,}"
        assert specs == f"{node['numSpecs']:,}"
        grown = node["growth"]
        went = f"{MINUS}{grown['specsRemoved']:,}" if node["previous"] else "the first"
        assert came_and_went == f"+{grown['specsAdded']:,} {went}"
        assert rebuilt == f"{grown['specsRebuilt']:,}"


def test_the_log_leads_on(page: Shown, nodes: list[Any]) -> None:
    """To each revision and its comparison by their digests."""
    paths = {urlsplit(link).path for link in page.links("tbody a").values()}
    compared = {f"/compare/{node['previous']['digest']}...{node['digest']}" for node in nodes[:-1]}
    assert paths == {f"/r/{node['digest']}" for node in nodes} | compared


def test_any_two_revisions_can_be_compared(
    page: Shown, nodes: list[Any], history_client: httpx.Client
) -> None:
    """A form without a script leads there; the newest two are chosen at first."""
    (form,) = page.dom.cssselect("main form")
    digests = [node["digest"][:12] for node in nodes]
    for name, chosen in (("base", digests[1]), ("head", digests[0])):
        radios = form.cssselect(f"input[name={name}]")
        assert [radio.get("value") for radio in radios] == digests
        checked = [radio.get("value") for radio in radios if "checked" in radio.attrib]
        assert checked == [chosen]
    target = page.response.url.join(form.get("action"))
    sent = {"base": digests[-1], "head": digests[0]}
    assert history_client.get(target, params=sent, follow_redirects=True).status_code == 200


def test_charts_show_the_growth_of_the_api(page: Shown, answer: Any) -> None:
    """Times are minutes, each after the first since the one before; sizes are MiB."""
    points, growth = points_of(page), answer["growing"]["growth"]
    taken = [datetime.fromisoformat(it["takenAt"]).timestamp() for it in growth]
    assert [minutes * 60 for minutes in accumulate(points["taken"])] == taken
    assert points["specs"] == [it["numSpecs"] for it in growth]
    assert points["packages"] == [it["numPackages"] for it in growth]
    assert points["size"] == [round(int(it["totalSize"]) / 2**20) for it in growth]
    assert points["added"] == [0, *(it["specsAdded"] for it in growth[1:])]
    assert points["removed"] == [0, *(it["specsRemoved"] for it in growth[1:])]


def test_charts_are_there_without_a_script(page: Shown, answer: Any) -> None:
    """Each is drawn, and says in words what it shows."""
    charts = page.dom.cssselect(".chart")
    assert [chart.get("data-chart") for chart in charts] == ["specs", "packages", "size", "changes"]
    for chart in charts:
        assert chart.cssselect("svg path")
        (plot,) = chart.cssselect(".plot")
        assert plot.get("role") == "img"
    numbers = [it["numSpecs"] for it in answer["growing"]["growth"]]
    assert charts[0].cssselect(".plot")[0].get("aria-label") == (
        f"Specs: {numbers[0]:,} at first, {numbers[-1]:,} at last; "
        f"least {min(numbers):,}, most {max(numbers):,}"
    )


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

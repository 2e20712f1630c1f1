"""``/series/NAME/causes``: what cost most, as the API tells of it."""

import httpx

from tests.server.pages.api_answers import answered
from tests.server.pages.page_reader import shown


def test_what_cost_most(history_client: httpx.Client) -> None:
    """A row each, with bars through time and the comparison that it was last seen in."""
    page = shown(history_client, "/series/develop/causes")
    known = answered(history_client, "series_causes", name="develop", first=50)["series"]["causes"]
    assert known["nodes"]
    names = [cell.text_content().strip() for cell in page.dom.cssselect("#results tbody th")]
    assert names == [node["package"] for node in known["nodes"]]
    assert page.texts("#results thead th")[1:3] == ["Rebuilt", "Reached"]
    drawn = page.dom.cssselect("#results svg.bars")
    assert len(drawn) == sum(node["numSpecs"] > 0 for node in known["nodes"])


def test_by_kind_and_by_commit(history_client: httpx.Client) -> None:
    """Tabs sum up otherwise; commits lead to their pages."""
    kinds = shown(history_client, "/series/develop/causes?by=KIND")
    assert {"version", "recipe"} & {*kinds.texts("#results tbody th")}
    commits = shown(history_client, "/series/develop/causes?by=COMMIT")
    assert any("/commits/" in link for link in commits.links("#results th a").values())


def test_some_months(history_client: httpx.Client) -> None:
    """Before the first revision nothing was rebuilt; the series leads to the page."""
    page = shown(history_client, "/series/develop/causes?until=2000-01-01")
    assert "Nothing is known" in page.text("main")
    links = shown(history_client, "/series/develop").links("main p a").values()
    assert any(link.endswith("/series/develop/causes") for link in links)
    assert history_client.get("/series/nope/causes").status_code == 404

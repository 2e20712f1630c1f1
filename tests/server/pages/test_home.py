"""The first page."""

import httpx

from tests.server.pages.reading import shown


def test_every_series_leads_on(client: httpx.Client) -> None:
    """It lists the series, develop first; each leads to its page and to its newest revision."""
    page = shown(client, "/")
    assert page.status == 200
    names = page.texts("tbody th")
    assert names[0] == "develop"
    assert {client.get(link).status_code for link in page.links("tbody td a").values()} == {200}

"""Links of pages: each kind of them, from each page, leads to what is there."""

import httpx
from starlette.routing import compile_path

from server.pages.routes import PAGES
from tests.server.pages.page_reader import shown


def test_links_lead_to_pages(history_client: httpx.Client, addresses: dict[str, str]) -> None:
    """One of each kind: to the same page with parameters of the same names, from anywhere."""
    links = {
        _kind(httpx.URL(link)): link
        for address in addresses.values()
        for link in shown(history_client, address).links("a").values()
        if link.startswith(str(history_client.base_url))
    }
    assert len(links) > 50
    answers = (
        history_client.get(link, headers={"Accept": "text/html,*/*"}, follow_redirects=True)
        for link in links.values()
    )
    assert [answer.url for answer in answers if answer.status_code != 200] == []


def _kind(url: httpx.URL) -> tuple[str, frozenset[str]]:
    routes = (page.path for page in PAGES if compile_path(page.path)[0].match(url.path))
    return next(routes, url.path), frozenset(url.params)

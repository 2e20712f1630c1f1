"""Pages as a reader sees them, and responses of the API to compare with them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import httpx
from lxml import html

from server.pages.addresses import Address
from server.pages.documents import document
from server.pages.renderer import Renderer
from server.pages.routes import Page

Serve = Callable[..., httpx.Client]
"""The type of the fixture ``serve``."""


class Shown:
    """The response of a page, and its visible content."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.dom = html.document_fromstring(response.content)

    def text(self, selector: str = "main") -> str:
        """Return the text of the first element that a CSS selector matches, in one line."""
        return self.texts(selector)[0]

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector matches."""
        return [" ".join(node.text_content().split()) for node in self.dom.cssselect(selector)]

    def values(self, selector: str, attribute: str = "value") -> list[str | None]:
        """Return an attribute of all elements that a selector matches."""
        return [node.get(attribute) for node in self.dom.cssselect(selector)]

    def facts(self, selector: str) -> dict[str, str]:
        """Return the descriptions of a definition list, by their terms."""
        terms, descriptions = (self.texts(f"{selector} {tag}") for tag in ("dt", "dd"))
        return dict(zip(terms, descriptions, strict=True))

    def rows(self, table: str = "table.changes") -> list[list[str]]:
        """Return the texts of the cells of a table, by its rows."""
        rows = self.dom.cssselect(table)[0].cssselect("tbody tr")
        return [[" ".join(field.text_content().split()) for field in row] for row in rows]

    def targets(self, selector: str) -> list[str]:
        """Return the absolute targets of links."""
        base = self.response.url
        return [str(base.join(link.get("href", ""))) for link in self.dom.cssselect(selector)]

    def links(self, selector: str = "main a") -> dict[str, str]:
        """Return the absolute targets of links, by their texts."""
        return dict(zip(self.texts(selector), self.targets(selector), strict=True))


def rendered(
    page: Page,
    path: str,
    data: Any,
    errors: Sequence[tuple[str, Sequence[str]]] = (),
    **params: str,
) -> Shown:
    """Return a page rendered from the data of a response, with the messages and paths of errors."""
    body = Renderer().page(
        page,
        Address(path, {}),
        data,
        params=params,
        variables=params,
        errors=[{"message": message, "path": [*path]} for message, path in errors],
    )
    request = httpx.Request("GET", f"http://a{path}")
    return Shown(httpx.Response(200, content=body, request=request))


def shown(client: httpx.Client, address: str, headers: Mapping[str, str] | None = None) -> Shown:
    """Request a page as a browser does."""
    accept = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    return Shown(client.get(address, headers=accept | dict(headers or {})))


def numbers(texts: Iterable[str]) -> list[int]:
    """Return the first number of each text."""
    return [int(re.findall(r"\d[\d,]*", text)[0].replace(",", "")) for text in texts]


def data_of(client: httpx.Client, query: str, **variables: Any) -> Any:
    """Return the data of a response without errors."""
    answer = client.post("/graphql", json={"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def page_data(client: httpx.Client, page: str, **variables: Any) -> Any:
    """Return the data of the document of a page, by the document's name.

    Variables that it does not declare are left out.
    """
    query = document(page)
    declared = {name: value for name, value in variables.items() if name in query.parameters}
    return data_of(client, query.text, **declared)

"""Pages as a reader sees them."""

from collections.abc import Mapping

import httpx
from lxml import html


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

    def facts(self, selector: str) -> dict[str, str]:
        """Return the descriptions of a definition list, by their terms."""
        terms, descriptions = (self.texts(f"{selector} {tag}") for tag in ("dt", "dd"))
        return dict(zip(terms, descriptions, strict=True))

    def links(self, selector: str = "main a") -> dict[str, str]:
        """Return the absolute targets of links, by their texts."""
        base = str(self.response.url)
        return {
            " ".join(link.text_content().split()): str(httpx.URL(base).join(link.get("href", "")))
            for link in self.dom.cssselect(selector)
        }


def shown(client: httpx.Client, address: str, headers: Mapping[str, str] | None = None) -> Shown:
    """Request a page as a browser does."""
    accept = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    return Shown(client.get(address, headers=accept | dict(headers or {})))

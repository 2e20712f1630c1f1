"""Pages as tests read them."""

from collections.abc import Mapping

import httpx
from lxml import html


class Shown:
    """A page that a server has sent, and what a reader sees in it."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.dom = html.document_fromstring(response.content)

    def text(self, selector: str = "main") -> str:
        """Return the text of the first element that a CSS selector finds, in one line."""
        return self.texts(selector)[0]

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector finds."""
        return [" ".join(it.text_content().split()) for it in self.dom.cssselect(selector)]

    def facts(self, selector: str) -> dict[str, str]:
        """Return the descriptions of a list that a selector finds, by their terms."""
        terms, descriptions = (self.texts(f"{selector} {tag}") for tag in ("dt", "dd"))
        return dict(zip(terms, descriptions, strict=True))

    def links(self, selector: str = "main a") -> dict[str, str]:
        """Return where links lead, as absolute addresses, by their texts."""
        base = str(self.response.url)
        return {
            " ".join(it.text_content().split()): str(httpx.URL(base).join(it.get("href", "")))
            for it in self.dom.cssselect(selector)
        }


def shown(client: httpx.Client, address: str, headers: Mapping[str, str] | None = None) -> Shown:
    """Ask for a page as a browser does."""
    accept = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    return Shown(client.get(address, headers=accept | dict(headers or {})))

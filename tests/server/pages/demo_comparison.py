"""A comparison of the demo, in the API and on its pages."""

import re
from typing import Any

import httpx

from tests.server.pages.api_answers import page_data
from tests.server.pages.page_reader import Shown

BASE, HEAD = "develop-2025-01-05", "develop"
PAIR = f"/compare/{BASE}...{HEAD}"
TABS = ("", "/packages", "/specs", "/stacks", "/coverage", "/notes")


def comparison_data(client: httpx.Client, name: str, **variables: Any) -> Any:
    """Return the comparison in the response to the document of a page."""
    usual = {"base": BASE, "head": HEAD, "first": 50}
    return page_data(client, name, **usual | variables)["compare"]


def in_words(name: str) -> str:
    """Return the label of a kind or reason on pages."""
    words = {"FACTS": "other facts", "CHANGED": "other facts", "VERSIONS_CHANGED": "other versions"}
    return words.get(name, name.lower().replace("_", " "))


def numbers(texts: list[str]) -> list[int]:
    """Return the first number of each text."""
    return [int(re.findall(r"\d[\d,]*", text)[0].replace(",", "")) for text in texts]


def rows(page: Shown, table: str = "table.changes") -> list[list[str]]:
    """Return the cell texts of the rows of a table."""
    table_rows = page.dom.cssselect(table)[0].cssselect("tbody tr")
    return [[" ".join(field.text_content().split()) for field in row] for row in table_rows]


def figures_of(page: Shown) -> dict[str, str]:
    """Return the totals of a comparison, by their names."""
    return dict(zip(page.texts(".totals dt"), page.texts(".totals div"), strict=True))


def links(page: Shown, selector: str) -> list[str]:
    """Return the targets of the links that a selector matches."""
    return [str(page.response.url.join(link.get("href"))) for link in page.dom.cssselect(selector)]

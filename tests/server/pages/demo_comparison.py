"""A comparison of the demo, as the API and its pages tell it."""

import re
from typing import Any

import httpx

from tests.server.pages.api_answers import answered
from tests.server.pages.page_reader import Shown

BASE, HEAD = "develop-2025-01-05", "develop"
PAIR = f"/compare/{BASE}...{HEAD}"
TABS = ("", "/packages", "/specs", "/stacks", "/coverage", "/notes")


def told(client: httpx.Client, name: str, **variables: Any) -> Any:
    """Return what the API answers to the document of a page."""
    known = {"base": BASE, "head": HEAD, "first": 50} | variables
    return answered(client, name, **known)["compare"]


def in_words(name: str) -> str:
    """Return a kind or a reason as pages write it: what only changed has other facts."""
    words = {"FACTS": "other facts", "CHANGED": "other facts", "VERSIONS_CHANGED": "other versions"}
    return words.get(name, name.lower().replace("_", " "))


def numbers(texts: list[str]) -> list[int]:
    """Return the first number of each text."""
    return [int(re.findall(r"\d[\d,]*", text)[0].replace(",", "")) for text in texts]


def rows(page: Shown, table: str = "table.changes") -> list[list[str]]:
    """Return the texts of the fields of a table's rows."""
    found = page.dom.cssselect(table)[0].cssselect("tbody tr")
    return [[" ".join(field.text_content().split()) for field in row] for row in found]


def figures_of(page: Shown) -> dict[str, str]:
    """Return the totals of a comparison with their names, by these."""
    return dict(zip(page.texts(".totals dt"), page.texts(".totals div"), strict=True))


def links(page: Shown, selector: str) -> list[str]:
    """Return where the links lead that a selector finds."""
    return [str(page.response.url.join(it.get("href"))) for it in page.dom.cssselect(selector)]

"""The documents of pages, and what an address makes of their variables."""

from importlib.resources import files
from typing import Any

import pytest

from schema.api import API
from schema.limits import Limits
from server.pages.documents import PAGE_LENGTH, PageDocument, document


def _names_in(folder: str) -> list[str]:
    """Return the names of the documents, or of the fragments, that pages have."""
    names = [it.name for it in (files("server.pages") / folder).iterdir()]
    return [it.removesuffix(".graphql") for it in names if it.endswith(".graphql")]


_API = API()
NAMES = _names_in("queries")
FRAGMENTS = _names_in("fragments")
TEXT = (
    "query Q($ref: String!, $n: Int, $on: Boolean, $in: [String!], $first: Int, $last: Int) { a }"
)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_valid_and_says_what_it_asks(name: str) -> None:
    """It fits the schema and what a request may cost."""
    page = document(name)
    assert _API.document(page.text).errors == ()
    assert page.text.startswith("# ")
    given = {it: ["1"] for it in page.parameters}
    variables = page.variables(page.known(given))
    assert _API.cost(page.text, None, variables).units <= Limits.max_cost


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_is_kept_once_for_several_places(name: str) -> None:
    """It stands under its name, says what it is for, and follows each document that spreads it."""
    text = (files("server.pages") / f"fragments/{name}.graphql").read_text("utf-8")
    assert text.startswith("# ")
    spreading = [it for it in NAMES if f"...{name}" in document(it).text]
    assert sum(document(it).text.count(f"...{name}") for it in spreading) > 1
    assert all(document(it).text.count(f"fragment {name} on ") == 1 for it in spreading)
    assert all(text in document(it).text for it in spreading)


@pytest.mark.parametrize(
    ("given", "variables"),
    [
        ({"ref": ["a", "b"]}, {"ref": "b", "first": PAGE_LENGTH}),
        ({"n": ["12"], "on": ["true"]}, {"n": 12, "on": True, "first": PAGE_LENGTH}),
        ({"n": ["x"], "on": ["1"]}, {"n": "x", "on": "1", "first": PAGE_LENGTH}),
        ({"in": ["b", "a", ""]}, {"in": ["b", "a"], "first": PAGE_LENGTH}),
        ({"ref": [""], "unknown": ["x"], "first": ["9999"]}, {"first": PAGE_LENGTH}),
    ],
)
def test_variables_are_what_an_address_gives(
    given: dict[str, list[str]], variables: dict[str, Any]
) -> None:
    """As their types have it; what the document does not ask for is ignored."""
    page = PageDocument("q", TEXT)
    assert page.variables(page.known(given)) == variables

"""The documents and paths of pages, and the variables in an address."""

from importlib.resources import files
from typing import Any

import pytest

from schema.api import API
from schema.limits import Limits
from server.pages.addresses import path_filled
from server.pages.documents import PAGE_LENGTH, PageDocument, document

_API = API()
NAMES = [
    file.name.removesuffix(".graphql") for file in (files("server.pages") / "queries").iterdir()
]
TEXT = (
    "query Q($ref: String!, $n: Int, $on: Boolean, $in: [String!], $first: Int, $last: Int) { a }"
)


@pytest.mark.parametrize("name", NAMES)
def test_document_is_valid(name: str) -> None:
    """It begins with a comment, and its cost is allowed."""
    page = document(name)
    assert _API.documents.get(page.text).errors == ()
    assert page.text.startswith("# ")
    variables = page.variables(page.known({name: ["1"] for name in page.parameters}))
    assert _API.cost(page.text, None, variables).units <= Limits.max_cost


@pytest.mark.parametrize(
    ("parameters", "variables"),
    [
        ({"ref": ["a", "b"]}, {"ref": "b", "first": PAGE_LENGTH}),
        ({"n": ["12"], "on": ["true"]}, {"n": 12, "on": True, "first": PAGE_LENGTH}),
        ({"n": ["x"], "on": ["1"]}, {"n": "x", "on": "1", "first": PAGE_LENGTH}),
        ({"in": ["b", "a", ""]}, {"in": ["b", "a"], "first": PAGE_LENGTH}),
        ({"ref": [""], "unknown": ["x"], "first": ["9999"]}, {"first": PAGE_LENGTH}),
    ],
)
def test_variables_in_an_address(
    parameters: dict[str, list[str]], variables: dict[str, Any]
) -> None:
    """By the types of the document, ignoring others."""
    page = PageDocument("q", TEXT)
    assert page.variables(page.known(parameters)) == variables


COMPARE = "/compare/{base}...{head}"


@pytest.mark.parametrize(
    ("pattern", "values", "path"),
    [
        ("/hash/{hash}", {"hash": ["abc"]}, "/hash/abc"),
        ("/hash/{hash}", {"hash": ["x", " /abc\r\n"]}, "/hash/abc"),
        ("/hash/{hash}", {"hash": ["a/b?c#d"]}, "/hash/a%2Fb%3Fc%23d"),
        (COMPARE, {"base": ["v1"], "head": ["develop~1"]}, "/compare/v1...develop~1"),
        (COMPARE, {"base": ["{head}"], "head": ["b"]}, "/compare/%7Bhead%7D...b"),
        (COMPARE, {"base": ["v1"], "head": [""]}, None),
        (COMPARE, {"base": ["v1"]}, None),
        ("/hash/{hash}", {"hash": [" / "]}, None),
    ],
)
def test_path_is_filled_from_a_form(
    pattern: str, values: dict[str, list[str]], path: str | None
) -> None:
    """With escaped values; None if a value is missing."""
    assert path_filled(pattern, values) == path

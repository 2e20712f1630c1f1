"""Requests that the event loop executes itself: small ones."""

from typing import Any

import pytest

from schema.api import API
from tests.schema.selections import COMPARE, FACETS, REVISION, times
from tests.schema.usual import api

SIZED = "query($n: Int) { revision { specs(first: $n) { nodes { hash name } } } }"

LIGHT: dict[str, tuple[str, bool]] = {
    "a number": (REVISION % "numSpecs", True),
    "a page": (REVISION % "specs { totalCount nodes { hash name } }", True),
    "a long page": (REVISION % "specs(first: 1000) { nodes { hash name version } }", True),
    "a short filter": (REVISION % 'specs(filter: {stacks: ["e4s"]}) { totalCount }', True),
    "a long filter": (
        REVISION % ("specs(filter: {stacks: [%s]}) { totalCount }" % ('"a" ' * 200)),
        False,
    ),
    "a query": (REVISION % 'specs(matching: "hdf5") { totalCount }', False),
    "notes": (COMPARE % "releaseNotes", False),
    "many facets": (REVISION % (FACETS % times(20, "stacks { value }")), False),
    "a long text": (REVISION % "tag" + " " * 9_000, True),
}


@pytest.mark.parametrize(("text", "is_light"), LIGHT.values(), ids=LIGHT)
def test_light_documents_run_in_the_event_loop(text: str, is_light: bool) -> None:
    """Short documents of low cost, without long lists or masks."""
    assert API().is_light(None, api.cost(text, None, None)) is is_light


@pytest.mark.parametrize(
    "variables",
    [
        {"a": [1] * 1_000},
        {"a": {"b": "x" * 9_000}},
        {"a": {"x" * 9_000: 1}},
        {"a": "\ud800"},
    ],
)
def test_large_variables_are_not_light(variables: dict[str, Any]) -> None:
    """For any document: they are not read in the event loop."""
    text = "{ revision { tag } }"
    assert not API().is_light(variables, api.cost(text, None, None))


def test_document_is_weighed_once_its_cost_is_cached() -> None:
    """The cost is cached for variables of the same sizes."""
    cached_api = API()
    assert not cached_api.is_weighed(SIZED, None, {"n": 1})
    cached_api.document(SIZED)
    assert not cached_api.is_weighed(SIZED, None, {"n": 1})
    cached_api.cost(SIZED, None, {"n": 1})
    assert cached_api.is_weighed(SIZED, None, {"n": 1, "undeclared": 2})
    assert not cached_api.is_weighed(SIZED, None, {"n": 2})
    cached_api.document("{ nope }")
    assert cached_api.is_weighed("{ nope }", None, None)

"""Typical documents stay within the limits."""

import pytest
from graphql import get_introspection_query

from schema.limits import Limits
from tests.schema.default_api import api
from tests.schema.questions import DOCUMENTS
from tests.schema.selections import COMPARE, PAGE, REVISION

FULL = (
    "hash name version compiler operatingSystem platform target variants stacks size tarball "
    "id namespace packageHash patches versions short package { id name numSpecs versions }"
)
ALLOWED = {
    "introspection of GraphiQL": get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True
    ),
    "1,000 specs of 20 fields": REVISION % (PAGE % FULL),
    **{f"document {number}": text for number, text in enumerate(DOCUMENTS)},
    "release notes as Markdown and JSON": COMPARE % "releaseNotes json: releaseNotes(format: JSON)",
    "1,000 packages beside all facets": REVISION
    % (
        "packages(first: 1000) { nodes { name versions stacks numSpecs } } specs { facets { "
        "packages { ...C } versions { ...C } compilers { ...C } operatingSystems { ...C } "
        "platforms { ...C } targets { ...C } stacks { ...C } } }"
    )
    + " fragment C on FacetCount { value numSpecs }",
    "1,000 changed specs": COMPARE
    % "specs(first: 1000) { nodes { hash kind before { short } fields { path before after } } }",
}
VALUES = {
    "ref": "develop",
    "name": "a",
    "hash": "a",
    "far": True,
    "base": "develop~1",
    "head": "develop",
    "ids": ["a"] * 100,
    "by": ["STACK"],
    "of": "develop",
    "series": "develop",
    "hashes": ["a" * 32] * 100,
    "oid": "a" * 40,
    "planned": [{"hash": "a" * 32, "name": "a", "version": "1"}] * 500,
    "planned_stacks": ["a"] * 20,
    "stack": "a",
    "specs": [{"hash": "a" * 32, "name": "a"}] * 500,
    "first": 100,
    "text": "a",
    "rules": [{"name": "a", "forbid": "package-removed"}, {"name": "b", "require": "a ^b"}] * 5,
}


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
def test_typical_documents_are_allowed(text: str) -> None:
    """Every page, every example and GraphiQL."""
    assert api.documents.get(text).errors == ()
    estimate = api.cost(text, None, VALUES)
    assert 0 < estimate.units <= Limits().max_cost
    assert estimate.num_bytes <= Limits().max_answer_bytes

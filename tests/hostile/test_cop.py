"""The findings of graphql-cop: none, except for intended behaviour."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.settings import Settings
from tests.hostile.attacks.cop import CHECKS
from tests.server.servers import application

_INTENDED = {
    "GET query": "queries only read, and proxies can cache GET",
    "introspection": "the schema is public; a setting disables it",
    "GraphiQL": "the page is for users; a setting disables it",
    "field suggestions": "they contain no more than introspection; a setting disables them",
    "directive overloading": "each unknown directive is an error, and errors are limited",
}
"""The findings of the tool, with the reason for each behaviour."""


@pytest.fixture(scope="module")
def client(demo_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of the application."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        yield client


@pytest.mark.parametrize("name", CHECKS)
def test_only_intended_behaviour_is_found(name: str, client: httpx.Client) -> None:
    """By the check with this name."""
    assert _is_finding(name, client) == (name in _INTENDED)


def _is_finding(name: str, client: httpx.Client) -> bool:
    """Return whether the tool reports the response to its request."""
    check = CHECKS[name]
    response = client.request(
        check.method, check.path, content=check.body, headers=dict(check.headers)
    )
    if name == "GraphiQL":
        return "graphiql" in response.text.lower()
    if name == "unhandled error":
        return '"exception"' in response.text or "Traceback" in response.text
    answer = response.json()
    if not isinstance(answer, dict):
        return isinstance(answer, list)  # a batch was answered
    if name == "trace mode":
        return "tracing" in answer.get("extensions", {})
    errors = answer.get("errors", [])
    if name == "field suggestions":
        return any("Did you mean" in error["message"] for error in errors)
    if name == "directive overloading":
        return len(errors) >= 10
    return bool(answer.get("data"))

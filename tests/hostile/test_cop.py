"""What graphql-cop would report of the server: nothing, or what is meant to be so."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.settings import Settings
from tests.hostile.attacks.cop import CHECKS
from tests.server.servers import application

_MEANT = {
    "GET query": "queries only read, and a GET can be kept by proxies",
    "introspection": "the schema is public; a setting switches it off",
    "GraphiQL": "the page is for people; a setting switches it off",
    "field suggestions": "they tell what introspection tells; a setting switches them off",
    "directive overloading": "each unknown directive is an error, and errors have a limit",
}
"""What the tool reports and why it is so on purpose."""


@pytest.fixture(scope="module")
def client(demo_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of the application."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        yield client


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str, client: httpx.Client) -> None:
    """The response to a check shows nothing, but for what is meant to be so."""
    assert _is_finding(name, client) == (name in _MEANT)


def _is_finding(name: str, client: httpx.Client) -> bool:
    """Tell whether the tool takes the response to its request for a finding."""
    ask = CHECKS[name]
    response = client.request(ask.method, ask.path, content=ask.body, headers=dict(ask.headers))
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

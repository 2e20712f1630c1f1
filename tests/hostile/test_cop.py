"""What graphql-cop would report of the server: nothing, or what is meant to be so."""

from http.client import HTTPConnection

import orjson
import pytest

from tests.hostile.attack import HOST, Target
from tests.hostile.attacks.cop import CHECKS

_MEANT = {
    "GET query": "queries only read, and a GET can be kept by proxies",
    "introspection": "the schema is public; a setting switches it off",
    "GraphiQL": "the page is for people; a setting switches it off",
    "field suggestions": "they tell what introspection tells; a setting switches them off",
    "directive overloading": "each unknown directive is an error, and errors have a limit",
}
"""What the tool reports and why it is so on purpose."""


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str, target: Target) -> None:
    """A check finds nothing, but for what is meant to be so."""
    assert _is_finding(name, target) == (name in _MEANT)


def _is_finding(name: str, target: Target) -> bool:
    """Tell whether the tool takes the answer to its request for a finding."""
    ask = CHECKS[name]
    connection = HTTPConnection(HOST, target.port, timeout=10)
    connection.request(ask.method, ask.path, ask.body or None, dict(ask.headers))
    response = connection.getresponse()
    text = response.read()
    connection.close()
    if name == "GraphiQL":
        return b"graphiql" in text.lower()
    if name == "unhandled error":
        return b'"exception"' in text or b"Traceback" in text
    found = orjson.loads(text)
    if not isinstance(found, dict):
        return isinstance(found, list)  # a batch was answered
    if name == "trace mode":
        return "tracing" in found.get("extensions", {})
    errors = found.get("errors", [])
    if name == "field suggestions":
        return any("Did you mean" in error["message"] for error in errors)
    if name == "directive overloading":
        return len(errors) >= 10
    return bool(found.get("data"))

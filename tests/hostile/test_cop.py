"""graphql-cop (github.com/dolevf/graphql-cop, not on PyPI) finds only intended behaviour."""

from pathlib import Path
from urllib.parse import quote

import httpx

from server.settings import Settings
from tests.hostile.attack import Request, get, query
from tests.server.servers import application

_TYPENAME = "query cop { __typename }"
_DEEP = "fields{type{" * 5 + "name" + "}}" * 5
_CHECKS = {
    "alias overloading": query(
        "query cop {" + " ".join(f"alias{i}:__typename" for i in range(101)) + "}"
    ),
    "batch queries": Request(
        b"[" + b",".join([b'{"query":"query cop { __typename }"}'] * 10) + b"]"
    ),
    "circular fragments": query(
        "query cop { __schema { ...A } } fragment A on __Schema { __typename ...B } "
        "fragment B on __Schema { ...A }"
    ),
    "circular introspection": query(f"query cop {{ __schema {{ types {{ {_DEEP} }} }} }}"),
    "directive overloading": query("query cop { __typename " + "@aa" * 10 + " }"),
    "field duplication": query("query cop { " + "__typename " * 500 + "}"),
    "field suggestions": query("query cop { __schema { directive } }"),
    "GET mutation": get(f"/graphql?query={quote('mutation cop { __typename }')}"),
    "GET query": get(f"/graphql?query={quote(_TYPENAME)}"),
    "GraphiQL": get("/graphql", {"Accept": "text/html"}),
    "introspection": query("query cop { __schema { types { name fields { name } } } }"),
    "form POST": Request(
        f"query={quote(_TYPENAME)}".encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    ),
    "trace mode": query(_TYPENAME),
    "unhandled error": query("qwerty cop { abc }"),
}

_INTENDED = {
    "GET query": "queries only read, and proxies can cache GET",
    "introspection": "the schema is public; a setting disables it",
    "GraphiQL": "the page is for users; a setting disables it",
    "field suggestions": "they contain no more than introspection; a setting disables them",
    "directive overloading": "each unknown directive is an error, and errors are limited",
}
"""The findings of the tool, with the reason for each behaviour."""


def test_only_intended_behaviour_is_found(demo_catalog: Path) -> None:
    """By the check with each name."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        assert {name for name in _CHECKS if _is_finding(name, client)} == _INTENDED.keys()


def _is_finding(name: str, client: httpx.Client) -> bool:
    """Return whether the tool reports the response to its request."""
    check = _CHECKS[name]
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

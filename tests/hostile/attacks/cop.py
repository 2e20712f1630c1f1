"""The checks of graphql-cop (github.com/dolevf/graphql-cop), which is not on PyPI.

Each entry has the request of one of its checks, according to its description.
"""

from urllib.parse import quote

from tests.hostile.attack import Attack, Request, get, query, sending

_TYPENAME = "query cop { __typename }"


def _circular_introspection() -> Request:
    deep = "fields{type{" * 5 + "name" + "}}" * 5
    return query(f"query cop {{ __schema {{ types {{ {deep} }} }} }}")


def _form(text: str) -> Request:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return Request(f"query={quote(text)}".encode(), headers=kind)


CHECKS = {
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
    "circular introspection": _circular_introspection(),
    "directive overloading": query("query cop { __typename " + "@aa" * 10 + " }"),
    "field duplication": query("query cop { " + "__typename " * 500 + "}"),
    "field suggestions": query("query cop { __schema { directive } }"),
    "GET mutation": get(f"/graphql?query={quote('mutation cop { __typename }')}"),
    "GET query": get(f"/graphql?query={quote(_TYPENAME)}"),
    "GraphiQL": get("/graphql", {"Accept": "text/html"}),
    "introspection": query("query cop { __schema { types { name fields { name } } } }"),
    "form POST": _form(_TYPENAME),
    "trace mode": query(_TYPENAME),
    "unhandled error": query("qwerty cop { abc }"),
}

ATTACKS = tuple(
    Attack(f"cop: {name}", "a check of graphql-cop", sending(request))
    for name, request in CHECKS.items()
)

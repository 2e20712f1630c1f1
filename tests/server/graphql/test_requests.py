"""Reading requests: pure functions, which nothing a client sends can surprise."""

from urllib.parse import urlencode

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from server.asgi.errors import BadRequest
from server.asgi.responses import JSON
from server.graphql.persisted_documents import PersistedDocuments
from server.graphql.requests import GraphQLRequest, from_body, from_query_string

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["query", "variables", "operationName", "extensions", "persistedQuery", "version"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def read(body: bytes | None = None, query_string: bytes = b"") -> GraphQLRequest | BadRequest:
    """Return the request that a client sends, or why it is none."""
    try:
        if body is None:
            return from_query_string(query_string, PersistedDocuments())
        return from_body(body, JSON, PersistedDocuments())
    except BadRequest as error:
        return error


@given(body=st.binary(max_size=40) | VALUES.map(orjson.dumps))
@example(body=b'{"query": "{ a }", "variables": {"a": 1e400}}')
def test_any_body_is_a_request_or_a_bad_one(body: bytes) -> None:
    """Nothing else comes of it."""
    found = read(body)
    if isinstance(found, BadRequest):
        assert found.status in (200, 400)
        assert found.message
    else:
        assert isinstance(found.query, str)
        assert found.query
        assert found.variables is None or isinstance(found.variables, dict)


@given(query_string=st.binary(max_size=40) | st.text(max_size=20).map(lambda it: it.encode()))
@example(query_string=b"query=%7B&variables=%5B")
@example(query_string=b"&" * 2_000 + b"query=x")
def test_any_query_string_is_a_request_or_a_bad_one(query_string: bytes) -> None:
    """Nothing else comes of it."""
    found = read(query_string=query_string)
    assert found.status == 400 if isinstance(found, BadRequest) else found.query


@given(
    query=st.text(min_size=1, max_size=20),
    variables=st.none() | st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
    operation_name=st.none() | st.text(min_size=1, max_size=9),
)
def test_both_ways_of_asking_say_the_same(
    query: str, variables: dict[str, object] | None, operation_name: str | None
) -> None:
    """What is written into a body or into an address is read as it was meant."""
    asked = {"query": query, "variables": variables, "operationName": operation_name}
    expected = GraphQLRequest(query, variables, operation_name)
    assert from_body(orjson.dumps(asked), JSON, PersistedDocuments()) == expected
    parts = {"query": query, "operationName": operation_name or ""}
    if variables is not None:
        parts["variables"] = orjson.dumps(variables).decode()
    assert from_query_string(urlencode(parts).encode(), PersistedDocuments()) == expected


def test_variables_have_one_text() -> None:
    """The order in which a client writes their names does not matter."""
    texts = {
        GraphQLRequest("q", variables, None).variables_text()
        for variables in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    }
    assert texts == {b'{"a":1,"b":{"c":2,"d":3}}'}

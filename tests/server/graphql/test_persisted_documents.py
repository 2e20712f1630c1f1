"""Parsing requests, and the persisted documents of clients."""

from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.asgi.errors import BadRequest
from server.asgi.responses import JSON
from server.graphql.persisted_documents import MAX_PERSISTED_BYTES, PersistedDocuments
from server.graphql.requests import GraphQLRequest, from_body, from_query_string


def by_hash(name: str) -> dict[str, Any]:
    """Return the extensions that an Apollo client sends."""
    return {"persistedQuery": {"version": 1, "sha256Hash": name}}


def registered(documents: PersistedDocuments, query: str) -> dict[str, Any]:
    """Send a document with its hash, and return the extensions with the hash."""
    extensions = by_hash(sha256(query.encode()).hexdigest())
    assert documents.query_of(query, extensions) == query
    return extensions


def test_persisted_documents_are_bounded() -> None:
    """The latest are stored; a client that sends ever new documents does not fill memory."""
    documents = PersistedDocuments()
    size = MAX_PERSISTED_BYTES // 4 - 1_000
    queries = [f"{number}".ljust(size) for number in range(6)]
    hashes = [registered(documents, query) for query in queries]
    hashes.append(registered(documents, "x" * (MAX_PERSISTED_BYTES + 1)))
    for extensions in (*hashes[:2], hashes[-1]):
        with pytest.raises(BadRequest, match="PersistedQueryNotFound"):
            documents.query_of(None, extensions)
    assert [documents.query_of(None, hash_) for hash_ in hashes[2:6]] == queries[2:]


# -- parsing

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
    """Return the request that a client sends, or the error."""
    try:
        if body is None:
            return from_query_string(query_string, PersistedDocuments())
        return from_body(body, JSON, PersistedDocuments())
    except BadRequest as error:
        return error


@given(body=st.binary(max_size=40) | VALUES.map(orjson.dumps))
@example(body=b'{"query": "{ a }", "variables": {"a": 1e400}}')
def test_any_body_is_a_request_or_an_error(body: bytes) -> None:
    """No other exception is raised."""
    result = read(body)
    if isinstance(result, BadRequest):
        assert result.status in (200, 400)
        assert result.message
    else:
        assert isinstance(result.query, str)
        assert result.query
        assert result.variables is None or isinstance(result.variables, dict)


@given(query_string=st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
@example(query_string=b"query=%7B&variables=%5B")
@example(query_string=b"&" * 2_000 + b"query=x")
def test_any_query_string_is_a_request_or_an_error(query_string: bytes) -> None:
    """No other exception is raised."""
    result = read(query_string=query_string)
    assert result.status == 400 if isinstance(result, BadRequest) else result.query


@given(
    query=st.text(min_size=1, max_size=20),
    variables=st.none() | st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
    operation_name=st.none() | st.text(min_size=1, max_size=9),
)
def test_get_and_post_are_equal(
    query: str, variables: dict[str, object] | None, operation_name: str | None
) -> None:
    """A body and a query string with the same parts are the same request."""
    request = {"query": query, "variables": variables, "operationName": operation_name}
    expected = GraphQLRequest(query, variables, operation_name)
    assert from_body(orjson.dumps(request), JSON, PersistedDocuments()) == expected
    parts = {"query": query, "operationName": operation_name or ""}
    if variables is not None:
        parts["variables"] = orjson.dumps(variables).decode()
    assert from_query_string(urlencode(parts).encode(), PersistedDocuments()) == expected

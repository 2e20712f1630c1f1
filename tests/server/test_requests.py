"""Reading requests and their headers: pure functions, which nothing a client sends can surprise."""

from hashlib import sha256
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.requests import (
    JSON,
    MAX_PERSISTED_BYTES,
    RESPONSE_JSON,
    BadRequest,
    GraphQLRequest,
    PersistedDocuments,
    accepted_encoding,
    accepted_media_type,
    from_body,
    from_query_string,
    prefers_html,
)

CODINGS = ("zstd", "br", "gzip")
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


MEDIA_TYPES = {
    "": JSON,
    "*/*": JSON,
    "*/*;q=0.1": JSON,
    "application/*": JSON,
    JSON: JSON,
    "APPLICATION/JSON": JSON,
    RESPONSE_JSON: RESPONSE_JSON,
    f"{RESPONSE_JSON}, {JSON}": RESPONSE_JSON,
    f"{JSON}, {RESPONSE_JSON}": RESPONSE_JSON,
    f"{JSON}, {RESPONSE_JSON};q=0.9": JSON,
    f"{RESPONSE_JSON}, */*;q=0.1": RESPONSE_JSON,
    f"{JSON};q=0, */*": RESPONSE_JSON,
    "text/html, */*;q=0.8": JSON,
    "text/html": None,
    "*/*;q=0": None,
    f"{JSON};q=nonsense": None,
}


@pytest.mark.parametrize("accept", MEDIA_TYPES)
def test_the_media_type_is_the_best_that_the_client_takes(accept: str) -> None:
    """By weight; GraphQL's own where it is named with the same weight."""
    assert accepted_media_type(accept) == MEDIA_TYPES[accept]


ENCODINGS = {
    "": "identity",
    "gzip": "gzip",
    "GZIP": "gzip",
    "br, gzip": "br",
    "gzip, br, zstd": "zstd",
    "gzip;q=0.9, br;q=0.8": "gzip",
    "*": "zstd",
    "*;q=0.5, gzip": "gzip",
    "zstd;q=0, br;q=0.0, *": "gzip",
    "identity, gzip;q=0.5": "identity",
    "identity;q=0.5, gzip": "gzip",
    "deflate, x-gzip": "identity",
    "gzip;q=0": "identity",
    "gzip;q=x": "identity",
}


@pytest.mark.parametrize("accepted", ENCODINGS)
def test_the_coding_is_the_best_that_the_client_takes(accepted: str) -> None:
    """By weight, then in the order of the offers."""
    assert accepted_encoding(accepted, CODINGS) == ENCODINGS[accepted]


BROWSERS = {
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": True,
    "text/html": True,
    f"{JSON}, text/html;q=0.9": False,
    f"text/html;q=0.9, {RESPONSE_JSON};q=0.5": True,
    "text/html;q=0": False,
    "*/*": False,
    "": False,
    JSON: False,
}


@pytest.mark.parametrize("accept", BROWSERS)
def test_only_a_browser_prefers_html(accept: str) -> None:
    """It names HTML, and nothing of GraphQL that it likes better."""
    assert prefers_html(accept) == BROWSERS[accept]


@given(header=st.text(max_size=40))
@example(header=";q=1,;;=,q=,gzip;q=inf")
def test_no_header_is_too_odd(header: str) -> None:
    """Whatever it holds, something is chosen or refused."""
    assert accepted_media_type(header) in (JSON, RESPONSE_JSON, None)
    assert accepted_encoding(header, CODINGS) in (*CODINGS, "identity")
    assert prefers_html(header) in (True, False)


def test_persisted_documents_are_bounded() -> None:
    """The latest ones stay; a client that sends ever new ones fills no memory."""
    documents = PersistedDocuments()
    size = MAX_PERSISTED_BYTES // 4
    queries = [f"{number}".ljust(size) for number in range(6)]
    asked = [
        {"persistedQuery": {"version": 1, "sha256Hash": sha256(query.encode()).hexdigest()}}
        for query in queries
    ]
    for query, extensions in zip(queries, asked, strict=True):
        assert documents.query_of(query, extensions) == query
    for extensions in asked[:2]:
        with pytest.raises(BadRequest, match="PersistedQueryNotFound"):
            documents.query_of(None, extensions)
    assert [documents.query_of(None, it) for it in asked[2:]] == queries[2:]


def test_a_document_too_large_to_keep_is_answered_all_the_same() -> None:
    """It is only not there by its hash afterwards."""
    documents, query = PersistedDocuments(), "x" * (MAX_PERSISTED_BYTES + 1)
    digest = sha256(query.encode()).hexdigest()
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": digest}}
    assert documents.query_of(query, extensions) == query
    with pytest.raises(BadRequest, match="PersistedQueryNotFound"):
        documents.query_of(None, extensions)

"""Parsing requests, and persisted documents: of clients, or of a manifest that lists all."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.asgi.errors import BadRequest
from server.asgi.responses import JSON
from server.graphql.persisted_documents import (
    MAX_PERSISTED_BYTES,
    PersistedDocuments,
    read_manifest,
)
from server.graphql.requests import GraphQLRequest, from_body, from_query_string
from server.settings import Settings
from snapshots.errors import InvalidArgument
from tests.server.graphql.test_endpoint import code_of
from tests.server.servers import application

TAGS = "query Tags { tags { name } }"
OTHER = "query Other { revision { numSpecs } }"
APOLLO = {
    "format": "apollo-persisted-query-manifest",
    "version": 1,
    "operations": [
        {"id": "a1", "name": "Tags", "type": "query", "body": TAGS},
        {"id": "b2", "name": "Other", "type": "query", "body": OTHER},
    ],
}
RELAY = {"a1": TAGS, "b2": OTHER}


def written(folder: Path, content: Any) -> Path:
    """Write a manifest and return its path."""
    path = folder / "documents.json"
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return path


def by_hash(name: str) -> dict[str, Any]:
    """Return the extensions that an Apollo client sends."""
    return {"persistedQuery": {"version": 1, "sha256Hash": name}}


@pytest.mark.parametrize(
    "content",
    [APOLLO, RELAY, {f"sha256:{name}": text for name, text in RELAY.items()}],
    ids=["apollo", "relay", "code-generator"],
)
@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_documents_are_found_by_id_or_text(tmp_path: Path, content: Any, prefix: str) -> None:
    """Under the parameters that Apollo and Relay use for the id."""
    manifest = read_manifest(written(tmp_path, content))
    assert manifest.query_of(None, by_hash(f"{prefix}a1"), None) == TAGS
    assert manifest.query_of(None, None, f"{prefix}b2") == OTHER
    assert manifest.query_of(TAGS, None, None) == TAGS
    assert manifest.query_of(TAGS, by_hash("a1"), None) == TAGS
    assert manifest.query_of(None, None, None) is None


@pytest.mark.parametrize(
    ("query", "extensions", "document_id", "status"),
    [
        ("{ tags { name } }", None, None, 403),
        (None, None, "c3", 400),
        (None, by_hash("c3"), None, 400),
        (OTHER, by_hash("a1"), None, 400),
        (TAGS, by_hash("c3"), None, 400),
    ],
)
def test_other_documents_are_refused(
    tmp_path: Path, query: str | None, extensions: Any, document_id: str | None, status: int
) -> None:
    """Another text, another id, or a text with the id of another document."""
    manifest = read_manifest(written(tmp_path, APOLLO))
    with pytest.raises(BadRequest) as caught:
        manifest.query_of(query, extensions, document_id)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a1": "\xff"}', "can't decode byte 0xff"),
        (b'{"a1": ' + b"[" * 100_000, "recursion"),
        ([], "Expected `object`"),
        ({"a1": ""}, "length >= 1"),
        (APOLLO | {"version": 2}, r"at `\$\.version`"),
        ({"operations": []}, "missing required field `format`"),
        (APOLLO | {"operations": [1]}, r"at `\$\.operations\[0\]`"),
        (
            APOLLO | {"operations": [{"id": "a", "body": TAGS}, {"id": "a", "body": OTHER}]},
            "two documents of the id 'a'",
        ),
    ],
)
def test_malformed_manifest_is_refused(tmp_path: Path, content: Any, reason: str) -> None:
    """The message names the setting, the file and the position; as any unreadable file."""
    path = written(tmp_path, content)
    with pytest.raises(InvalidArgument, match=reason) as caught:
        read_manifest(path)
    assert caught.value.name == "CACHELOG_DOCUMENTS"
    assert str(path) in str(caught.value)
    with pytest.raises(InvalidArgument, match="No such file"):
        read_manifest(tmp_path / "nothing")


@pytest.fixture(scope="module")
def strict(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server that executes only a manifest, with all options off."""
    invalid = {"schema": "{ __schema { queryType { name } } }", "field": "{ tagz { name } }"}
    path = written(tmp_path_factory.mktemp("manifest"), RELAY | invalid)
    settings = Settings(
        catalog=str(demo_catalog),
        documents=str(path),
        graphiql=False,
        metrics=False,
        introspection=False,
    )
    with application(settings) as client:
        yield client


@pytest.mark.parametrize("name", ["id", "doc_id", "documentId"])
def test_server_with_a_manifest_answers_by_id(strict: httpx.Client, name: str) -> None:
    """By GET and by POST."""
    posted = strict.post("/graphql", json={name: "a1"})
    got = strict.get("/graphql", params={name: "a1"})
    assert posted.json() == got.json()
    assert posted.json()["data"]["tags"]


def test_other_documents_and_features_are_absent(strict: httpx.Client) -> None:
    """None is registered; no page for browsers, no schema, no introspection, no names in errors."""
    by_text = strict.post("/graphql", json={"query": "{ tags { name } }"})
    assert (by_text.status_code, code_of(by_text)) == (403, "PERSISTED_QUERY_NOT_IN_LIST")
    unknown = strict.post("/graphql", json={"extensions": by_hash("0" * 64)})
    assert (unknown.status_code, code_of(unknown)) == (400, "PERSISTED_QUERY_NOT_IN_LIST")
    assert strict.get("/graphql", headers={"accept": "text/html"}).status_code == 406
    assert strict.get("/schema.graphql").status_code == strict.get("/metrics").status_code == 404
    assert "data" not in strict.post("/graphql", json={"id": "schema"}).json()
    (error,) = strict.post("/graphql", json={"id": "field"}).json()["errors"]
    assert "tags" not in error["message"]


# -- documents that clients send


def registered(documents: PersistedDocuments, query: str) -> dict[str, Any]:
    """Send a document with its hash, and return the extensions with the hash."""
    extensions = by_hash(sha256(query.encode()).hexdigest())
    assert documents.query_of(query, extensions, None) == query
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
            documents.query_of(None, extensions, None)
    assert [documents.query_of(None, hash_, None) for hash_ in hashes[2:6]] == queries[2:]


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

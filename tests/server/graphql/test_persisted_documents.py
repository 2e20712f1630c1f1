"""Documents by their hash: what is kept of them, and for how long."""

from hashlib import sha256

import pytest

from server.asgi.errors import BadRequest
from server.graphql.persisted_documents import MAX_PERSISTED_BYTES, PersistedDocuments


def test_persisted_documents_are_bounded() -> None:
    """The latest ones stay; a client that sends ever new ones fills no memory."""
    documents = PersistedDocuments()
    size = MAX_PERSISTED_BYTES // 4 - 1_000
    queries = [f"{number}".ljust(size) for number in range(6)]
    asked = [
        {"persistedQuery": {"version": 1, "sha256Hash": sha256(query.encode()).hexdigest()}}
        for query in queries
    ]
    for query, extensions in zip(queries, asked, strict=True):
        assert documents.query_of(query, extensions, None) == query
    for extensions in asked[:2]:
        with pytest.raises(BadRequest, match="PersistedQueryNotFound"):
            documents.query_of(None, extensions, None)
    assert [documents.query_of(None, it, None) for it in asked[2:]] == queries[2:]


def test_a_document_too_large_to_keep_is_answered_all_the_same() -> None:
    """It is only not there by its hash afterwards."""
    documents, query = PersistedDocuments(), "x" * (MAX_PERSISTED_BYTES + 1)
    digest = sha256(query.encode()).hexdigest()
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": digest}}
    assert documents.query_of(query, extensions, None) == query
    with pytest.raises(BadRequest, match="PersistedQueryNotFound"):
        documents.query_of(None, extensions, None)

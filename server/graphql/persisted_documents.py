"""Documents that clients name by their hash: Apollo's automatic persisted queries (APQ).

https://www.apollographql.com/docs/apollo-server/performance/apq
"""

import sys
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from typing import Any, Protocol

from cachetools import LRUCache

from server.asgi.errors import BadRequest

MAX_PERSISTED_BYTES = 16 << 20
"""How many bytes of documents are kept, with their hashes."""

_OVERHEAD = 500
"""About how many bytes a document takes beside its text: its hash, its places in the cache."""


class DocumentSource(Protocol):
    """Where the document of a request comes from."""

    def query_of(
        self, query: str | None, extensions: Mapping[str, Any] | None, document_id: str | None, /
    ) -> str | None:
        """Return the document that a request sends or names; None where it does neither.

        ``document_id`` is what a client of Relay names it by. Raises BadRequest where it may not be
        executed, or is not known.
        """


def hash_asked(extensions: Mapping[str, Any] | None) -> str | None:
    """Return the hash by which a client of Apollo names a document; raises BadRequest."""
    persisted = (extensions or {}).get("persistedQuery")
    if persisted is None:
        return None
    if not isinstance(persisted, dict) or persisted.get("version") != 1:
        raise BadRequest(
            "extensions.persistedQuery must have version 1",
            code="PERSISTED_QUERY_NOT_SUPPORTED",
        )
    digest = persisted.get("sha256Hash")
    if not isinstance(digest, str):
        raise BadRequest("extensions.persistedQuery.sha256Hash must be a string")
    return digest


class PersistedDocuments:
    """Documents by the sha256 of their text, as Apollo's clients send them (APQ).

    A client sends the hash alone; if it is not known here it sends both, once. Several threads
    may ask.
    """

    def __init__(self) -> None:
        self._known: LRUCache[str, str] = LRUCache(MAX_PERSISTED_BYTES, _bytes_of)
        self._lock = Lock()

    def query_of(
        self, query: str | None, extensions: Mapping[str, Any] | None, _document_id: str | None
    ) -> str | None:
        """Return the document of a request; raises BadRequest where its hash is not known."""
        digest = hash_asked(extensions)
        if digest is None:
            return query
        if query is None:
            with self._lock:
                known: str | None = self._known.get(digest)
            if known is None:
                # Apollo's clients look for this very message, in a response with status 200.
                raise BadRequest(
                    "PersistedQueryNotFound", status=200, code="PERSISTED_QUERY_NOT_FOUND"
                )
            return known
        if sha256(query.encode()).hexdigest() != digest:
            raise BadRequest("sha256Hash is not the hash of query")
        if _bytes_of(query) <= MAX_PERSISTED_BYTES:
            with self._lock:
                self._known[digest] = query
        return query


def _bytes_of(query: str) -> int:
    return sys.getsizeof(query) + _OVERHEAD

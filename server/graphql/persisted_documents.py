"""Persisted documents, which clients register and then name by their hash."""

import sys
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from typing import Any

from cachetools import LRUCache

from server.asgi.errors import BadRequest

MAX_PERSISTED_BYTES = 16 << 20
"""Size of the cache of documents and their hashes, in bytes."""

_OVERHEAD = 500
"""Approximate memory of a document without its text, in bytes: its hash and cache entry."""


def persisted_hash(extensions: Mapping[str, Any] | None) -> str | None:
    """Return the hash by which an Apollo client names a document, if any.

    Raises BadRequest if the extension is invalid.
    """
    persisted = (extensions or {}).get("persistedQuery")
    if persisted is None:
        return None
    if not isinstance(persisted, dict) or persisted.get("version") != 1:
        raise BadRequest(
            "extensions.persistedQuery must have version 1", code="PERSISTED_QUERY_NOT_SUPPORTED"
        )
    digest = persisted.get("sha256Hash")
    if not isinstance(digest, str):
        raise BadRequest("extensions.persistedQuery.sha256Hash must be a string")
    return digest


class PersistedDocuments:
    """Documents by the SHA-256 of their text, as in Apollo's automatic persisted queries (APQ).

    A client first sends only the hash; if the hash is unknown, it sends hash and document. All
    methods are thread-safe.
    """

    def __init__(self) -> None:
        self._known: LRUCache[str, str] = LRUCache(MAX_PERSISTED_BYTES, _bytes_of)
        self._lock = Lock()

    def query_of(self, query: str | None, extensions: Mapping[str, Any] | None) -> str | None:
        """Return the document of a request; raise BadRequest if its hash is unknown or wrong."""
        digest = persisted_hash(extensions)
        if digest is None:
            return query
        if query is None:
            with self._lock:
                document: str | None = self._known.get(digest)
            if document is None:
                # Apollo's clients expect exactly this message, in a response with status 200.
                raise BadRequest(
                    "PersistedQueryNotFound", status=200, code="PERSISTED_QUERY_NOT_FOUND"
                )
            return document
        if sha256(query.encode()).hexdigest() != digest:
            raise BadRequest("sha256Hash is not the hash of query")
        if _bytes_of(query) <= MAX_PERSISTED_BYTES:
            with self._lock:
                self._known[digest] = query
        return query


def _bytes_of(query: str) -> int:
    return sys.getsizeof(query) + _OVERHEAD

"""Persisted documents, which requests name by id: sent by clients, or listed by the operator."""

import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from cachetools import LRUCache
from msgspec import Meta

from server.asgi.errors import BadRequest
from snapshots.errors import InvalidArgument

MAX_PERSISTED_BYTES = 16 << 20
"""Size of the cache of documents and their hashes, in bytes."""

_OVERHEAD = 500
"""Approximate memory of a document without its text, in bytes: its hash and cache entry."""


_SHA256 = "sha256:"
"""Prefix of ids that are hashes in GraphQL over HTTP, also used by GraphQL Code Generator:
https://github.com/graphql/graphql-over-http/blob/main/spec/Appendix%20A%20--%20Persisted%20Documents.md"""


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
    return digest.removeprefix(_SHA256)


class PersistedDocuments:
    """Documents by the SHA-256 of their text, as in Apollo's automatic persisted queries (APQ).

    A client first sends only the hash; if the hash is unknown, it sends hash and document. All
    methods are thread-safe.
    """

    def __init__(self) -> None:
        self._known: LRUCache[str, str] = LRUCache(MAX_PERSISTED_BYTES, _bytes_of)
        self._lock = Lock()

    def query_of(
        self, query: str | None, extensions: Mapping[str, Any] | None, _document_id: str | None
    ) -> str | None:
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


VARIABLE = "CACHELOG_DOCUMENTS"


class Manifest:
    """The allowed documents by id; clients may also send their unchanged texts.

    Ids are compared without the prefix ``sha256:``.
    """

    def __init__(self, documents: Mapping[str, str]) -> None:
        self.documents = {name.removeprefix(_SHA256): text for name, text in documents.items()}
        self._texts = frozenset(documents.values())

    def query_of(
        self, query: str | None, extensions: Mapping[str, Any] | None, document_id: str | None
    ) -> str | None:
        """Return the document of a request; raise BadRequest if it is not allowed."""
        name = (
            persisted_hash(extensions) if document_id is None else document_id.removeprefix(_SHA256)
        )
        if name is not None:
            document = self.documents.get(name)
            if document is None:
                raise BadRequest(
                    "the id names no document that may be executed here",
                    code="PERSISTED_QUERY_NOT_IN_LIST",
                )
            if query is not None and query != document:
                raise BadRequest("query is not the document that the id names")
            return document
        if query is not None and query not in self._texts:
            raise BadRequest(
                "only documents of this server's own list are executed",
                status=403,
                code="PERSISTED_QUERY_NOT_IN_LIST",
            )
        return query


_Text = Annotated[str, Meta(min_length=1)]


class _Operation(msgspec.Struct):
    id: _Text
    body: _Text


class _ApolloManifest(msgspec.Struct):
    format: Literal["apollo-persisted-query-manifest"]
    version: Literal[1]
    operations: list[_Operation]


DocumentSource: TypeAlias = PersistedDocuments | Manifest


def read_manifest(path: Path, option: str = VARIABLE) -> Manifest:
    """Read a manifest in either format; raise InvalidArgument if it is unreadable or invalid.

    ``option`` is the option or variable that names the file, for messages.
    """
    try:
        content = path.read_bytes()
        members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        if members.keys().isdisjoint(("format", "operations")):
            return Manifest(msgspec.json.decode(content, type=dict[str, _Text]))
        operations = msgspec.json.decode(content, type=_ApolloManifest).operations
    except OSError as error:
        raise InvalidArgument(option, f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidArgument(option, f"{path} is not a manifest: {error}") from None
    documents: dict[str, str] = {}
    for operation in operations:
        if documents.setdefault(operation.id, operation.body) != operation.body:
            raise InvalidArgument(option, f"{path} has two documents of the id {operation.id!r}")
    return Manifest(documents)

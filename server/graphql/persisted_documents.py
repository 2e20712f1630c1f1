"""Documents that requests name, and do not hold: those that clients sent, or an operator's list."""

import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, Protocol

import msgspec
from cachetools import LRUCache
from msgspec import Meta

from server.asgi.errors import BadRequest
from snapshots.errors import InvalidArgument

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


_SHA256 = "sha256:"
"""What GraphQL over HTTP puts in front of an id that is a hash, and GraphQL Code Generator with it:
https://github.com/graphql/graphql-over-http/blob/main/spec/Appendix%20A%20--%20Persisted%20Documents.md"""


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
    return digest.removeprefix(_SHA256)


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
                document: str | None = self._known.get(digest)
            if document is None:
                # Apollo's clients look for this very message, in a response with status 200.
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
    """The documents that may be executed, by their ids; their very texts may be sent too.

    An id that is a hash is the same with ``sha256:`` in front and without.
    """

    def __init__(self, documents: Mapping[str, str]) -> None:
        self.documents = {name.removeprefix(_SHA256): text for name, text in documents.items()}
        self._texts = frozenset(documents.values())

    def query_of(
        self, query: str | None, extensions: Mapping[str, Any] | None, document_id: str | None
    ) -> str | None:
        """Return the document of a request; raises BadRequest where it is not allowed."""
        name = hash_asked(extensions) if document_id is None else document_id.removeprefix(_SHA256)
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


def read_manifest(path: Path, option: str = VARIABLE) -> Manifest:
    """Read a manifest in either format; raises InvalidArgument with the file and the place.

    ``option`` is what the operator named the file by.
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

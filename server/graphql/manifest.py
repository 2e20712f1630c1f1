"""Documents that an operator allows, and no others: a manifest that a front end's build writes.

Two formats are read. Apollo's has a list of operations:
https://www.apollographql.com/docs/graphos/platform/security/persisted-queries
Relay's is one object, from each id to its text:
https://relay.dev/docs/guides/persisted-queries/
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from server.asgi.errors import BadRequest
from server.graphql.persisted_documents import hash_asked
from snapshots.errors import InvalidArgument

VARIABLE = "CACHELOG_DOCUMENTS"
APOLLO_FORMAT = "apollo-persisted-query-manifest"


class Manifest:
    """The documents that may be executed, by their ids; their very texts may be sent too."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = dict(documents)
        self._texts = frozenset(documents.values())

    @property
    def documents(self) -> Mapping[str, str]:
        """The documents by their ids."""
        return self._documents

    def query_of(
        self, query: str | None, extensions: Mapping[str, Any] | None, document_id: str | None
    ) -> str | None:
        """Return the document of a request; raises BadRequest where it is not allowed."""
        asked = document_id if document_id is not None else hash_asked(extensions)
        if asked is not None:
            known = self._documents.get(asked)
            if known is None:
                raise BadRequest(
                    "the id names no document that may be executed here",
                    code="PERSISTED_QUERY_NOT_IN_LIST",
                )
            if query is not None and query != known:
                raise BadRequest("query is not the document that the id names")
            return known
        if query is not None and query not in self._texts:
            raise BadRequest(
                "only documents of this server's own list are executed",
                status=403,
                code="PERSISTED_QUERY_NOT_IN_LIST",
            )
        return query


def read_manifest(path: Path, option: str = VARIABLE) -> Manifest:
    """Read a manifest in either format; raises InvalidArgument with the file and the place.

    ``option`` is what the operator named the file by.
    """
    try:
        written = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InvalidArgument(option, f"{path} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise InvalidArgument(option, f"{path} is not JSON: {error}") from None
    if not isinstance(written, dict):
        raise InvalidArgument(option, f"{path} is no manifest: it must be a JSON object")
    if "format" in written or "operations" in written:
        return Manifest(_of_apollo(path, written, option))
    for name, text in written.items():
        if not isinstance(text, str) or not text:
            raise InvalidArgument(option, f"{path}: the document of {name!r} must be a text")
    return Manifest(written)


def _of_apollo(path: Path, written: dict[str, Any], option: str) -> dict[str, str]:
    if written.get("format") != APOLLO_FORMAT or written.get("version") != 1:
        raise InvalidArgument(option, f"{path}: format must be {APOLLO_FORMAT}, and version 1")
    operations = written.get("operations")
    if not isinstance(operations, list):
        raise InvalidArgument(option, f"{path}: operations must be a list")
    documents: dict[str, str] = {}
    for place, operation in enumerate(operations):
        given = operation if isinstance(operation, dict) else {}
        name, body = given.get("id"), given.get("body")
        if not (isinstance(name, str) and name and isinstance(body, str) and body):
            raise InvalidArgument(option, f"{path}: operations[{place}] must have id and body")
        if documents.setdefault(name, body) != body:
            raise InvalidArgument(option, f"{path}: operations[{place}] repeats the id {name!r}")
    return documents

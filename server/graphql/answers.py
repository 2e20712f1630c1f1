"""From the bytes of a request to its response: looked up where it is known, else executed."""

import re
from typing import NamedTuple

from cachetools import LRUCache
from graphql import OperationType

from schema import api
from server.graphql.cache import CacheKey, ResponseCache
from server.graphql.errors import BadRequest
from server.graphql.execution import Executed, Execution
from server.graphql.persisted_documents import PersistedDocuments
from server.graphql.requests import GraphQLRequest, from_body, from_query_string
from server.negotiation import JSON, RESPONSE_JSON, accepted_media_type
from server.responses import Response
from server.sending import REVALIDATE
from snapshots.catalog.catalog import Catalog

_IMMUTABLE = b"public, max-age=31536000, immutable"
_PARSED_BYTES = 16 << 20
_INTROSPECTION = re.compile(r"__(?:schema|type)\b")


class RequestBytes(NamedTuple):
    """The bytes of an HTTP request that decide its answer, before any of them is parsed."""

    is_post: bool
    content: bytes
    """The body of a POST, or else the query string."""

    content_type: bytes
    accept: bytes


class ParsedRequest:
    """What a request asks for, with the two keys that its response can be kept under.

    A response that stays true for ever is kept under ``permanent_key``, any other under
    ``key_at`` the catalog's generation. ``num_bytes`` is about what this and its bytes take.
    """

    __slots__ = ("_current_key", "num_bytes", "permanent_key", "request")

    def __init__(self, request: GraphQLRequest, media_type: str, num_bytes: int) -> None:
        self.request = request
        self.permanent_key = CacheKey(
            request.query, request.variables_text(), request.operation_name, media_type, None
        )
        self.num_bytes = 2 * self.permanent_key.num_bytes + num_bytes
        self._current_key = self.permanent_key

    def key_at(self, generation: int) -> CacheKey:
        """Return the key of an answer that holds in one generation of the catalog."""
        if self._current_key.generation != generation:
            self._current_key = self.permanent_key._replace(generation=generation)
        return self._current_key


class Answer(NamedTuple):
    """A response, and the key that it is kept under; None where it is not to be kept."""

    response: Response
    key: CacheKey | None


class Answers:
    """Answers requests, and keeps ``cache_bytes`` of responses so that none is made twice."""

    def __init__(self, catalog: Catalog, execution: Execution, *, cache_bytes: int) -> None:
        self._catalog = catalog
        self._execution = execution
        self._documents = PersistedDocuments()
        self._responses = ResponseCache(cache_bytes)
        self._parsed: LRUCache[RequestBytes, ParsedRequest] = LRUCache(
            _PARSED_BYTES if cache_bytes else 0, lambda parsed: parsed.num_bytes
        )

    async def answer(self, asked: RequestBytes) -> Answer:
        """Return the answer to a request; raises BadRequest where it is none."""
        parsed = self._parse(asked)
        for key in (parsed.permanent_key, parsed.key_at(self._catalog.generation)):
            if (kept := self._responses.get(key)) is not None:
                return Answer(kept, key)
        return self._keep(parsed, key, await self._execution.execute(parsed.request))

    def count_anew(self, answer: Answer) -> None:
        """Take in that a response has grown by another content coding."""
        if answer.key is not None:
            self._responses.put(answer.key, answer.response)

    def _parse(self, asked: RequestBytes) -> ParsedRequest:
        """Parse a request; the same bytes are parsed once."""
        try:
            return self._parsed[asked]
        except KeyError:
            parsed = self._read(asked)
        if parsed.num_bytes <= self._parsed.maxsize:
            self._parsed[asked] = parsed
        return parsed

    def _read(self, asked: RequestBytes) -> ParsedRequest:
        media_type = accepted_media_type(asked.accept.decode("latin-1"))
        if media_type is None:
            raise BadRequest(
                f"Accept must allow {RESPONSE_JSON} or {JSON}", status=406, code="NOT_ACCEPTABLE"
            )
        if asked.is_post:
            content_type = asked.content_type.decode("latin-1")
            request = from_body(asked.content, content_type, self._documents)
        else:
            request = from_query_string(asked.content, self._documents)
            _check_is_query(request)
        return ParsedRequest(request, media_type, sum(map(len, asked[1:])))

    def _keep(self, parsed: ParsedRequest, current_key: CacheKey, executed: Executed) -> Answer:
        """Make the response, and keep it where the answer is good."""
        media_type = current_key.media_type
        # A later version of cachelog may have another schema.
        is_introspection = _INTROSPECTION.search(parsed.request.query) is not None
        is_permanent = executed.is_good and executed.is_permanent and not is_introspection
        response = Response(
            400 if media_type == RESPONSE_JSON and not executed.started else 200,
            executed.body,
            f"{media_type}; charset=utf-8".encode(),
            _IMMUTABLE if is_permanent else REVALIDATE,
        )
        if not executed.is_good:
            return Answer(response, None)
        key = parsed.permanent_key if is_permanent else current_key
        self._responses.put(key, response)
        return Answer(response, key)


def _check_is_query(request: GraphQLRequest) -> None:
    """Raise BadRequest where a GET asks for more than reading."""
    operation = api.operation_type(api.document(request.query), request.operation_name)
    if operation not in (None, OperationType.QUERY):
        raise BadRequest(
            "GET is for queries",
            status=405,
            code="METHOD_NOT_ALLOWED",
            headers=((b"allow", b"POST"),),
        )

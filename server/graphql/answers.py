"""Answers to GraphQL requests, from the bytes of a request: cached, or executed."""

import re
import sys

import msgspec
from cachetools import LRUCache
from graphql import OperationType

from server.asgi import responses
from server.asgi.errors import BadRequest
from server.asgi.lanes import Lanes
from server.graphql import requests
from server.graphql.execution import Executed, Execution
from server.graphql.persisted_documents import PersistedDocuments
from snapshots.catalog.catalog import Catalog

_IMMUTABLE = b"public, max-age=31536000, immutable"
_INTROSPECTION = re.compile(r"__(?:schema|type)\b")
PARSED_BYTES = 16 << 20
"""Size of the cache of parsed requests, in bytes."""

_SHORT_CONTENT = 2_000
"""Requests with more bytes are parsed in a thread."""

_SHORT_DOCUMENT = 250
"""Documents with more characters are parsed, validated and estimated in a thread: 1 ms or more."""


class Answer(msgspec.Struct, frozen=True):
    """A response, and its key in the cache; None if it is not cached.

    ``code`` is that of its first error, if any.
    """

    response: responses.Response
    key: responses.CacheKey | None
    code: str | None = None


class Answers:
    """Answers requests, with a cache of ``cache_bytes`` of responses.

    Requests that take long to parse are parsed in a thread.
    """

    def __init__(
        self,
        catalog: Catalog,
        execution: Execution,
        lanes: Lanes,
        *,
        cache_bytes: int,
    ) -> None:
        self._catalog = catalog
        self._execution = execution
        self._api = execution.api
        self._lanes = lanes
        self._documents = PersistedDocuments()
        self.responses = responses.ResponseCache(cache_bytes)
        self._parsed: LRUCache[requests.RequestBytes, requests.ParsedRequest] = LRUCache(
            PARSED_BYTES, lambda parsed: parsed.num_bytes
        )

    async def answer(self, received: requests.RequestBytes) -> Answer:
        """Return the answer to a request; execute the request if the answer is not cached.

        Raises BadRequest for an invalid request.
        """
        parsed = await self.read(received)
        if (cached := self._cached(parsed)) is not None:
            self.responses.num_hits += 1
            return cached
        key = self._current_key(parsed)
        executed = await self._execution.execute(parsed.request, parsed.weight)
        return self._keep(parsed, key, executed)

    def cached(self, received: requests.RequestBytes) -> Answer | None:
        """Return the answer to a request if it is cached under exactly these bytes."""
        parsed = self._parsed.get(received)
        answer = None if parsed is None else self._cached(parsed)
        if answer is not None:
            self.responses.num_hits += 1
        return answer

    async def read(self, received: requests.RequestBytes) -> requests.ParsedRequest:
        """Return the parsed request; raise BadRequest if it is invalid.

        A request that takes long to parse is parsed in a thread.
        """
        before = self._parsed.get(received)
        if before is not None and (self._is_quickly_parsed(before) or self._cached(before)):
            return before
        parsed: requests.ParsedRequest | None = None
        if len(received.content) <= _SHORT_CONTENT:
            request, media_type = self._request(received)
            is_short = len(request.query) <= _SHORT_DOCUMENT
            if is_short or self._execution.is_weighed(request):
                parsed = self._checked(received, request, media_type)
        if parsed is None:
            parsed = await self._lanes.light.run(
                lambda: self._checked(received, *self._request(received))
            )
        if parsed.num_bytes <= self._parsed.maxsize:
            self._parsed[received] = parsed
        return parsed

    def _is_quickly_parsed(self, parsed: requests.ParsedRequest) -> bool:
        """Return whether the document is short or still cached: it may be evicted earlier."""
        query = parsed.request.query
        return len(query) <= _SHORT_DOCUMENT or self._api.documents.is_known(query)

    def _current_key(self, parsed: requests.ParsedRequest) -> responses.CacheKey:
        return parsed.key_at(self._catalog.generation, self._catalog.state)

    def _cached(self, parsed: requests.ParsedRequest) -> Answer | None:
        keys = (parsed.permanent_key, self._current_key(parsed))
        for key in keys if parsed.is_permanent else reversed(keys):
            if (cached := self.responses.get(key)) is not None:
                return Answer(cached, key)
        return None

    def _request(self, received: requests.RequestBytes) -> tuple[requests.GraphQLRequest, str]:
        """Return the request, and the media type of its response."""
        media_type = responses.accepted_media_type(received.accept.decode("latin-1"))
        if media_type is None:
            raise BadRequest(
                f"Accept must allow {responses.RESPONSE_JSON} or {responses.JSON}", status=406
            )
        if received.is_post:
            content_type = received.content_type.decode("latin-1")
            return requests.from_body(received.content, content_type, self._documents), media_type
        return requests.from_query_string(received.content, self._documents), media_type

    def _keep(
        self, parsed: requests.ParsedRequest, current_key: responses.CacheKey, executed: Executed
    ) -> Answer:
        """Create the response, and cache it if it has no errors."""
        media_type = current_key.media_type
        # A later version of cachelog may have another schema.
        is_introspection = _INTROSPECTION.search(parsed.request.query) is not None
        is_permanent = executed.is_good and executed.is_permanent and not is_introspection
        response = responses.Response(
            400 if media_type == responses.RESPONSE_JSON and not executed.started else 200,
            executed.body,
            f"{media_type}; charset=utf-8".encode(),
            _IMMUTABLE if is_permanent else responses.REVALIDATE,
            executed.tag,
        )
        if not executed.is_good:
            return Answer(response, None, executed.code)
        parsed.is_permanent = is_permanent
        key = parsed.permanent_key if is_permanent else current_key
        self.responses.put(key, response)
        return Answer(response, key)

    def _checked(
        self, received: requests.RequestBytes, request: requests.GraphQLRequest, media_type: str
    ) -> requests.ParsedRequest:
        """Return a request with its keys; raise BadRequest if a GET requests a mutation."""
        document = self._api.documents.get(request.query)
        operation = document.operation_type(request.operation_name)
        if not received.is_post and operation is OperationType.MUTATION:
            raise BadRequest("GET is for queries", status=405, headers=((b"allow", b"POST"),))
        # Undeclared variables have no effect, but could create any number of keys.
        declared = document.declared_variables(request.operation_name, request.variables)
        request = msgspec.structs.replace(
            request, variables=declared, include_cost=received.include_cost
        )
        cost = self._execution.cost(request)
        weight, _ = self._execution.weigh(request, cost)
        if self._api.allows(cost):
            request = msgspec.structs.replace(request, cost=cost)
        return requests.ParsedRequest.of(
            request,
            media_type,
            sum(map(sys.getsizeof, msgspec.structs.astuple(received))),
            weight,
        )

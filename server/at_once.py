"""GraphQL answers from memory, without ASGI: what a server can write as soon as it has read."""

import time
from collections.abc import Sequence

from starlette.types import Scope

from server.exchanges import Exchange, Observer
from server.graphql.endpoint import GraphQLEndpoint
from server.http.at_once import ReadyAnswer
from server.request_ids import RequestIds
from server.security_headers import SecurityHeaders
from server.sending import coding_for, is_not_modified

_MAX_BYTES = 64 << 10
"""Larger bodies are sent with an eye on whether the client reads them."""


class KeptAnswers:
    """Answers a request to the ``path`` of an endpoint where the endpoint has kept the answer.

    The answer has the same id and headers as by way of ASGI, and the same ``observers`` are told.
    """

    def __init__(
        self,
        endpoint: GraphQLEndpoint,
        path: str,
        *,
        ids: RequestIds,
        headers: SecurityHeaders,
        observers: Sequence[Observer],
    ) -> None:
        self._known = endpoint.known
        self._path = path
        self._ids = ids
        self._lines = headers.lines
        self._observers = observers

    def __call__(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        """Return the answer to a request; None where it is not kept as it has to be sent."""
        if scope["path"] != self._path:
            return None
        started = time.perf_counter()
        headers = dict(scope["headers"])
        method = scope["method"]
        answer = self._known(method, body, scope["query_string"], headers)
        if answer is None:
            return None
        response = answer.response
        encoded = response.known(coding_for(response, headers))
        if encoded is None or len(encoded.content) > _MAX_BYTES:
            return None
        status, lines, content = response.status, encoded.lines, encoded.content
        if is_not_modified(response, encoded, method, headers):
            status, lines, content = 304, encoded.not_modified_lines, b""
        request_id = self._ids.of(scope)
        if self._observers:
            client = scope["client"]
            exchange = Exchange(
                request_id,
                client[0] if client else None,
                method,
                self._path,
                status,
                len(content),
                time.perf_counter() - started,
                (answer.key.operation_name or "") if answer.key else None,
                None,
            )
            for observer in self._observers:
                observer.note(exchange)
        return ReadyAnswer(
            status, b"%b%bx-request-id: %b\r\n" % (lines, self._lines, request_id.encode()), content
        )

"""GraphQL answers from memory, without ASGI: what a server can write as soon as it has read."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from server.asgi.exchanges import Exchange, Observer
from server.asgi.request_ids import RequestIds
from server.asgi.security_headers import SecurityHeaders
from server.asgi.sending import is_not_modified
from server.graphql.endpoint import GraphQLEndpoint
from server.http.at_once import ReadyAnswer

_MAX_BYTES = 64 << 10
"""Larger bodies are sent with an eye on whether the client reads them."""


class KeptAnswers:
    """Answers a request to the ``path`` of an endpoint where the endpoint has kept the answer.

    The answer has the same id and headers as by way of ASGI, and the same ``observers`` are told.
    ``client_of`` tells whom. With ``has_cors`` pages of other origins are answered by way of ASGI.
    """

    def __init__(
        self,
        endpoint: GraphQLEndpoint,
        path: str,
        *,
        ids: RequestIds,
        headers: SecurityHeaders,
        observers: Sequence[Observer],
        client_of: Callable[[Scope], str | None],
        has_cors: bool,
    ) -> None:
        self._known = endpoint.known
        self._path = path
        self._ids = ids
        self._lines = headers.lines
        self._observers = observers
        self._client_of = client_of
        self._has_cors = has_cors

    def __call__(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        """Return the answer to a request; None where it is not kept as it has to be sent."""
        if scope["path"] != self._path:
            return None
        started = time.perf_counter()
        headers = dict(scope["headers"])
        if self._has_cors and b"origin" in headers:
            return None
        method = scope["method"]
        known = self._known(scope, headers, body, _MAX_BYTES)
        if known is None:
            return None
        answer, encoded = known
        response = answer.response
        status, lines, content = response.status, encoded.lines, encoded.content
        if is_not_modified(response, encoded, method, headers):
            status, lines, content = 304, encoded.not_modified_lines, b""
        request_id = self._ids.of(scope)
        if self._observers:
            exchange = Exchange(
                request_id,
                self._client_of(scope),
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


def client_finder(trusted_proxies: Sequence[str]) -> Callable[[Scope], str | None]:
    """Return what tells the address of a request's client, who may be behind trusted proxies."""

    def client_of(scope: Scope) -> str | None:
        client = scope["client"]
        return client[0] if client else None

    if not trusted_proxies:
        return client_of
    # The very one that requests pass by way of ASGI; it waits for nothing.
    inner: Any = _nothing
    middleware: Any = ProxyHeadersMiddleware(inner, trusted_hosts=list(trusted_proxies))

    def client_behind_proxies(scope: Scope) -> str | None:
        seen = dict(scope)
        with suppress(StopIteration):
            middleware(seen, None, None).send(None)
        return client_of(seen)

    return client_behind_proxies


async def _nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    pass

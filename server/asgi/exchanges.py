"""Requests and their answers, seen from outside: each gets an id and headers, and is noted."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.asgi.errors import RETRY_SECONDS
from server.asgi.request_ids import HEADER, REQUEST_ID, RequestIds
from server.asgi.security_headers import SecurityHeaders
from server.asgi.sending import send_head

OPERATION, CODE = "cachelog.operation", "cachelog.code"
"""Where the scope of a request has the name of its operation, and why it was refused."""

IS_OPEN_ENDED = "cachelog.is_open_ended"
"""Where the scope of a request says that its answer lasts as long as its client likes."""

_CODE = re.compile(rb'"extensions":\{[^{}]*?"code":"([A-Z_]{1,40})"')
_SEARCHED_BYTES = 4_096


class Exchange(NamedTuple):
    """A request, and what was answered."""

    id: str
    client: str | None
    method: str
    path: str
    status: int
    num_bytes: int
    seconds: float
    operation: str | None
    """The name of the operation that was executed without errors."""

    code: str | None
    """The code of the first error, such as BAD_REQUEST."""

    is_open_ended: bool = False
    """Whether it took as long as the client liked: a subscription."""


class Observer(Protocol):
    """Who takes note of what was answered."""

    def note(self, exchange: Exchange) -> None:
        """Take note of an answer that was sent."""

    def flush(self) -> None:
        """Write what was noted: no request will follow."""


class Tracing(Protocol):
    """Who makes a span of each request."""

    def request(self, scope: Scope) -> AbstractContextManager[Callable[[Exchange], None]]:
        """Return the context for the work of a request; what it gives is told the answer."""


class Exchanges:
    """Middleware that gives each answer its id and headers, and tells ``observers`` of it.

    Where the application raises before it answers, ``failure`` makes the answer of the error.
    With ``tracing`` each request has a span.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        ids: RequestIds,
        headers: SecurityHeaders,
        observers: Sequence[Observer],
        failure: Callable[[Exception], ASGIApp],
        tracing: Tracing | None = None,
    ) -> None:
        self._app = app
        self._ids = ids
        self._headers = headers
        self._observers = observers
        self._failure = failure
        self._tracing = tracing

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[Any]:
        """Pass the request on and note how it was answered."""
        if scope["type"] != "http":
            return self._live(scope, receive, send)
        if self._tracing is not None:
            return self._traced(self._tracing, scope, receive, send)
        return self._answer(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        for observer in self._observers:
            observer.flush()

    async def _traced(self, tracing: Tracing, scope: Scope, receive: Receive, send: Send) -> None:
        with tracing.request(scope) as answered:
            answered(await self._answer(scope, receive, send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Exchange:
        started = time.perf_counter()
        request_id = self._ids.of(scope)
        REQUEST_ID.set(request_id)  # in the context of this request's own task
        status, size = 0, 0

        async def noting(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", ())
                added = self._headers.beside(given)
                headers = [*given, *added, (HEADER, request_id.encode())]
                message = {"type": "http.response.start", "status": status, "headers": headers}
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            # The server stops, and has waited for this request as long as it may.
            if not status:
                retry = [(b"content-length", b"0"), (b"retry-after", b"%d" % RETRY_SECONDS)]
                await send_head(noting, 503, retry)
        except Exception as error:
            if status:
                raise  # half of an answer was sent
            await self._failure(error)(scope, receive, noting)
        finally:
            client = scope.get("client")
            exchange = Exchange(
                request_id,
                client[0] if client else None,
                scope["method"],
                scope["path"],
                status,
                size,
                time.perf_counter() - started,
                scope.get(OPERATION),
                scope.get(CODE),
                IS_OPEN_ENDED in scope,
            )
            for observer in self._observers:
                observer.note(exchange)
        return exchange


def note_answer(scope: Scope, answer: Any) -> None:
    """Write into the scope what a GraphQL answer says of itself."""
    if answer.key is not None:
        scope[OPERATION] = answer.key.operation_name or ""
    else:
        note_error(scope, answer.response.body)


def note_error(scope: Scope, body: bytes) -> None:
    """Write into the scope the code of the first error that the body of an answer has, if any."""
    if found := _CODE.search(body, 0, _SEARCHED_BYTES):
        scope[CODE] = found[1].decode()

"""Exchanges of a request and its response: request ids, security headers and observers."""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from itertools import count
from typing import Any, TypeVar

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.asgi.errors import RETRY_SECONDS, Disconnected, overloaded
from server.asgi.responses import Headers, send_all

HEADER = b"x-request-id"

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current request."""

_VALID_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
"""Ids that can be used unchanged in a header and in a line of the log."""


class RequestIds:
    """Creates request ids, or adopts valid ones from X-Request-ID, which proxies set."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(6)
        self._numbers = count(1)

    def of(self, scope: Scope) -> str:
        """Return the id of a request."""
        for name, value in scope["headers"]:
            if name == HEADER and _VALID_ID.fullmatch(value):
                return str(value, "ascii")
        return f"{self._prefix}-{next(self._numbers):x}"


_ON_ALL = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_NO_CONTENT_POLICY = b"default-src 'none'; frame-ancestors 'none'"
_PAGE = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
"""GraphiQL's style sheet embeds its fonts and images. Inline scripts and styles are not allowed."""

_POLICY = b"content-security-policy"


def with_security(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of a response, with the missing security headers added."""
    policy = _NO_CONTENT_POLICY
    for name, value in headers:
        if name == _POLICY:
            return [*headers, *_ON_ALL]
        if name == b"content-type" and value.startswith(b"text/html"):
            policy = _PAGE
    return [*headers, *_ON_ALL, (_POLICY, policy)]


Result = TypeVar("Result")


async def unless_disconnected(receive: Receive, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of the work; cancel it and raise Disconnected if the client leaves first.

    ``receive`` belongs to a request whose body has been read completely. For work that never waits,
    no task is created to watch the client.
    """
    task: Any = asyncio.current_task()
    watch: asyncio.Task[None] | None = None
    is_gone = False

    async def watch_client() -> None:
        nonlocal is_gone
        while (await receive())["type"] != "http.disconnect":
            pass
        is_gone = True
        task.cancel()

    def start_watch() -> None:
        nonlocal watch
        watch = asyncio.create_task(watch_client())

    start = asyncio.get_running_loop().call_soon(start_watch)
    try:
        return await work
    except asyncio.CancelledError:
        if is_gone and not task.uncancel():
            raise Disconnected from None
        raise
    finally:
        start.cancel()
        if watch is not None:
            watch.cancel()


MAX_UNFINISHED = 150
"""Requests that are processed concurrently; further ones get status 503."""

_ALWAYS_ADMITTED = ("/health/", "/metrics")
"""Paths by which operators observe a server, also an overloaded one."""

_REASON = "too many requests are under way"
_BUSY = f"The server is busy: {_REASON}.\n".encode()
_BUSY_HEADERS = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"%d" % len(_BUSY)),
    (b"cache-control", b"no-store"),
    (b"retry-after", b"%d" % RETRY_SECONDS),
]
"""The response to a request that is not admitted."""

_GONE = 499
"""The status of a request whose client has disconnected before the response, as in nginx."""

OPERATION, CODE = "cachelog.operation", "cachelog.code"
"""Keys in the scope of a request: the name of its operation, and the code of its error."""


class Exchange(msgspec.Struct, frozen=True):
    """A request and the main facts of its response."""

    id: str
    client: str | None
    method: str
    path: str
    status: int
    num_bytes: int
    seconds: float
    operation: str | None
    """The name of the operation if it was executed without errors."""

    code: str | None
    """The code of the first error, such as BAD_REQUEST."""


Observer = Callable[[Exchange], None]
"""A callback for each response that was sent."""


class Exchanges(msgspec.Struct, eq=False):
    """Middleware that adds the id and headers to each response, and calls the ``observers``.

    A request beyond ``max_unfinished`` gets a response that is ready before any work. A POST
    counts when its body has arrived, so that clients that send slowly keep no others out. If the
    application raises an error before it responds, ``failure`` creates the response. If the client
    has disconnected, nothing is sent.
    """

    app: ASGIApp
    ids: RequestIds
    observers: Sequence[Observer]
    failure: Callable[[Exception], ASGIApp]
    max_unfinished: int = MAX_UNFINISHED
    num_unfinished: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, and report the exchange."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = self.ids.of(scope)
        REQUEST_ID.set(request_id)  # in the context of this request's own task
        status, size = 0, 0

        async def noting(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                own_headers = message.get("headers", ())
                headers = [*with_security(own_headers), (HEADER, request_id.encode())]
                message = {"type": "http.response.start", "status": status, "headers": headers}
            else:
                size += len(message.get("body", b""))
            await send(message)

        is_counted = scope["method"] != "POST"

        async def receiving() -> Message:
            nonlocal is_counted
            message = await receive()
            is_whole = message["type"] == "http.request" and not message.get("more_body")
            if is_whole and not is_counted:
                if self.num_unfinished >= self.max_unfinished:
                    raise overloaded(_REASON)
                is_counted = True
                self.num_unfinished += 1
            return message

        is_crowded = self.num_unfinished >= self.max_unfinished
        if is_crowded and not scope["path"].startswith(_ALWAYS_ADMITTED):
            scope[CODE] = "OVERLOADED"
            await send_all(noting, 503, _BUSY_HEADERS, _BUSY)
            self._report(scope, request_id, status, size, started)
            return
        self.num_unfinished += is_counted
        try:
            await self.app(scope, receiving, noting)
        except Disconnected:
            status = status or _GONE
        except asyncio.CancelledError:
            # The server is stopping, and the grace period for this request has expired.
            if not status:
                retry = [(b"content-length", b"0"), (b"retry-after", b"%d" % RETRY_SECONDS)]
                await send_all(noting, 503, retry)
        except Exception as error:
            if status:
                raise  # part of a response was sent already
            await self.failure(error)(scope, receive, noting)
        finally:
            self.num_unfinished -= is_counted
            self._report(scope, request_id, status, size, started)

    def _report(
        self, scope: Scope, request_id: str, status: int, num_bytes: int, started: float
    ) -> None:
        """Report a response that has just been sent to the observers."""
        client = scope.get("client")
        exchange = Exchange(
            request_id,
            client[0] if client else None,
            scope["method"],
            scope["path"],
            status,
            num_bytes,
            time.perf_counter() - started,
            scope.get(OPERATION),
            scope.get(CODE),
        )
        for observer in self.observers:
            observer(exchange)

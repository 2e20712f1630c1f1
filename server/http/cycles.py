"""Writing of responses: by uvicorn's request-response cycle, or without a task, possibly in turns.

uvicorn validates each header every time, and writes head and body separately. For a small response,
that is a third of the total time.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from server.http.limits import Headers

Result = TypeVar("Result")

MAX_AT_ONCE = 32
"""Maximum number of requests, received together, that are answered in one iteration of the loop."""


class Reservation(Protocol):
    """A reservation of a response: capacity for the bytes that its client has yet to read."""

    def leave(self) -> None:
        """Release the reservation."""


class ReadyAnswer(msgspec.Struct, frozen=True):
    """A complete response, except for its status line and the headers that the connection adds.

    ``lines`` are the header lines, each with its line end, including Content-Length. ``held`` is
    released when the client has read nearly all of the response.
    """

    status: int
    lines: bytes
    body: bytes
    held: Reservation | None = None


Work: TypeAlias = Callable[[], ReadyAnswer | None]
"""Computes a response in its turn; returns None to use ASGI."""


class DirectResponder(Protocol):
    """An application, or a part of one, that answers some requests without ASGI."""

    def __call__(self, scope: Scope, body: bytes) -> ReadyAnswer | Work | None:
        """Return the response to a complete request, or the work that computes it.

        Returns None to use ASGI. A returned response counts as sent.
        """


class LoopTurns:
    """Runs one piece of work in each iteration of the event loop, in the order of arrival.

    Between two pieces, the loop reads and writes for all connections, regardless of how many pieces
    wait. Without turns, 50 simultaneous requests would be answered before any other one. All
    methods must be called in the event loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_taken = False

    def take(self) -> bool:
        """Take the turn of this iteration; return whether it was free.

        The caller owns the turn until it returns to the event loop.
        """
        if self._is_taken:
            return False
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._next_turn)
        return True

    def wait(self, work: Callable[[], None]) -> None:
        """Schedule work for its turn, in a later iteration."""
        self._waiting.append(work)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run work in its turn, and return its result."""
        if self.take():
            return work()
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

        def work_in_turn() -> None:
            if not future.cancelled():
                try:
                    future.set_result(work())
                except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                    future.set_exception(error)

        self.wait(work_in_turn)
        return await future

    def _next_turn(self) -> None:
        """Run the next piece of work; if none waits, free the turn."""
        if not self._waiting:
            self._is_taken = False
            return
        asyncio.get_running_loop().call_soon(self._next_turn)
        self._waiting.popleft()()


class AnswerBytes:
    """Serializes responses. The lines that all responses share are created once a second."""

    def __init__(self) -> None:
        self._headers: Headers = ()
        self._lines = b""

    def of(
        self, answer: ReadyAnswer, default_headers: Headers, *, keeps_alive: bool
    ) -> tuple[bytes, ...]:
        """Return the bytes of a response, in one or more parts that are written in order.

        The head of a large body is a separate part, so that the body is not copied.
        """
        if default_headers is not self._headers:
            self._headers = default_headers
            self._lines = b"".join(b"%b: %b\r\n" % header for header in default_headers)
        end = b"\r\n" if keeps_alive else b"connection: close\r\n\r\n"
        head = STATUS_LINE[answer.status], self._lines, answer.lines, end
        if len(answer.body) > _LARGE_BODY:
            return b"".join(head), answer.body
        return (b"".join((*head, answer.body)),)


_RETRY_SECONDS = 1

_PLAIN = b"content-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\n"


def refusal(status: HTTPStatus) -> ReadyAnswer:
    """Return a response whose text is the phrase of its status."""
    text = status.phrase.encode()
    retry = b"retry-after: %d\r\n" % _RETRY_SECONDS if status.value == 503 else b""
    lines = b"%b%bcontent-length: %d\r\n" % (_PLAIN, retry, len(text))
    return ReadyAnswer(status, lines, text)


_MAX_LINES = 2_000
_LARGE_BODY = 16_384
"""Bodies with more bytes are written separately from their head, to avoid copying them."""

_lines: dict[tuple[bytes, bytes], bytes] = {}
"""Cached lines of headers that were validated before."""

_NOT_CACHED = frozenset({b"content-length", b"x-request-id"})
"""Headers that are not cached, because their values differ in each response."""


class _Closing:
    """The transport of a response to an incomplete request: it closes gently."""

    def __init__(self, transport: asyncio.Transport) -> None:
        connection: Any = transport.get_protocol()
        self.close = connection.close_gently
        self.write = transport.write
        self.is_closing = transport.is_closing


class AnswerCycle(RequestResponseCycle):
    """A request-response cycle that writes the head together with the first part of the body."""

    _head: bytes | None = None
    _ends_with_connection = False

    async def send(self, message: Any) -> None:
        """Process a message of the application; see ASGI's specification."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if not self.response_started and message["type"] == "http.response.start":
            if self.more_body:
                # Otherwise the rest of the request's body would have to be read, of any length.
                self.keep_alive = False
                self.transport = _Closing(self.transport)  # type: ignore[assignment]
            self._head = self._rendered(message["status"], message.get("headers", ()))
            self.response_started = True
            self.waiting_for_100_continue = False
            return
        if self._head is not None and message["type"] == "http.response.body":
            head, self._head = self._head, None
            body = message.get("body", b"")
            if (
                self.chunked_encoding is False
                and not message.get("more_body")
                and len(body) == self.expected_content_length
                and len(body) <= _LARGE_BODY
                and self.scope["method"] != "HEAD"
            ):
                self.transport.write(head + body)
                self._complete()
                return
            self.transport.write(head)
        if self._ends_with_connection and not message.get("more_body"):
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)

    def _complete(self) -> None:
        self.expected_content_length = 0
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _rendered(self, status: int, headers: Any) -> bytes:
        """Return the bytes of a head; raise RuntimeError for an invalid header.

        The server alone decides when a connection is closed, and which bodies are chunked.
        """
        parts = [STATUS_LINE[status]]
        for headers_of_both in (self.default_headers, headers):
            for header in headers_of_both:
                line = _lines.get(header)
                if line is None:
                    name, value = header
                    line = _checked_line(name, value)
                    if name == b"content-length":
                        self.expected_content_length = int(value)
                        self.chunked_encoding = False
                parts.append(line)
        if not self.keep_alive:
            parts.append(b"connection: close\r\n")
        has_body = self.scope["method"] != "HEAD" and status not in (204, 304)
        if self.chunked_encoding is None and has_body and self.scope["http_version"] == "1.0":
            # Clients of HTTP/1.0 do not support chunks (RFC 9112, 6.1).
            self._ends_with_connection = True
            self.chunked_encoding, self.expected_content_length = False, sys.maxsize
        elif self.chunked_encoding is None and has_body:
            self.chunked_encoding = True
            parts.append(b"transfer-encoding: chunked\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)


def _checked_line(name: bytes, value: bytes) -> bytes:
    """Return the line of a header; raise RuntimeError if it is invalid."""
    if HEADER_VALUE_RE.search(value):
        raise RuntimeError("Invalid HTTP header value.")
    if name in _NOT_CACHED:
        return b"%b: %b\r\n" % (name, value)
    if HEADER_RE.search(name):
        raise RuntimeError("Invalid HTTP header name.")
    line = b"%b: %b\r\n" % (name.lower(), value)
    if len(value) <= 1_000 and name.lower() not in _NOT_CACHED:
        if len(_lines) >= _MAX_LINES:
            _lines.clear()
        _lines[name, value] = line
    return line

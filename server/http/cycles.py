"""How answers are written: by uvicorn's cycle of a request, or without a task, at once or in turns.

uvicorn checks the name and the value of each header each time, and writes head and body apart.
For a small answer that is a third of all the time that it takes.
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
"""How many requests that came together are answered so, before the event loop goes on."""


class Held(Protocol):
    """What an answer holds that others need: room for the bytes that wait for its client."""

    def leave(self) -> None:
        """Hold it no longer."""


class ReadyAnswer(msgspec.Struct, frozen=True):
    """An answer as it is written, but for its status line and what the connection says itself.

    ``lines`` are those of its headers, each with its end; they say how long the body is. What is
    ``held`` is let go of when the client has read nearly all of it.
    """

    status: int
    lines: bytes
    body: bytes
    held: Held | None = None


Work: TypeAlias = Callable[[], ReadyAnswer | None]
"""Makes an answer in its turn; returns None where ASGI has to make it."""


class AnswersAtOnce(Protocol):
    """An application, or a part of one, that has some of its answers ready."""

    def __call__(self, scope: Scope, body: bytes) -> ReadyAnswer | Work | None:
        """Return the answer to a whole request, or the work that makes it; None to use ASGI.

        What is returned counts as sent.
        """


class Turns:
    """Lets one piece of work run in each iteration of the event loop, in the order of arrival.

    Between two pieces the loop reads and writes for all connections, however many pieces wait.
    Without turns, 50 clients that come together are answered before any other one is. All methods
    belong to the event loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_taken = False

    def take(self) -> bool:
        """Take the turn of this iteration; return whether it was free.

        Who gets it works until it returns to the event loop.
        """
        if self._is_taken:
            return False
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._pass_on)
        return True

    def wait(self, work: Callable[[], None]) -> None:
        """Have work done when its turn comes, in a later iteration."""
        self._waiting.append(work)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what work returns, done when its turn comes."""
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

    def _pass_on(self) -> None:
        """Do the next piece of work; the turn is free again where none waits."""
        if not self._waiting:
            self._is_taken = False
            return
        asyncio.get_running_loop().call_soon(self._pass_on)
        self._waiting.popleft()()


class AnswerBytes:
    """Puts answers together. The lines that all of them have are made once a second."""

    def __init__(self) -> None:
        self._headers: Headers = ()
        self._lines = b""

    def of(
        self, answer: ReadyAnswer, default_headers: Headers, *, keeps_alive: bool
    ) -> tuple[bytes, ...]:
        """Return the bytes of an answer, to be written one after the other.

        The head of a large body stands apart, so that the body is not copied.
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
    """Return an answer that says no more than its status."""
    text = status.phrase.encode()
    retry = b"retry-after: %d\r\n" % _RETRY_SECONDS if status.value == 503 else b""
    lines = b"%b%bcontent-length: %d\r\n" % (_PLAIN, retry, len(text))
    return ReadyAnswer(status, lines, text)


_MAX_LINES = 2_000
_LARGE_BODY = 16_384
"""Bodies with more bytes are not copied to stand behind their head."""

_lines: dict[tuple[bytes, bytes], bytes] = {}
"""The lines of headers that were sent before, and so are known to be good."""

_PASSING = frozenset({b"content-length", b"x-request-id"})
"""Headers that are looked at each time."""


class _Closing:
    """The transport of an answer to a request that is not whole yet: it closes gently."""

    def __init__(self, transport: asyncio.Transport) -> None:
        connection: Any = transport.get_protocol()
        self.close = connection.close_gently
        self.write = transport.write
        self.is_closing = transport.is_closing


class AnswerCycle(RequestResponseCycle):
    """A request and its answer, whose head is written with the first part of its body."""

    _head: bytes | None = None
    _ends_with_connection = False

    async def send(self, message: Any) -> None:
        """Take a message of the application; see ASGI's specification."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if not self.response_started and message["type"] == "http.response.start":
            if self.more_body:
                # The rest of the body would have to be read otherwise, however long it is.
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
        """Return the bytes of a head; raises RuntimeError for a header that cannot be sent.

        The application leaves it to the server when a connection is closed, and what is chunked.
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
            # Clients of HTTP/1.0 do not know chunks (RFC 9112, 6.1).
            self._ends_with_connection = True
            self.chunked_encoding, self.expected_content_length = False, sys.maxsize
        elif self.chunked_encoding is None and has_body:
            self.chunked_encoding = True
            parts.append(b"transfer-encoding: chunked\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)


def _checked_line(name: bytes, value: bytes) -> bytes:
    """Return the line of a header; raises RuntimeError for one that cannot be sent."""
    if HEADER_VALUE_RE.search(value):
        raise RuntimeError("Invalid HTTP header value.")
    if name in _PASSING:
        return b"%b: %b\r\n" % (name, value)
    if HEADER_RE.search(name):
        raise RuntimeError("Invalid HTTP header name.")
    line = b"%b: %b\r\n" % (name.lower(), value)
    if len(value) <= 1_000 and name.lower() not in _PASSING:
        if len(_lines) >= _MAX_LINES:
            _lines.clear()
        _lines[name, value] = line
    return line

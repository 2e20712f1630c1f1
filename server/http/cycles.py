"""Writing of responses: by uvicorn's request-response cycle, or without a task."""

import asyncio
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

MAX_AT_ONCE = 32
"""Maximum number of requests, received together, that are answered in one iteration of the loop."""


class ReadyAnswer(msgspec.Struct, frozen=True):
    """A complete response, except for its status line and the headers that the connection adds.

    ``lines`` are the header lines, each with its line end, including Content-Length. ``release``
    is called when the client has read nearly all of the response.
    """

    status: int
    lines: bytes
    body: bytes
    release: Callable[[], None] | None = None


DirectResponder: TypeAlias = Callable[[Scope, bytes], ReadyAnswer | None]
"""An application, or a part of one, that answers some complete requests without ASGI.

It is called with the scope and the body. It returns None to use ASGI; a returned response counts as
sent.
"""


def answer_bytes(
    answer: ReadyAnswer, default_lines: bytes, *, keeps_alive: bool
) -> tuple[bytes, ...]:
    """Return the bytes of a response, in one or more parts that are written in order.

    ``default_lines`` are the header lines of all responses. The head of a large body is a separate
    part, so that the body is not copied.
    """
    end = b"\r\n" if keeps_alive else b"connection: close\r\n\r\n"
    head = STATUS_LINE[answer.status], default_lines, answer.lines, end
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


_LARGE_BODY = 16_384
"""Bodies with more bytes are written separately from their head, to avoid copying them."""


class _Closing:
    """The transport of a response to an incomplete request: it closes gently."""

    def __init__(self, transport: asyncio.Transport) -> None:
        connection: Any = transport.get_protocol()
        self.close = connection.close_gently
        self.write = transport.write
        self.is_closing = transport.is_closing


class AnswerCycle(RequestResponseCycle):
    """A request-response cycle for incomplete requests and for clients of HTTP/1.0, too."""

    _ends_with_connection = False

    async def send(self, message: Any) -> None:
        """Process a message of the application; see ASGI's specification."""
        if self.disconnected:
            return  # the transport has no protocol any more
        if message["type"] == "http.response.start":
            if self.more_body:
                # Otherwise the rest of the request's body would have to be read, of any length.
                self.keep_alive = False
                self.transport = _Closing(self.transport)  # type: ignore[assignment]
            if self.scope["http_version"] == "1.0" and b"content-length" not in dict(
                message["headers"]
            ):
                # Clients of HTTP/1.0 do not support chunks (RFC 9112, 6.1).
                self._ends_with_connection = True
                self.chunked_encoding, self.expected_content_length = False, sys.maxsize
        elif self._ends_with_connection and not message.get("more_body"):
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)

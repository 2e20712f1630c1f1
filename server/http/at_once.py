"""Answers that an application has ready: written while the request is read, without a task.

For a small answer from memory, the task of a request and its messages to and fro take longer than
all else that the application does.
"""

from typing import NamedTuple, Protocol

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from server.http.refusals import Headers

MAX_AT_ONCE = 32
"""How many requests that came together are answered so, before the event loop goes on."""


class ReadyAnswer(NamedTuple):
    """An answer as it is written, but for its status line and what the connection says itself.

    ``lines`` are those of its headers, each with its end; they say how long the body is.
    """

    status: int
    lines: bytes
    body: bytes


class AnswersAtOnce(Protocol):
    """An application, or a part of one, that has some of its answers ready."""

    def __call__(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        """Return the answer to a whole request; None where ASGI has to be asked.

        What is returned counts as sent.
        """


class AnswerBytes:
    """Puts answers together. The lines that all of them have are made once a second."""

    def __init__(self) -> None:
        self._headers: Headers = ()
        self._lines = b""

    def of(self, answer: ReadyAnswer, default_headers: Headers, *, keeps_alive: bool) -> bytes:
        """Return the bytes of an answer."""
        if default_headers is not self._headers:
            self._headers = default_headers
            self._lines = b"".join(b"%b: %b\r\n" % header for header in default_headers)
        status, lines, body = answer
        end = b"\r\n" if keeps_alive else b"connection: close\r\n\r\n"
        return b"".join((STATUS_LINE[status], self._lines, lines, end, body))

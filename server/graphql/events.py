"""Server-sent events as GraphQL over SSE has them, in its distinct connections mode.

https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import orjson

from server.asgi.negotiation import EVENT_STREAM
from server.asgi.responses import Headers

HEADERS: Headers = [
    (b"content-type", f"{EVENT_STREAM}; charset=utf-8".encode()),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept, accept-encoding"),
    (b"x-accel-buffering", b"no"),  # nginx sends on what it gets, then
]

SIGN_OF_LIFE = b":\n\n"
"""A comment: clients pass over it."""

COMPLETE = b"event: complete\ndata: \n\n"
"""The last event. Browsers would not tell of it without the line of data."""


def next_event(body: bytes, name: str | None = None) -> bytes:
    """Return the event of a result: JSON in one line. ``name`` is its id, to go on after it."""
    return b"".join(next_event_parts(body, name))


def next_event_parts(body: bytes, name: str | None = None) -> tuple[bytes, bytes, bytes]:
    """Return what stands before a result, the result, and what stands after it."""
    line = b"" if name is None else b"id: %b\n" % name.encode()
    return b"event: next\n%bdata: " % line, body, b"\n\n"


def error_body(message: str, code: str) -> bytes:
    """Return a result that is an error alone."""
    return orjson.dumps({"errors": [{"message": message, "extensions": {"code": code}}]})

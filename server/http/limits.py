"""Limits of one connection, and the statuses of requests that exceed them."""

from collections.abc import Sequence
from enum import Enum, auto
from http import HTTPStatus

import msgspec

DROP = "cachelog.drop"
"""Name of the ASGI extension that ends a request to free its memory for others.

Its value is a function without arguments. A request that has not been received completely is
refused with status 503.
"""


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on what a client may send, and on its time in seconds."""

    connections: int = 1_000
    """Maximum number of connections of one process."""

    head_bytes: int = 64 << 10
    """Maximum size of a request's line and headers, in bytes."""

    body_bytes: int = 1 << 20
    """Maximum size of a request's body, in bytes."""

    head_seconds: float = 10.0
    body_seconds: float = 30.0

    send_seconds: float = 20.0
    """Interval of the checks for clients that read too slowly, which are disconnected."""

    keep_alive_seconds: float = 75.0
    """Time that a connection may wait for its next request."""


class Phase(Enum):
    """The part of a request that a connection waits for."""

    START = auto()
    HEAD = auto()
    BODY = auto()
    NONE = auto()
    """The last request was read completely."""

    CLOSING = auto()
    """Data that the client still sends is discarded."""


MAX_HEADERS = 100

_BODY_OVERHEAD = 8
"""Bytes that may be sent for each byte of a body, because of chunk sizes and trailers."""

Headers = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """Raised to stop reading a request."""


def why_head_is_refused(
    url: bytes, headers: Headers, limits: ConnectionLimits
) -> HTTPStatus | None:
    """Return the status for a head that is too large; None if it is within the limits."""
    num_bytes = len(url)
    if num_bytes > limits.head_bytes:
        return HTTPStatus.REQUEST_URI_TOO_LONG
    num_bytes += sum(len(name) + len(value) + 4 for name, value in headers)
    if num_bytes > limits.head_bytes or len(headers) > MAX_HEADERS:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    return None


def why_reading_ends(
    num_bytes: int, phase: Phase, url: bytes, limits: ConnectionLimits
) -> HTTPStatus | None:
    """Return the status for a part of a request that is too large; None to continue reading.

    ``num_bytes`` is the number of bytes received so far, ``url`` the part of the URL received.
    """
    if phase is Phase.BODY:
        allowed = _BODY_OVERHEAD * limits.body_bytes + limits.head_bytes
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    else:
        allowed = limits.head_bytes
        is_address = phase is Phase.HEAD and len(url) > allowed // 2
        status = (
            HTTPStatus.REQUEST_URI_TOO_LONG
            if is_address
            else HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        )
    return status if num_bytes > allowed else None

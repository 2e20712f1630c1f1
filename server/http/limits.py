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
    """Limits on what a client may send, and on its time, as in the settings of these names."""

    max_connections: int = 1_000
    max_headers: int = 64 << 10
    max_body: int = 1 << 20
    head_timeout: float = 10.0
    body_timeout: float = 30.0
    send_timeout: float = 20.0
    keep_alive: float = 75.0


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
    if num_bytes > limits.max_headers:
        return HTTPStatus.REQUEST_URI_TOO_LONG
    num_bytes += sum(len(name) + len(value) + 4 for name, value in headers)
    if num_bytes > limits.max_headers or len(headers) > MAX_HEADERS:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    return None


def why_reading_ends(
    num_bytes: int, phase: Phase, url: bytes, limits: ConnectionLimits
) -> HTTPStatus | None:
    """Return the status for a part of a request that is too large; None to continue reading.

    ``num_bytes`` is the number of bytes received so far, ``url`` the part of the URL received.
    """
    if phase is Phase.BODY:
        allowed = _BODY_OVERHEAD * limits.max_body + limits.max_headers
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    else:
        allowed = limits.max_headers
        is_address = phase is Phase.HEAD and len(url) > allowed // 2
        status = (
            HTTPStatus.REQUEST_URI_TOO_LONG
            if is_address
            else HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        )
    return status if num_bytes > allowed else None

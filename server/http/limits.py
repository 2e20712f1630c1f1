"""What one connection may take of a server, and what it is answered where it takes more."""

from collections.abc import Sequence
from enum import Enum, auto
from http import HTTPStatus

import msgspec

DROP = "cachelog.drop"
"""The extension of ASGI, in the scope of a request, that ends it: what it holds others need more.

It is called without arguments. A request that is not whole is refused with status 503.
"""


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a client may send, and how long it may take. Times are in seconds."""

    connections: int = 1_000
    """How many connections one process holds."""

    head_bytes: int = 64 << 10
    """How many bytes a request's line and headers may have."""

    body_bytes: int = 1 << 20
    """How many bytes a request's body may have."""

    head_seconds: float = 10.0
    body_seconds: float = 30.0

    send_seconds: float = 20.0
    """After how long a client that reads too slowly is dropped."""

    keep_alive_seconds: float = 75.0
    """How long a connection may wait for its next request."""


class Phase(Enum):
    """Which part of a request a connection waits for."""

    START = auto()
    HEAD = auto()
    BODY = auto()
    NONE = auto()
    """The last request was read to its end."""

    CLOSING = auto()
    """What the client still sends does not matter."""


MAX_HEADERS = 100

_BODY_OVERHEAD = 8
"""How many bytes may be sent for each byte of a body: chunks have sizes, and trailers follow."""

Headers = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """A request is not read further."""


def why_head_is_refused(
    url: bytes, headers: Headers, limits: ConnectionLimits
) -> HTTPStatus | None:
    """Return the status for a head that is too large; None for one that is not."""
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
    """Return the status for a part of a request of which so much has come; None to read on.

    ``url`` is what is known of the address.
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

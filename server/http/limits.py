"""What one connection may take of a server."""

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

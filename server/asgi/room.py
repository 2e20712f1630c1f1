"""Limits on the memory of large requests and responses, shared fairly among clients."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Self

from starlette.types import Receive, Scope

from server.asgi.allowances import client_address
from server.asgi.errors import BadRequest, Disconnected, overloaded
from server.asgi.responses import Response
from server.http.limits import DROP

LARGE_BODY = 64 << 10
"""Request bodies up to this many bytes are not counted: the number of connections limits them."""

_LARGE_ANSWER = 256 << 10
"""Responses with fewer bytes are not counted, for the same reason."""

INCOMING_PATIENCE = 1.0
"""Seconds in which a large body must grow by LARGE_BODY bytes; otherwise others may displace it."""

OUTGOING_PATIENCE = 20.0
"""Seconds after which a large response that is still being sent may be displaced by others."""

_SHARES = 2
"""Others may displace a client that uses more than 1/_SHARES of the capacity."""


class MemoryLimit:
    """A limit of ``max_bytes`` on the memory that large requests or responses use together.

    A single one may use more while there is no other. If another one does not fit, some are ended,
    the idlest first: those without progress for ``patience`` seconds, and those of a client that
    uses more than half, unless the client of the new one would use as much. ``what`` is part of the
    message to a refused client. All methods must be called in the event loop.
    """

    def __init__(
        self,
        max_bytes: int,
        what: str,
        *,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self.patience = patience
        self.clock = clock
        self._what = what
        self._claims: set[Claim] = set()

    def claim(self, scope: Scope | None) -> "Claim":
        """Return a claim for a request, which uses no memory yet.

        Without a ``scope``, it is never ended in favor of others.
        """
        return Claim(self, scope)

    def free_capacity(self, claim: "Claim", num_bytes: int) -> None:
        """End others so that a claim can use ``num_bytes`` in total; raise as ``Claim.hold``."""
        ended, remaining = [], self.num_bytes - claim.num_bytes
        if remaining and remaining + num_bytes > self.max_bytes:
            for other in self._displaceable(claim, num_bytes):
                ended.append(other)
                remaining -= other.num_bytes
                if not remaining or remaining + num_bytes <= self.max_bytes:
                    break
            else:
                raise overloaded(f"too many large {self._what}")
            for other in ended:
                other.end()

    def count(self, claim: "Claim", num_bytes: int) -> None:
        """Set the total number of bytes that a claim uses."""
        self.num_bytes += num_bytes - claim.num_bytes
        claim.num_bytes = num_bytes
        if num_bytes:
            self._claims.add(claim)
        else:
            self._claims.discard(claim)

    def _displaceable(self, claim: "Claim", num_bytes: int) -> list["Claim"]:
        """Return the claims that may be ended in favor of this one, the idlest first."""
        share = self.max_bytes // _SHARES
        of_clients: Counter[str] = Counter()
        for other in self._claims:
            of_clients[other.client] += other.num_bytes
        is_modest = of_clients[claim.client] - claim.num_bytes + num_bytes <= share
        idle_since = self.clock() - self.patience

        def may_end(other: Claim) -> bool:
            is_idle = other.progressed_at < idle_since
            is_greedy = is_modest and of_clients[other.client] > share
            return other is not claim and other.may_end and (is_idle or is_greedy)

        return sorted(filter(may_end, self._claims), key=lambda other: other.progressed_at)


class Claim:
    """The part of a memory limit that one request uses, until its context ends."""

    __slots__ = ("_limit", "_scope", "client", "may_end", "num_bytes", "progressed_at")

    def __init__(self, room: MemoryLimit, scope: Scope | None) -> None:
        self._limit = room
        self._scope = scope
        self.client = ""
        """The client's address; empty until the claim first uses memory."""

        self.may_end = scope is not None and DROP in scope.get("extensions", ())
        """Whether it may be ended in favor of others: not once the body was read."""

        self.num_bytes = 0
        self.progressed_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()

    def hold(self, num_bytes: int) -> None:
        """Use ``num_bytes`` in total; raise BadRequest with status 503 if they do not fit."""
        if self._scope is not None and not self.num_bytes:
            self.client = client_address(self._scope)
        self._limit.free_capacity(self, num_bytes)
        if not self.num_bytes:
            self.note_progress()
        self._limit.count(self, num_bytes)

    def note_progress(self) -> None:
        """Record that the client has made progress."""
        self.progressed_at = self._limit.clock()

    def leave(self) -> None:
        """Release all bytes."""
        self._limit.count(self, 0)

    def end(self) -> None:
        """Close the connection, and abort its request, to free capacity for other clients."""
        self.leave()
        if self.may_end and self._scope is not None:
            self.may_end = False
            drop = self._scope["extensions"].get(DROP)
            if drop is not None:  # the connection may be closed already
                drop()


class Incoming(MemoryLimit):
    """Reads bodies of at most ``max_body`` bytes each, and ``max_bytes`` for all large ones.

    A body is counted from the moment it exceeds LARGE_BODY until the context of its claim ends.
    Others may displace it until it has been received completely.
    """

    def __init__(self, max_body: int, max_bytes: int) -> None:
        super().__init__(max_bytes, "requests are under way", patience=INCOMING_PATIENCE)
        self.max_body = max_body

    async def read(self, claim: Claim, receive: Receive, max_body: int | None = None) -> bytes:
        """Return a complete body.

        ``max_body`` overrides the maximum size in bytes. Raises BadRequest with status 413 if the
        body is too long, and with 503 if too many large bodies are being received. Raises
        Disconnected if the client disconnects or is displaced before the end.
        """
        max_body = self.max_body if max_body is None else max_body
        parts: list[bytes] = []
        size, seen = 0, LARGE_BODY
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part: bytes = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > max_body:
                raise BadRequest(
                    f"the body has more than {max_body} bytes", status=413, code="PAYLOAD_TOO_LARGE"
                )
            if size > LARGE_BODY:
                claim.hold(size)
                if size >= seen + LARGE_BODY:
                    claim.note_progress()
                    seen = size
            if not message.get("more_body"):
                claim.may_end = False  # the client has sent everything
                return b"".join(parts)


class Outgoing(MemoryLimit):
    """Limits the bytes of large responses that are being sent to ``max_bytes``.

    A single larger response is sent while there is no other.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes, "responses are being sent", patience=OUTGOING_PATIENCE)

    def begin(self, response: Response, scope: Scope) -> Claim:
        """Return the claim of a response; the response is sent within the context of its claim.

        Its size counts twice, because it may be compressed; a small one does not count. Raises
        BadRequest with status 503 if it does not fit.
        """
        return self.begin_bytes(2 * len(response.body), scope)

    def begin_bytes(self, size: int, scope: Scope) -> Claim:
        """Return a claim of ``size`` bytes, as ``begin``."""
        claim = self.claim(scope)
        if size >= _LARGE_ANSWER:
            claim.hold(size)
        return claim

"""Room for what is large: so many bytes for all clients, and none of them keeps the others out."""

import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Self

from starlette.types import Receive, Scope

from server.asgi.allowances import client_address
from server.asgi.errors import BadRequest, overloaded
from server.asgi.responses import Response
from server.http.limits import DROP

LARGE_BODY = 64 << 10
"""Requests' bodies with no more bytes are not counted: the number of connections bounds them."""

_LARGE_ANSWER = 256 << 10
"""Responses with fewer bytes are not counted, for the same reason."""

INCOMING_PATIENCE = 1.0
"""In how many seconds LARGE_BODY bytes more of a large body come, or it makes room for others."""

OUTGOING_PATIENCE = 20.0
"""After how many seconds on its way a large response makes room for others."""

_SHARES = 2
"""A client that holds more than this part of a room makes room for others."""


class Room:
    """So many bytes that large requests, or answers, hold together: at most ``max_bytes``.

    A single one may hold more while there is no other. Where there is no room for another one,
    those end, the idlest first, that have made no progress for ``patience`` seconds, and those of a
    client that holds more than half, unless the other would hold as much. ``what`` there are too
    many of is told who is refused. All methods belong to the event loop.
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
        self._places: set[Place] = set()

    def place(self, scope: Scope | None) -> "Place":
        """Return a place for a request; it holds nothing yet.

        Without a ``scope`` it is not ended for others.
        """
        return Place(self, scope)

    def make_way(self, place: "Place", num_bytes: int) -> None:
        """End others so that a place can hold so many bytes in all; raises as ``Place.hold``."""
        ended, left = [], self.num_bytes - place.num_bytes
        if left and left + num_bytes > self.max_bytes:
            for other in self._that_may_end(place, num_bytes):
                ended.append(other)
                left -= other.num_bytes
                if not left or left + num_bytes <= self.max_bytes:
                    break
            else:
                raise overloaded(f"too many large {self._what}")
            for other in ended:
                other.end()

    def count(self, place: "Place", num_bytes: int) -> None:
        """Have a place hold so many bytes in all."""
        self.num_bytes += num_bytes - place.num_bytes
        place.num_bytes = num_bytes
        if num_bytes:
            self._places.add(place)
        else:
            self._places.discard(place)

    def _that_may_end(self, place: "Place", num_bytes: int) -> list["Place"]:
        """Return the places that end before this one is refused, the idlest first."""
        share = self.max_bytes // _SHARES
        of_clients: Counter[str] = Counter()
        for other in self._places:
            of_clients[other.client] += other.num_bytes
        is_modest = of_clients[place.client] - place.num_bytes + num_bytes <= share
        idle_since = self.clock() - self.patience

        def may_end(other: Place) -> bool:
            is_idle = other.progressed_at < idle_since
            is_greedy = is_modest and of_clients[other.client] > share
            return other is not place and other.may_end and (is_idle or is_greedy)

        return sorted(filter(may_end, self._places), key=lambda other: other.progressed_at)


class Place:
    """What one request holds of a room, as long as its context lasts."""

    __slots__ = ("_room", "_scope", "client", "may_end", "num_bytes", "progressed_at")

    def __init__(self, room: Room, scope: Scope | None) -> None:
        self._room = room
        self._scope = scope
        self.client = ""
        """Whose it is; known from when it first holds something."""

        self.may_end = scope is not None and DROP in scope.get("extensions", ())
        """Whether others may have it ended: not while nobody waits for its client."""

        self.num_bytes = 0
        self.progressed_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    def hold(self, num_bytes: int) -> None:
        """Hold so many bytes in all; raises BadRequest with status 503 without room."""
        if self._scope is not None and not self.num_bytes:
            self.client = client_address(self._scope)
        self._room.make_way(self, num_bytes)
        if not self.num_bytes:
            self.note_progress()
        self._room.count(self, num_bytes)

    def note_progress(self) -> None:
        """Say that the client does its part."""
        self.progressed_at = self._room.clock()

    def leave(self) -> None:
        """Hold nothing any more."""
        self._room.count(self, 0)

    def end(self) -> None:
        """Give way to others: the connection ends, and with it the request."""
        self.leave()
        if self.may_end and self._scope is not None:
            self.may_end = False
            drop = self._scope["extensions"].get(DROP)
            if drop is not None:  # the connection may be gone
                drop()


class Incoming(Room):
    """Reads bodies of at most ``max_body`` bytes each, large ones of ``max_bytes`` in all.

    A large one counts from its first bytes beyond the small ones until the context of its place
    ends, and may have to give way to others until it has come whole.
    """

    def __init__(self, max_body: int, max_bytes: int) -> None:
        super().__init__(max_bytes, "requests are under way", patience=INCOMING_PATIENCE)
        self.max_body = max_body

    async def read(
        self, place: Place, receive: Receive, max_body: int | None = None
    ) -> bytes | None:
        """Return a whole body; None where the client hangs up before its end, or gives way.

        ``max_body`` is how many bytes it may have, where that is another number than usual. Raises
        BadRequest with status 413 where it is too long, and with 503 where too many large ones are
        under way.
        """
        max_body = self.max_body if max_body is None else max_body
        parts: list[bytes] = []
        size, seen = 0, LARGE_BODY
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part: bytes = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > max_body:
                raise BadRequest(
                    f"the body has more than {max_body} bytes",
                    status=413,
                    code="PAYLOAD_TOO_LARGE",
                )
            if size > LARGE_BODY:
                place.hold(size)
                if size >= seen + LARGE_BODY:
                    place.note_progress()
                    seen = size
            if not message.get("more_body"):
                place.may_end = False  # nobody waits for the client any more
                return b"".join(parts)


class Outgoing(Room):
    """Counts the bytes of large responses that are being sent, at most ``max_bytes``.

    A single one that is larger is sent while there is no other.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes, "answers are on their way", patience=OUTGOING_PATIENCE)
        self._nothing = self.place(None)

    def begin(self, response: Response, scope: Scope) -> Place:
        """Return the place of a response to a request; the response is sent within its context.

        It is counted twice, as it may be compressed; a small one holds nothing. Raises BadRequest
        with status 503 without room.
        """
        return self.begin_bytes(2 * len(response.body), scope)

    def begin_bytes(self, size: int, scope: Scope | None) -> Place:
        """Return the place of so many bytes as ``begin`` does; without a scope it never ends."""
        if size < _LARGE_ANSWER:
            return self._nothing
        place = self.place(scope)
        place.hold(size)
        return place

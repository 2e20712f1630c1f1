"""Room for what is large: so many bytes for all clients, and none of them keeps the others out."""

import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Self

from starlette.types import Scope

from server.asgi.allowances import client_address
from server.asgi.errors import overloaded
from server.http.limits import DROP

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
        self._what = what
        self._clock = clock
        self._places: dict[Place, float] = {}
        """When each last made progress."""

        self._of_clients: Counter[str] = Counter()

    def place(self, scope: Scope | None) -> "Place":
        """Return a place for a request; it holds nothing yet.

        Without a ``scope`` it is not ended for others.
        """
        if scope is None:
            return Place(self, "", None)
        # Proxies that are trusted have told already who their clients are.
        return Place(self, client_address(scope, None), scope.get("extensions", {}).get(DROP))

    def hold(self, place: "Place", num_bytes: int) -> None:
        """Have a place hold so many bytes in all; raises as ``Place.hold``."""
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
        self._count(place, num_bytes - place.num_bytes)
        self._places.setdefault(place, self._clock())

    def note_progress(self, place: "Place") -> None:
        """Take note that a place is in use."""
        if place in self._places:
            self._places[place] = self._clock()

    def leave(self, place: "Place") -> None:
        """Take back what a place holds."""
        self._count(place, -place.num_bytes)
        self._places.pop(place, None)

    def _count(self, place: "Place", num_bytes: int) -> None:
        self.num_bytes += num_bytes
        place.num_bytes += num_bytes
        self._of_clients[place.client] += num_bytes
        if not self._of_clients[place.client]:
            del self._of_clients[place.client]

    def _that_may_end(self, place: "Place", num_bytes: int) -> list["Place"]:
        """Return the places that end before this one is refused, the idlest first."""
        share = self.max_bytes // _SHARES
        is_modest = self._of_clients[place.client] - place.num_bytes + num_bytes <= share
        idle_since = self._clock() - self.patience

        def may_end(other: Place) -> bool:
            is_idle = self._places[other] < idle_since
            is_greedy = is_modest and self._of_clients[other.client] > share
            return other is not place and other.may_end and (is_idle or is_greedy)

        return sorted(filter(may_end, self._places), key=self._places.__getitem__)


class Place:
    """What one request holds of a room, as long as its context lasts."""

    __slots__ = ("_drop", "_room", "client", "may_end", "num_bytes")

    def __init__(self, room: Room, client: str, drop: Callable[[], None] | None) -> None:
        self._room = room
        self._drop = drop
        self.client = client
        self.may_end = drop is not None
        """Whether others may have it ended: not while nobody waits for its client."""

        self.num_bytes = 0

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
        self._room.hold(self, num_bytes)

    def note_progress(self) -> None:
        """Say that the client does its part."""
        self._room.note_progress(self)

    def leave(self) -> None:
        """Hold nothing any more."""
        if self.num_bytes:
            self._room.leave(self)

    def end(self) -> None:
        """Give way to others: the connection ends, and with it the request."""
        self.leave()
        self.may_end = False
        if self._drop is not None:
            self._drop()

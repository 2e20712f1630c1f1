"""Bodies of requests: what large ones hold in memory is bounded."""

from types import TracebackType
from typing import Self

from starlette.types import Receive, Scope

from server.asgi.errors import BadRequest
from server.asgi.room import Place, Room

LARGE_BODY = 64 << 10
"""Bodies with no more bytes are not counted: the number of connections bounds them."""

PATIENCE = 1.0
"""In how many seconds so many bytes more of a large one come, unless it makes room for others."""


class Incoming:
    """Reads bodies of at most ``max_body`` bytes each, large ones of ``max_bytes`` in all.

    A large one counts from its first bytes beyond the small ones until its request is answered, and
    may have to give way to others until it has come whole.
    """

    def __init__(self, max_body: int, max_bytes: int) -> None:
        self.max_body = max_body
        self.room = Room(max_bytes, "requests are under way", patience=PATIENCE)

    def body(self, scope: Scope, max_body: int | None = None) -> "Body":
        """Return the body of a request, to be read within its context.

        ``max_body`` is how many bytes it may have, where that is another number than usual.
        """
        return Body(self.room, scope, self.max_body if max_body is None else max_body)


class Body:
    """The body of a request; it counts as long as its context lasts."""

    __slots__ = ("_max_body", "_place", "_room", "_scope")

    def __init__(self, room: Room, scope: Scope, max_body: int) -> None:
        self._room = room
        self._scope = scope
        self._max_body = max_body
        self._place: Place | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._place is not None:
            self._place.leave()

    async def read(self, receive: Receive) -> bytes | None:
        """Return the whole body; None where the client hangs up before its end, or gives way.

        Raises BadRequest with status 413 where it is too long, and with 503 where too many large
        ones are under way.
        """
        parts: list[bytes] = []
        size, seen = 0, LARGE_BODY
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part: bytes = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > LARGE_BODY or size > self._max_body:
                place = self._held(size)
                if size >= seen + LARGE_BODY:
                    place.note_progress()
                    seen = size
            if not message.get("more_body"):
                if self._place is not None:
                    self._place.may_end = False  # nobody waits for the client any more
                return b"".join(parts)

    def _held(self, size: int) -> Place:
        if size > self._max_body:
            raise BadRequest(
                f"the body has more than {self._max_body} bytes",
                status=413,
                code="PAYLOAD_TOO_LARGE",
            )
        if self._place is None:
            self._place = self._room.place(self._scope)
        self._place.hold(size)
        return self._place

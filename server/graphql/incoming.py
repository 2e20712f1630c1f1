"""Bodies of requests: what large ones hold in memory is bounded."""

from types import TracebackType
from typing import Self

from starlette.types import Receive

from server.asgi.errors import BadRequest, overloaded

LARGE_BODY = 64 << 10
"""Bodies with no more bytes are not counted: the number of connections bounds them."""


class Incoming:
    """Reads bodies of at most ``max_body`` bytes each, large ones of ``max_bytes`` in all.

    A large one counts from its first bytes beyond the small ones until its request is answered. A
    single one may have more than ``max_bytes``.
    """

    def __init__(self, max_body: int, max_bytes: int) -> None:
        self.max_body = max_body
        self.max_bytes = max_bytes
        self.num_bytes = 0

    def body(self, max_body: int | None = None) -> "Body":
        """Return the body of a request, to be read within its context.

        ``max_body`` is how many bytes it may have, where that is another number than usual.
        """
        return Body(self, self.max_body if max_body is None else max_body)


class Body:
    """The body of a request; it counts as long as its context lasts."""

    __slots__ = ("_counted", "_incoming", "_max_body")

    def __init__(self, incoming: Incoming, max_body: int) -> None:
        self._incoming = incoming
        self._max_body = max_body
        self._counted = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._incoming.num_bytes -= self._counted

    async def read(self, receive: Receive) -> bytes | None:
        """Return the whole body; None where the client hangs up before its end.

        Raises BadRequest with status 413 where it is too long, and with 503 where too many large
        ones are under way.
        """
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part: bytes = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > LARGE_BODY or size > self._max_body:
                self._count(size)
            if not message.get("more_body"):
                return b"".join(parts)

    def _count(self, size: int) -> None:
        incoming = self._incoming
        if size > self._max_body:
            raise BadRequest(
                f"the body has more than {self._max_body} bytes",
                status=413,
                code="PAYLOAD_TOO_LARGE",
            )
        others = incoming.num_bytes - self._counted
        if others and others + size > incoming.max_bytes:
            raise overloaded("too many large requests are under way")
        incoming.num_bytes = others + size
        self._counted = size

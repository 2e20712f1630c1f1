"""Admission: limits on requests that are unfinished, bodies, and large responses being sent.

A proxy in front of a public server receives requests and sends responses for it, and limits slow
clients. These limits keep a server responsive that has none, or a crowd behind it.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from anyio import CapacityLimiter
from starlette.types import Receive, Send

from server.asgi.errors import RETRY_SECONDS, BadRequest, Disconnected, overloaded

MAX_UNFINISHED = 150
"""Requests that are processed concurrently; further ones get status 503."""

_ALWAYS_ADMITTED = ("/health/", "/metrics")
"""Paths by which operators observe a server, also an overloaded one."""

_BUSY = "too many requests are under way"
BUSY_BODY = (f"The server is busy: {_BUSY}.\n").encode()
BUSY_HEADERS = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"%d" % len(BUSY_BODY)),
    (b"cache-control", b"no-store"),
    (b"retry-after", b"%d" % RETRY_SECONDS),
]
"""The response to a request that is not admitted."""


class Admission:
    """Counts the requests that are processed.

    Requests that begin in the same iteration of the event loop count as concurrent, even if each is
    finished before the next one begins, so that an iteration has a bounded duration.
    """

    def __init__(self, most: int = MAX_UNFINISHED) -> None:
        self._most = most
        self._num_unfinished = 0

    def admits(self, path: str) -> bool:
        """Return whether a request for a path may begin."""
        return self._num_unfinished < self._most or path.startswith(_ALWAYS_ADMITTED)

    def begin(self) -> None:
        """Count a request."""
        self._num_unfinished += 1

    def end(self) -> None:
        """End a request with this iteration of the event loop."""
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self._num_unfinished -= 1

    def pause(self) -> None:
        """Do not count a request while it waits for its client."""
        self._num_unfinished -= 1

    def resume(self) -> bool:
        """Count a request again; return whether it may continue."""
        self._num_unfinished += 1
        return self._num_unfinished <= self._most

    def resume_later(self) -> None:
        """Count a request again from the next iteration of the event loop on.

        If many clients leave at once, their requests end in that iteration, and never count.
        """
        asyncio.get_running_loop().call_soon(self.begin)


LARGE_BODY = 64 << 10
"""Bodies with more bytes are uploads."""

MAX_UPLOADS = 8
"""Requests with a larger body that are received or processed concurrently."""

UPLOAD_PATIENCE = 1.0
"""Seconds that an upload waits for others before it gets status 503."""

BODY_SECONDS = 30.0
"""Seconds for a client to send a body."""

MAX_PIECES = 10_000
"""Pieces of a body; each is what has arrived when the application asks for more."""


class Bodies:
    """Reads bodies of at most ``max_body`` bytes. ``seconds`` is the time for a client to send one.

    Memory is limited by the number of uploads.
    """

    def __init__(
        self, max_body: int, admission: Admission, *, seconds: float = BODY_SECONDS
    ) -> None:
        self.max_body = max_body
        self.admission = admission
        self.seconds = seconds
        self.uploads = CapacityLimiter(MAX_UPLOADS)

    def body(self) -> "Body":
        """Return the body of a request; the request is processed within its context."""
        return Body(self)


class Body:
    """The body of one request, which counts as an upload until its context ends if it is large."""

    __slots__ = ("_bodies", "_is_upload")

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._is_upload = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._is_upload:
            self._bodies.uploads.release_on_behalf_of(self)

    async def read(self, receive: Receive, max_body: int | None = None) -> bytes:
        """Return the complete body.

        ``max_body`` overrides the maximum size in bytes. Raises BadRequest if the body is too long
        (413), too slow (408), or if there are too many uploads or requests (503), and Disconnected
        if the client has disconnected.
        """
        bodies = self._bodies
        bodies.admission.pause()
        try:
            async with asyncio.timeout(bodies.seconds):
                content = await self._whole(receive, max_body or bodies.max_body)
        except BaseException as error:
            bodies.admission.resume_later()
            if isinstance(error, TimeoutError):
                raise BadRequest("the body did not arrive in time", status=408) from None
            raise
        if not bodies.admission.resume():
            raise overloaded(_BUSY)
        return content

    async def _whole(self, receive: Receive, max_body: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        for _ in range(MAX_PIECES):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > max_body:
                raise BadRequest(
                    f"the body has more than {max_body} bytes", status=413, code="PAYLOAD_TOO_LARGE"
                )
            if size > LARGE_BODY and not self._is_upload:
                await self._become_upload()
            if not message.get("more_body"):
                return b"".join(pieces)
        raise BadRequest(f"the body comes in more than {MAX_PIECES:,} pieces", status=413)

    async def _become_upload(self) -> None:
        try:
            async with asyncio.timeout(UPLOAD_PATIENCE):
                await self._bodies.uploads.acquire_on_behalf_of(self)
        except TimeoutError:
            raise overloaded("too many large requests are under way") from None
        self._is_upload = True


PIECE = 512 << 10
"""Maximum number of bytes of a response that are sent in one message."""

MAX_SENDING = 256 << 20
"""Bytes of large responses in transit; others get status 503."""

SEND_SECONDS = 20.0
"""Seconds for a client to read a piece of a large response, before it is dropped."""


class Outgoing:
    """Sends large responses, of at most ``max_bytes`` together.

    A single larger one is sent while there is no other. ``seconds`` is the time for a client to
    read a piece.
    """

    def __init__(
        self,
        admission: Admission,
        max_bytes: int = MAX_SENDING,
        *,
        seconds: float = SEND_SECONDS,
    ) -> None:
        self._admission = admission
        self._max_bytes = max_bytes
        self._seconds = seconds
        self.num_bytes = 0
        """Bytes of the responses that are being sent."""

    @contextmanager
    def room(self, num_bytes: int) -> Iterator[None]:
        """Reserve memory for a content. Raises BadRequest with status 503 if there is none."""
        if self.num_bytes and self.num_bytes + num_bytes > self._max_bytes:
            raise overloaded("too many large responses are being sent")
        self.num_bytes += num_bytes
        try:
            yield
        finally:
            self.num_bytes -= num_bytes

    async def send(self, send: Send, content: bytes) -> None:
        """Send a body in pieces, each when the client has read most of the preceding ones.

        A slow client thus takes the memory of one piece instead of a copy of the entire body.
        Raises Disconnected if the client does not read it.
        """
        self._admission.pause()
        try:
            for start in range(0, len(content) or 1, PIECE):
                end = start + PIECE
                has_more = end < len(content)
                message = {"body": content[start:end], "more_body": has_more}
                async with asyncio.timeout(self._seconds):
                    await send({"type": "http.response.body", **message})
        except TimeoutError:
            raise Disconnected from None
        finally:
            self._admission.resume_later()

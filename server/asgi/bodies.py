"""Bodies of requests: their maximum size and time, and how many large ones are in memory.

A proxy in front of a public server receives requests and sends responses for it, and limits slow
clients. These limits keep a server without one within its memory, and free of requests that never
end.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import Receive

from server.asgi.errors import BadRequest, Disconnected

BODY_SECONDS = 60.0
"""Maximum time for the receipt of a body, which is in memory meanwhile."""

MAX_PIECES = 10_000
"""Maximum number of pieces of a body, each of which takes time of the event loop."""

LARGE_BODY = 64 << 10
"""Bodies with more bytes are uploads."""

MAX_UPLOADS = 8
"""Requests with a larger body that are received or processed concurrently; others wait."""


class Bodies:
    """Reads bodies of at most ``max_body`` bytes, each within ``seconds``."""

    def __init__(self, max_body: int, seconds: float = BODY_SECONDS) -> None:
        self.max_body = max_body
        self.seconds = seconds
        self._uploads = asyncio.Semaphore(MAX_UPLOADS)

    @asynccontextmanager
    async def body(self, receive: Receive, max_body: int | None = None) -> AsyncIterator[bytes]:
        """Receive a complete body, which is processed within the context.

        ``max_body`` overrides the maximum size in bytes. Raises BadRequest with status 413 if the
        body is too long or has too many pieces, with status 408 if it takes too long, and
        Disconnected if the client has disconnected.
        """
        async with AsyncExitStack() as upload:
            try:
                async with asyncio.timeout(self.seconds):
                    content = await self._receive(receive, max_body or self.max_body, upload)
            except TimeoutError:
                reason = f"the body took longer than {self.seconds:g} seconds"
                raise BadRequest(reason, status=408) from None
            yield content

    async def _receive(self, receive: Receive, max_body: int, upload: AsyncExitStack) -> bytes:
        """Return a body; ``upload`` holds the place of a large one."""
        pieces: list[bytes] = []
        size, is_upload = 0, False
        while len(pieces) < MAX_PIECES:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > max_body:
                reason = f"the body has more than {max_body} bytes"
                raise BadRequest(reason, status=413, code="PAYLOAD_TOO_LARGE")
            if size > LARGE_BODY and not is_upload:
                is_upload = True
                await upload.enter_async_context(self._uploads)
            if not message.get("more_body"):
                return b"".join(pieces)
        raise BadRequest(f"the body comes in more than {MAX_PIECES:,} pieces", status=413)

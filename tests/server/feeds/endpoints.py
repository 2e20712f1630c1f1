"""The endpoint of feeds over a small catalog, without a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx

from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.asgi.responses import ResponseCache
from server.asgi.single_flight import SingleFlight
from server.feeds import FeedMaker, FeedsEndpoint
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.catalog.library import Library
from tests.server.feeds.chronicles import PlainChronicle

SERIES = "/feeds/develop-DATE.atom"


class Served:
    """The endpoint over a catalog, without a server."""

    def __init__(
        self,
        folder: Path,
        *,
        is_missing: bool = False,
        requests: int = 0,
        cost: int = 0,
        seconds: float = 10,
        **settings: float,
    ) -> None:
        self.catalog = Catalog(str(folder))
        self.catalog.refresh(missing_ok=True)
        self.library = Library(self.catalog)
        self.chronicle = PlainChronicle(self.catalog, is_missing=is_missing)
        self.lanes = Lanes.of(Settings(**settings))  # type: ignore[arg-type]
        self.maker = FeedMaker(self.library, cast("HistoryAnswers", self.chronicle), self.lanes)
        self.responses = ResponseCache(1 << 24)
        allowances = Allowances(requests=requests, cost=cost)
        self.endpoint = FeedsEndpoint(
            self.catalog,
            self.maker,
            self.responses,
            self.lanes,
            allowances,
            SingleFlight("feed", seconds=seconds, outlasts=True),
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Return a client; the lanes end with it."""
        transport = httpx.ASGITransport(self.endpoint)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                yield client
        finally:
            self.lanes.close()

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Return the answer to one request."""

        async def answer() -> httpx.Response:
            async with self.client() as client:
                return await client.get(path, headers=headers)

        return asyncio.run(answer())

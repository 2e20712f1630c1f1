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
from snapshots.catalog.history_answers import About, HistoryAnswer, HistoryAnswers, HistoryQuestion
from snapshots.catalog.library import Library
from snapshots.errors import IncompleteHistory
from snapshots.history import History
from snapshots.timelines.growth import Growth, growth
from snapshots.timelines.packages import PackageTimeline, package_timeline
from tests.model.histories import Past

SERIES = "/feeds/develop-DATE.atom"


class FeedsOf:
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
        self.naive_history = NaiveHistory(self.catalog, is_missing=is_missing)
        self.lanes = Lanes.of(Settings(**settings))  # type: ignore[arg-type]
        self.maker = FeedMaker(self.library, cast("HistoryAnswers", self.naive_history), self.lanes)
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


class NaiveHistory:
    """The answers about the history of a catalog; all are missing while ``is_missing``."""

    def __init__(self, catalog: Catalog, *, is_missing: bool = False) -> None:
        self._catalog = catalog
        self.is_missing = is_missing
        self.num_computed = 0

    def is_whole(self, _question: HistoryQuestion) -> bool:
        """Return whether the history is complete."""
        return not self.is_missing

    def get(self, question: HistoryQuestion) -> HistoryAnswer:
        """Return the growth of a series, or the timeline of a package."""
        history, topic = question.history, question.topic
        series = topic.series or ""
        if topic.about is About.GROWTH:
            return HistoryAnswer(self.growth(history, series), 0)
        return HistoryAnswer(self.package_timeline(history, series, topic.text), 0)

    def growth(self, history: History, series: str) -> Growth:
        """Return a point for each revision of a series."""
        past = self._past(history)
        return growth({pair: past.counts(pair) for pair in history.pairs}, series, history)

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return the timeline of a package."""
        return package_timeline(self._past(history).rows(), name, series, history)

    def _past(self, history: History) -> Past:
        self.num_computed += 1
        if self.is_missing:
            raise IncompleteHistory(2, len(history.pairs))
        frames = {digest: self._catalog.load(digest) for digest in history.digests}
        return Past(
            history,
            {digest: list(map(frame.spec, range(len(frame)))) for digest, frame in frames.items()},
        )

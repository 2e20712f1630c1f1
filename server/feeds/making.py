"""Making the documents of feeds, each piece of the work in the lane that it belongs in."""

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, Protocol

from server.asgi.lanes import Lane, Lanes
from server.feeds.addresses import FeedAddresses
from snapshots.catalog.asking.library import Library, SharedCache
from snapshots.changes.kept_changes import PairCounts
from snapshots.errors import CatalogError, IncompleteHistory, RevisionNotFound
from snapshots.history import History, Neighbours, Pair
from snapshots.notes.atom.document import Feed, to_xml
from snapshots.notes.atom.feeds import counts_of, package_feed, series_feed
from snapshots.notes.atom.kept_stories import told_in
from snapshots.notes.atom.stories import story
from snapshots.spack.names import is_name
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageTimeline
from snapshots.wording import nearest_hint, nearest_names, quoted, visible

STORY_BYTES = 8 << 20
"""How many bytes of stories are kept: those of some 300 pairs of revisions."""

_log = logging.getLogger("cachelog.server")


class NoSuchFeed(Exception):
    """There is no feed under an address; the text says why, and names what is near."""


class Document(NamedTuple):
    """A feed as XML, and when it last came to say something else.

    It ``is_whole`` unless something that it would tell could not be read.
    """

    body: bytes
    updated: datetime
    is_whole: bool = True


class Chronicle(Protocol):
    """Tells what the catalog's history keeps; raises IncompleteHistory where something is missing.

    Both take long where ``is_whole`` says that something has to be made first.
    """

    def is_whole(self, history: History, series: str) -> bool:
        """Tell whether all is there that the others need."""

    def growth(self, history: History, series: str) -> list[GrowthPoint]:
        """Return a point for each revision of a series."""

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return what touched a package; None where the series never had it."""


class FeedMaker:
    """Makes feeds of the revisions of a catalog.

    The numbers come from what the history keeps, without loading a revision, and so do the stories
    of the newest revisions. Those that it lacks are made of their contents, one at a time so that
    other explanations come in between, and stay in memory.
    """

    def __init__(self, library: Library, chronicle: Chronicle, lanes: Lanes) -> None:
        self._library = library
        self._chronicle = chronicle
        self._lanes = lanes
        self.stories: SharedCache[Neighbours, str] = SharedCache(
            self._story, sys.getsizeof, STORY_BYTES
        )

    async def series(self, history: History, series: str, after: str | None) -> Document:
        """Return the feed of a series. Raises NoSuchFeed, and what lanes raise.

        Where contents or changes cannot be read, it tells as much as it can without them.
        """
        await self._require_series(history, series)
        counts, has_counts = await self._counts(history, series)
        told = [] if after else told_in(history, series)
        stories = await self._told(told)
        document = await self._made(
            lambda: series_feed(
                history,
                series,
                FeedAddresses.of_server(None),
                counts=counts,
                stories=stories,
                after=after,
            )
        )
        has_stories = all(it.pair in stories for it in told)
        return document._replace(is_whole=has_counts and has_stories)

    async def package(
        self, history: History, series: str, name: str, after: str | None
    ) -> Document:
        """Return the feed of a package in a series.

        Raises as ``series``, IncompleteHistory where not all of its changes are known yet, and
        CatalogError where they cannot be read.
        """
        await self._require_series(history, series)
        if not is_name(name):  # such texts are never looked up, and so never kept
            raise NoSuchFeed(f"{quoted(name)} can be no package")
        asked = partial(self._chronicle.package_timeline, history, series, name)
        timeline = await self._lane(history, series).run(asked)
        if timeline is None:
            reason = f"no revision of {series} has a package {quoted(name)}"
            raise await self._missing(reason, name, self._library.package_names)
        addresses = FeedAddresses.of_server(name)
        return await self._made(lambda: package_feed(timeline, addresses, after))

    async def _made(self, make: Callable[[], Feed]) -> Document:
        def document() -> Document:
            feed = make()
            return Document(to_xml(feed), feed.updated)

        try:
            return await self._lanes.light.run(document)
        except RevisionNotFound as error:
            raise NoSuchFeed(str(error)) from None

    async def _counts(self, history: History, series: str) -> tuple[dict[Pair, PairCounts], bool]:
        """Return the counts of a series, and whether those that are kept could be read.

        Where they are not known, the totals of revisions are told: the revisions are there.
        """
        try:
            lane = self._lane(history, series)
            points = await lane.run(partial(self._chronicle.growth, history, series))
        except IncompleteHistory:
            return {}, True
        except CatalogError as error:
            _log.error("%s", visible(str(error)))
            return {}, False
        return counts_of(points), True

    async def _told(self, neighbours: Sequence[Neighbours]) -> dict[Pair, str]:
        """Return the stories of neighbours, made where neither the catalog nor memory has them.

        That of a content that cannot be read is left out.
        """
        if not neighbours:
            return {}
        stories = await self._lanes.loading.run(partial(self._library.kept_stories, neighbours))
        for it in neighbours:
            if it.pair in stories:
                continue
            kept = self.stories.kept(it)
            try:
                if kept is None:
                    kept = await self._lanes.explaining.run(partial(self.stories.get, it))
                stories[it.pair] = kept
            except CatalogError as error:
                _log.error("%s", visible(str(error)))
        return stories

    def _story(self, neighbours: Neighbours) -> str:
        return story(neighbours, self._library.explain(*neighbours.pair))

    def _lane(self, history: History, series: str) -> Lane:
        is_whole = self._chronicle.is_whole(history, series)
        return self._lanes.loading if is_whole else self._lanes.explaining

    async def _require_series(self, history: History, series: str) -> None:
        if not history.of_series(series):
            reason = f"there is no series {quoted(series)}"
            raise await self._missing(reason, series, lambda: history.series_names)

    async def _missing(
        self, reason: str, name: str, known: Callable[[], Iterable[str]]
    ) -> NoSuchFeed:
        """Return the error of a name that is not there, with those that resemble it."""
        near = await self._lanes.loading.run(lambda: nearest_names(name, known()))
        return NoSuchFeed(reason + nearest_hint(near))

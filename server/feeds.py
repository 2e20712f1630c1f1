"""Feeds over HTTP: ``/feeds/SERIES.atom`` and ``/feeds/SERIES/PACKAGE.atom``."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

import msgspec
import orjson
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.errors import bounded
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.exchanges import CODE, unless_disconnected
from server.asgi.lanes import Lanes
from server.asgi.responses import (
    REVALIDATE,
    CacheKey,
    Headers,
    Response,
    ResponseSender,
    send_small,
)
from server.asgi.single_flight import SingleFlight
from server.output_files import write
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import Library
from snapshots.changes.stored_changes import PairCounts, StoredCause
from snapshots.changes.vocabulary import cause_title
from snapshots.errors import CachelogError, CatalogError, IncompleteHistory, RevisionNotFound
from snapshots.history import History, Neighbours, Pair
from snapshots.models import utc
from snapshots.notes.atom import (
    MEDIA_TYPE,
    Causes,
    EntryCause,
    EntryStory,
    Feed,
    entries_in_feed,
    neighbours_in_feed,
    package_feed,
    series_feed,
)
from snapshots.notes.templates import commits_story, html_story
from snapshots.sources.reports import Progress
from snapshots.spack.names import is_name
from snapshots.texts import nearest_hint, nearest_names, quoted, visible
from snapshots.timelines.growth import Growth
from snapshots.timelines.packages import PackageEntry, PackageTimeline

FEEDS = "feeds"
"""The path of feeds below the root of a server, or below the address of exported files."""

SUFFIX = ".atom"


class FeedAddresses(msgspec.Struct, frozen=True):
    """Addresses below those of a ``site`` of feeds and of a ``server`` with pages.

    Both end with a slash. Without a server, entries have no links. ``has_pages`` states whether a
    feed is split into several documents.
    """

    site: str
    server: str | None
    has_pages: bool = True

    @classmethod
    def of_server(cls, package: str | None) -> "FeedAddresses":
        """Return the addresses in a feed that a server sends, relative to that of the feed.

        They are therefore valid behind any proxy, and clients cannot influence them.
        """
        root = "../" if package is None else "../../"
        return cls(f"{root}{FEEDS}/", root)

    @classmethod
    def of_files(
        cls, base_url: str | None, server_url: str | None, package: str | None
    ) -> "FeedAddresses":
        """Return the addresses in a file; without a base, they are relative to that of the file."""
        relative = "" if package is None else "../"
        return cls(relative if base_url is None else base_url, server_url, has_pages=False)

    def feed(self, series: str, package: str | None, after: str | None = None) -> str | None:
        """Return the address of a feed; None for a further document if there are none."""
        if after is not None and not self.has_pages:
            return None
        query = "" if after is None else "?" + urlencode({"after": after})
        return f"{self.site}{path_of(series, package)}{query}"

    def comparison(self, neighbours: Neighbours, package: str | None) -> str | None:
        """Return the permanent address of the page that compares two contents."""
        if self.server is None:
            return None
        base, head = neighbours
        if base is None:
            of_package = "" if package is None else f"/packages/{quote(package, safe='')}"
            return f"{self.server}r/{head.ref}{of_package}"
        pair = f"{self.server}compare/{base.ref}...{head.ref}"
        if package is None:
            return f"{pair}/notes"
        return f"{pair}/specs?{urlencode({'packages': package})}"


def path_of(series: str, package: str | None) -> str:
    """Return the path of a feed below that of all feeds."""
    names = [series] if package is None else [series, package]
    return "/".join(quote(name, safe="") for name in names) + SUFFIX


def parse_path(path: str) -> tuple[str, str | None] | None:
    """Return the series and the package of a path without percent encoding.

    Returns None for a path that cannot be that of a feed. Names of series contain no slash.
    """
    if not path.endswith(SUFFIX):
        return None
    series, slash, package = path.removesuffix(SUFFIX).partition("/")
    if not series or (slash and not package):
        return None
    return series, package or None


_MEDIA_TYPE = f"{MEDIA_TYPE}; charset=utf-8".encode()

_log = logging.getLogger("cachelog.server")


def entry_story(library: Library, neighbours: Neighbours) -> EntryStory:
    """Return the content of an entry: the story of two revisions, and its commits.

    Raises CatalogError if a content cannot be read.
    """
    explanation = library.explanations.get((*neighbours.pair,))
    html = html_story(neighbours, explanation)
    recorded = _recorded_at(library, neighbours)
    if recorded is None or neighbours.base is None:
        return EntryStory(html)
    change = library.recipes_change(neighbours.base, neighbours.head)
    commits = commits_story(change, explanation)
    return EntryStory(html + commits, recorded if commits else None)


def _recorded_at(library: Library, neighbours: Neighbours) -> datetime | None:
    """Return when the recipes of both revisions were recorded; None if they are not."""
    moments = [library.recipes.recorded_at(side) for side in neighbours if side is not None]
    recorded = [moment for moment in moments if moment is not None]
    return max(recorded) if len(recorded) == 2 else None


class NoSuchFeed(Exception):
    """There is no feed at an address; the text states the reason and similar names."""


def causes_in_feeds(
    library: Library,
    history: History,
    timelines: Iterable[PackageTimeline],
    after: str | None = None,
) -> Mapping[str, Causes]:
    """Return the main causes of the entries of feeds of packages in a series, by package.

    They are read from the stored history, at once; there are none where it is incomplete.
    """
    timelines = list(timelines)
    series = timelines[0].series if timelines else None
    entries = {it.name: entries_in_feed(it, after) for it in timelines}
    pairs = {
        (name, Pair(entry.base.digest, entry.head.digest)): entry
        for name, of_package in entries.items()
        for entry in of_package
        if entry.base is not None
    }
    causes: dict[str, dict[str, list[EntryCause]]] = {name: {} for name in entries}
    try:
        stored = library.history_queries.package_causes(history, series, frozenset(pairs))
    except IncompleteHistory:
        return causes
    for (name, pair), entry in pairs.items():
        causes[name][entry.head.ref] = [
            EntryCause(_cause_text(library, cause, entry), num_specs)
            for cause, num_specs in stored[name, pair]
        ]
    return causes


def _cause_text(library: Library, cause: StoredCause, entry: PackageEntry) -> str:
    """Return the subject of the only commit that changed the recipe, else the cause's title."""
    if cause.recipe and entry.base:
        between = library.recipes.between(entry.base, entry.head)
        if commit := between and between.only_commit(cause.recipe):
            return commit.subject
    return cause_title(cause.name)


class FeedResponse(Response):
    """A feed as XML, and the time when it was ``modified`` as an HTTP date."""

    def __init__(self, feed: Feed) -> None:
        self.modified = format_datetime(utc(feed.updated), usegmt=True)
        more: Headers = [(b"last-modified", self.modified.encode())]
        super().__init__(200, feed.xml, _MEDIA_TYPE, REVALIDATE, more=more)

    def is_held(self, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a client that sends no ETag has this feed, by its request headers.

        Only equal times count: when a revision is removed, the newest one is older than before.
        """
        since = headers.get(b"if-modified-since", b"").decode("latin-1")
        return b"if-none-match" not in headers and since == self.modified


FEEDS_PREFIX = f"/{FEEDS}/"

_ALLOW = "GET, HEAD"
_PATIENCE = 10.0
"""Number of seconds that a request waits for a feed that is being made."""

_LONGEST_QUERY, _LONGEST_TEXT = 200, 600


class FeedsEndpoint(msgspec.Struct, frozen=True, eq=False):
    """Answers GET and HEAD with feeds, which are made once for each state of the catalog.

    They are cached with other responses, by the ``sender``. Concurrent requests for a feed that is
    not cached share one computation, which continues if they disconnect. A request that has waited
    too long gets a response that asks the client to retry.

    The numbers come from the stored history, without loading contents. The stories of the newest
    revisions are composed one at a time, so that other requests can run in between.
    """

    catalog: Catalog
    library: Library
    answers: HistoryCache
    sender: ResponseSender
    lanes: Lanes
    makings: SingleFlight[FeedResponse] = msgspec.field(
        default_factory=lambda: SingleFlight("feed", seconds=_PATIENCE, outlasts=True)
    )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] not in ("GET", "HEAD"):
            await _text_response(f"use {_ALLOW}", 405, {"allow": _ALLOW})(scope, receive, send)
            return
        try:
            response = await unless_disconnected(receive, self._find(scope))
            await self._send(response, scope, send)
        except (BadRequest, NoSuchFeed, CachelogError) as error:
            await _refusal(scope, error)(scope, receive, send)

    async def _send(self, response: FeedResponse, scope: Scope, send: Send) -> None:
        if response.is_held(dict(scope["headers"])):
            await send_small(send, 304, response.encoded("identity").not_modified)
        else:
            await self.sender.send(response, scope, send)

    async def _find(self, scope: Scope) -> FeedResponse:
        """Return the cached response for a request's path, or a new one."""
        path = parse_path(scope["path"].removeprefix(FEEDS_PREFIX))
        if path is None:
            raise NoSuchFeed("feeds are at /feeds/SERIES.atom and /feeds/SERIES/PACKAGE.atom")
        after = _after(scope["query_string"])
        state = self.catalog.state
        key = CacheKey(orjson.dumps(path).decode(), (after or "").encode(), None, MEDIA_TYPE, state)
        responses = self.sender.cache
        cached = responses.get(key)
        if isinstance(cached, FeedResponse):
            responses.num_hits += 1
            return cached
        return await self.makings.value(key, lambda: self._make(key, *path, after))

    async def _make(
        self, key: CacheKey, series: str, package: str | None, after: str | None
    ) -> FeedResponse:
        history = self.catalog.history
        if not history.of_series(series):
            reason = f"there is no series {quoted(series)}"
            raise await self._missing(reason, series, lambda: history.series_names)
        if package is None:
            return await self._series(key, history, series, after)
        return await self._package(key, history, series, package, after)

    async def _series(
        self, key: CacheKey, history: History, series: str, after: str | None
    ) -> FeedResponse:
        """Return the feed of a series; it omits what depends on data that cannot be read."""
        counts, has_counts = await self._counts(history, series)
        newest = [] if after else neighbours_in_feed(history, series)
        stories = await self._stories(newest)
        addresses = FeedAddresses.of_server(None)
        is_complete = has_counts and len(stories) == len(newest)
        return await self._response(
            key if is_complete else None,
            lambda: series_feed(
                history, series, addresses, counts=counts, stories=stories, after=after
            ),
        )

    async def _package(
        self, key: CacheKey, history: History, series: str, name: str, after: str | None
    ) -> FeedResponse:
        """Return the feed of a package in a series.

        Raises IncompleteHistory if changes are missing, and CatalogError if they cannot be read.
        """
        if not is_name(name):  # such texts are never looked up, and so never cached
            raise NoSuchFeed(f"{quoted(name)} cannot be a package")
        call = HistoryCall.of(HistoryQueries.package_timeline, history, series, name)
        timeline: PackageTimeline | None = await self._query(call)
        if timeline is None:
            reason = f"no revision of {series} has a package {quoted(name)}"
            raise await self._missing(reason, name, self.library.package_names)
        addresses = FeedAddresses.of_server(name)
        causes = await self.lanes.loading.run(
            lambda: causes_in_feeds(self.library, history, [timeline], after)[name]
        )
        return await self._response(key, lambda: package_feed(timeline, addresses, causes, after))

    async def _response(self, key: CacheKey | None, make: Callable[[], Feed]) -> FeedResponse:
        """Return the response with a feed, which is cached if there is a key."""
        response = await self.lanes.light.run(lambda: FeedResponse(make()))
        if key is not None:
            self.sender.cache.put(key, response)
        return response

    async def _counts(self, history: History, series: str) -> tuple[dict[Pair, PairCounts], bool]:
        """Return the counts of a series, and whether the stored counts could be read.

        Without counts, the feed shows the totals of revisions, which are available.
        """
        try:
            call = HistoryCall.of(HistoryQueries.growth, history, series)
            growth: Growth = await self._query(call)
        except IncompleteHistory:
            return {}, True
        except CatalogError as error:
            _log.error("%s", visible(str(error)))
            return {}, False
        return growth.counts, True

    async def _stories(self, newest: Sequence[Neighbours]) -> dict[Neighbours, EntryStory]:
        """Return the stories of neighbours, without those whose contents cannot be read."""
        stories = {}
        for step in newest:
            try:
                stories[step] = await self.lanes.explaining.run(
                    partial(entry_story, self.library, step)
                )
            except CatalogError as error:
                _log.error("%s", visible(str(error)))
        return stories

    async def _query(self, call: HistoryCall) -> Any:
        """Return the result of a history query. Missing data is computed first, in limited time."""
        is_complete = self.answers.is_complete(call.history)
        lane = self.lanes.loading if is_complete else self.lanes.explaining
        return (await lane.run(partial(self.answers.get, call))).value

    async def _missing(
        self, reason: str, name: str, names: Callable[[], Iterable[str]]
    ) -> NoSuchFeed:
        """Return the error for an unknown name, with similar names."""
        near = await self.lanes.loading.run(lambda: nearest_names(name, names()))
        return NoSuchFeed(reason + nearest_hint(near))


def _after(query_string: bytes) -> str | None:
    """Return the revision after which a document begins; other parameters are ignored."""
    if not query_string:
        return None
    values = parse_qs(query_string[:_LONGEST_QUERY].decode("latin-1")).get("after")
    return None if values is None else values[0]


def _refusal(scope: Scope, error: BadRequest | NoSuchFeed | CachelogError) -> ASGIApp:
    """Return the response with the reason, in one line, why there is no feed."""
    if isinstance(error, NoSuchFeed | RevisionNotFound):
        return _text_response(str(error), 404)
    if isinstance(error, BadRequest):
        scope[CODE] = error.code
        more = {name.decode(): value.decode() for name, value in error.headers}
        return _text_response(error.message, error.status, more)
    scope[CODE] = error.code
    text = str(error)
    if not isinstance(error, IncompleteHistory):
        _log.error("%s", visible(text))
        text = "the catalog cannot be read at the moment"  # without the catalog's location
    return _text_response(text, 503, {"retry-after": str(RETRY_SECONDS)})


def _text_response(text: str, status: int, headers: Mapping[str, str] | None = None) -> ASGIApp:
    more = {"cache-control": "no-store", **(headers or {})}
    return PlainTextResponse(f"{bounded(text, _LONGEST_TEXT)}\n", status, more)


# -- feeds as files


_READ_AT_ONCE = 32
"""Number of packages whose changes are read at once: they are stored by package."""

AddressesOf = Callable[[str | None], FeedAddresses]
"""Returns the addresses for the feed of a package, or with None for that of a series."""


def series_document(
    library: Library, history: History, series: str, addresses: FeedAddresses
) -> bytes:
    """Return the feed of an existing series."""
    try:
        counts = library.history_queries.growth(history, series).counts
    except IncompleteHistory:  # a content is damaged: the feed has the totals of revisions
        counts = {}
    newest = neighbours_in_feed(history, series)
    stories = {step: entry_story(library, step) for step in newest}
    return series_feed(history, series, addresses, counts=counts, stories=stories).xml


def write_all(
    library: Library,
    history: History,
    series_names: Iterable[str],
    folder: Path,
    addresses: AddressesOf,
    progress: Progress,
) -> int:
    """Write the feeds of some series and of their packages; return the number of changed files.

    The packages are those of the newest revision, and those that already have a file, so that
    subscribers to the feed of a package learn of its removal. Raises IncompleteHistory if changes
    are missing.
    """
    num_written = 0
    for series in series_names:
        document = series_document(library, history, series, addresses(None))
        num_written += write(folder / f"{series}{SUFFIX}", document)
        newest = library.frames.get(history.of_series(series)[0].digest)
        written = (file.name.removesuffix(SUFFIX) for file in (folder / series).glob(f"*{SUFFIX}"))
        names = sorted({*newest.packages, *filter(is_name, written)})
        for start in range(0, len(names), _READ_AT_ONCE):
            some = names[start : start + _READ_AT_ONCE]
            timelines = library.history_queries.package_timelines(history, series, some)
            causes = causes_in_feeds(library, history, timelines.values())
            for name, timeline in timelines.items():
                document = package_feed(timeline, addresses(name), causes[name]).xml
                num_written += write(folder / series / f"{name}{SUFFIX}", document)
            progress(f"feeds of {series}", start + len(some), len(names))
    return num_written

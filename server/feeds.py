"""Feeds over HTTP: ``/feeds/SERIES.atom`` and ``/feeds/SERIES/PACKAGE.atom``."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.errors import bounded
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.exchanges import CODE, unless_disconnected
from server.asgi.lanes import Lanes
from server.asgi.responses import (
    REVALIDATE,
    CacheKey,
    Response,
    ResponseSender,
)
from server.asgi.single_flight import SingleFlight
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import Library
from snapshots.errors import CachelogError, IncompleteHistory, RevisionNotFound
from snapshots.history import History
from snapshots.notes.atom import (
    MEDIA_TYPE,
    SUFFIX,
    FeedAddresses,
    entries_after,
    package_feed,
    series_feed,
)
from snapshots.spack.names import is_name
from snapshots.texts import http_url, nearest_hint, nearest_names, quoted, visible
from snapshots.timelines.growth import MAX_CAUSES, MainChanges
from snapshots.timelines.packages import PackageTimeline

FEEDS = "feeds"
"""The path of feeds below the root of a server or site."""


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


# -- documents


def series_document(
    library: Library,
    history: History,
    series: str,
    addresses: FeedAddresses,
    changes: Mapping[str, MainChanges],
    after: str | None = None,
) -> bytes:
    """Return the feed of an existing series, with the ``changes`` of its revisions by ref.

    Raises RevisionNotFound like ``series_feed``.
    """
    steps = entries_after(history.neighbours(series)[::-1], after)
    causes = {step: of.causes for step in steps if (of := changes.get(step.head.ref))}
    return series_feed(
        history,
        series,
        addresses,
        changes,
        causes=library.stored_causes(causes),
        packages=library.history_queries.package_counts(step.pair for step in steps),
        after=after,
    )


def package_document(
    library: Library,
    history: History,
    timeline: PackageTimeline,
    addresses: FeedAddresses,
    after: str | None = None,
) -> bytes:
    """Return the feed of a package in a series. Raises RevisionNotFound like ``package_feed``.

    Entries have no causes where these are unknown.
    """
    steps = {
        entry.step.pair: entry.step
        for entry in entries_after(timeline.entries, after)
        if entry.base is not None
    }
    keys = frozenset((timeline.name, pair) for pair in steps)
    try:
        stored = library.history_queries.package_causes(history, timeline.series, keys)
    except IncompleteHistory:
        stored = {}
    of_steps = {steps[pair]: causes[:MAX_CAUSES] for (_, pair), causes in stored.items()}
    explained = library.stored_causes(
        {step: [cause for cause, _ in causes] for step, causes in of_steps.items()}
    )
    of_package = {
        step: replace(
            of_step,
            causes=[
                replace(entry, num_specs=num_specs)  # of the package
                for entry, (_, num_specs) in zip(of_step.causes, of_steps[step], strict=True)
            ],
        )
        for step, of_step in explained.items()
    }
    return package_feed(timeline, addresses, of_package, after)


# -- the endpoint


class NoSuchFeed(Exception):
    """There is no feed at an address; the text states the reason and similar names."""


FEEDS_PREFIX = f"/{FEEDS}/"

_log = logging.getLogger("cachelog.server")

_PATIENCE = 10.0
"""Number of seconds that a request waits for a feed that is being made."""

_LONGEST_QUERY, _LONGEST_TEXT = 200, 600


class FeedsEndpoint(msgspec.Struct, frozen=True, eq=False):
    """Answers with feeds, which are made once for each state of the catalog.

    They are cached with other responses, by the ``sender``. Concurrent requests for a feed that is
    not cached share one computation, which continues if they disconnect. A request that has waited
    too long gets a response that asks the client to retry.

    Everything comes from the stored history; no content is loaded. Links begin with ``public_url``,
    or if that is empty, with the address that the client requested.
    """

    catalog: Catalog
    library: Library
    answers: HistoryCache
    sender: ResponseSender
    lanes: Lanes
    public_url: str = ""
    makings: SingleFlight[Response] = msgspec.field(
        default_factory=lambda: SingleFlight("feed", seconds=_PATIENCE, outlasts=True)
    )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            response = await unless_disconnected(receive, self._find(scope))
            await self.sender.send(response, scope, send)
        except (BadRequest, NoSuchFeed, CachelogError) as error:
            await _refusal(scope, error)(scope, receive, send)

    async def _find(self, scope: Scope) -> Response:
        """Return the cached response for a request's path, or a new one."""
        path = parse_path(scope["path"].removeprefix(FEEDS_PREFIX))
        if path is None:
            raise NoSuchFeed("feeds are at /feeds/SERIES.atom and /feeds/SERIES/PACKAGE.atom")
        after = Request(scope).query_params.get("after")
        root = self.public_url or _root(scope)
        key = CacheKey(
            orjson.dumps((root, *path)).decode(),
            (after or "").encode(),
            None,
            MEDIA_TYPE,
            self.catalog.state,
        )
        cached = self.sender.cache.get(key)
        if cached is not None:
            self.sender.cache.num_hits += 1
            return cached
        addresses = FeedAddresses(f"{root}{FEEDS}/", root)
        return await self.makings.value(key, lambda: self._make(key, *path, addresses, after))

    async def _make(
        self,
        key: CacheKey,
        series: str,
        package: str | None,
        addresses: FeedAddresses,
        after: str | None,
    ) -> Response:
        """Return the response with a feed, which is then cached.

        Raises IncompleteHistory if changes are missing, and CatalogError if they cannot be read.
        """
        history, library = self.catalog.history, self.library
        if not history.of_series(series):
            reason = f"there is no series {quoted(series)}"
            raise await self._missing(reason, series, lambda: history.series_names)
        make: Callable[[], bytes]
        if package is None:
            call = HistoryCall.of(HistoryQueries.main_changes, history, series)
            changes: Mapping[str, MainChanges] = await self._query(call)
            make = partial(series_document, library, history, series, addresses, changes, after)
        else:
            if not is_name(package):  # such texts are never looked up, and so never cached
                raise NoSuchFeed(f"{quoted(package)} cannot be a package")
            call = HistoryCall.of(HistoryQueries.package_timeline, history, series, package)
            timeline: PackageTimeline | None = await self._query(call)
            if timeline is None:
                reason = f"no revision of {series} has a package {quoted(package)}"
                raise await self._missing(reason, package, library.package_names)
            make = partial(package_document, library, history, timeline, addresses, after)
        response = await self.lanes.loading.run(lambda: _response(make()))
        self.sender.cache.put(key, response)
        return response

    async def _query(self, call: HistoryCall) -> Any:
        """Return the result of a history query."""
        return (await self.lanes.loading.run(partial(self.answers.get, call))).value

    async def _missing(
        self, reason: str, name: str, names: Callable[[], Iterable[str]]
    ) -> NoSuchFeed:
        """Return the error for an unknown name, with similar names."""
        near = await self.lanes.loading.run(lambda: nearest_names(name, names()))
        return NoSuchFeed(reason + nearest_hint(near))


def _response(feed: bytes) -> Response:
    return Response(200, feed, f"{MEDIA_TYPE}; charset=utf-8".encode(), REVALIDATE)


def _root(scope: Scope) -> str:
    """Return the address of the server as the client requested it; only its path if it is none."""
    url = str(Request(scope).base_url)
    return url if http_url(url) and len(url) <= _LONGEST_QUERY else "/"


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

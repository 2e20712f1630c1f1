"""Feeds over HTTP: ``/feeds/SERIES.atom`` and ``/feeds/SERIES/PACKAGE.atom``, and as files."""

import logging
from collections.abc import Callable, Iterable, Mapping
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

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
from snapshots.changes.stored_changes import StoredCause
from snapshots.errors import CachelogError, IncompleteHistory, RevisionNotFound
from snapshots.history import History, Neighbours
from snapshots.models import utc
from snapshots.notes.atom import MEDIA_TYPE, Feed, entries_after, package_feed, series_feed
from snapshots.notes.causes import StoredCauses
from snapshots.sources.reports import Progress
from snapshots.spack.names import is_name
from snapshots.texts import http_url, nearest_hint, nearest_names, quoted, visible
from snapshots.timelines.growth import MAX_CAUSES, MainChanges
from snapshots.timelines.packages import PackageTimeline

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


# -- documents


def series_document(
    library: Library,
    history: History,
    series: str,
    addresses: FeedAddresses,
    changes: Mapping[str, MainChanges],
    after: str | None = None,
) -> Feed:
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


def package_documents(
    library: Library,
    history: History,
    timelines: Mapping[str, PackageTimeline],
    addresses: Callable[[str], FeedAddresses],
    after: str | None = None,
) -> dict[str, Feed]:
    """Return the feeds of packages in a series by name; their stored causes are read at once.

    Entries have no causes where these are unknown. Raises RevisionNotFound like ``package_feed``.
    """
    steps = {
        (name, entry.step.pair): entry.step
        for name, timeline in timelines.items()
        for entry in entries_after(timeline.entries, after)
        if entry.base is not None
    }
    series = next((timeline.series for timeline in timelines.values()), None)
    try:
        stored = library.history_queries.package_causes(history, series, frozenset(steps))
    except IncompleteHistory:
        stored = {}
    of_steps: dict[Neighbours, dict[str, StoredCause]] = {}
    for key, causes in stored.items():
        of_steps.setdefault(steps[key], {}).update({it.name.key: it for it, _ in causes})
    explained = library.stored_causes({step: [*of.values()] for step, of in of_steps.items()})
    of_packages: dict[str, dict[Neighbours, StoredCauses]] = {name: {} for name in timelines}
    for (name, pair), causes in stored.items():
        step = steps[name, pair]
        entries = {entry.key: entry for entry in explained[step].causes}
        own = [
            replace(entries[cause.name.key], num_specs=num_specs)
            for cause, num_specs in causes[:MAX_CAUSES]
        ]
        of_packages[name][step] = replace(explained[step], causes=own)
    return {
        name: package_feed(timeline, addresses(name), of_packages[name], after)
        for name, timeline in timelines.items()
    }


# -- the endpoint


class NoSuchFeed(Exception):
    """There is no feed at an address; the text states the reason and similar names."""


class FeedResponse(Response):
    """A feed as XML, and the time when it was ``modified`` as an HTTP date."""

    def __init__(self, feed: Feed) -> None:
        self.modified = format_datetime(utc(feed.updated), usegmt=True)
        more: Headers = [(b"last-modified", self.modified.encode())]
        super().__init__(
            200, feed.xml, f"{MEDIA_TYPE}; charset=utf-8".encode(), REVALIDATE, more=more
        )

    def is_held(self, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a client that sends no ETag has this feed, by its request headers.

        Only equal times count: when a revision is removed, the newest one is older than before.
        """
        since = headers.get(b"if-modified-since", b"").decode("latin-1")
        return b"if-none-match" not in headers and since == self.modified


FEEDS_PREFIX = f"/{FEEDS}/"

_log = logging.getLogger("cachelog.server")

_ALLOW = "GET, HEAD"
_PATIENCE = 10.0
"""Number of seconds that a request waits for a feed that is being made."""

_LONGEST_QUERY, _LONGEST_TEXT = 200, 600


class FeedsEndpoint(msgspec.Struct, frozen=True, eq=False):
    """Answers GET and HEAD with feeds, which are made once for each state of the catalog.

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
            if response.is_held(dict(scope["headers"])):
                await send_small(send, 304, response.encoded("identity").not_modified)
            else:
                await self.sender.send(response, scope, send)
        except (BadRequest, NoSuchFeed, CachelogError) as error:
            await _refusal(scope, error)(scope, receive, send)

    async def _find(self, scope: Scope) -> FeedResponse:
        """Return the cached response for a request's path, or a new one."""
        path = parse_path(scope["path"].removeprefix(FEEDS_PREFIX))
        if path is None:
            raise NoSuchFeed("feeds are at /feeds/SERIES.atom and /feeds/SERIES/PACKAGE.atom")
        after, root = _after(scope["query_string"]), self.public_url or _root(scope)
        key = CacheKey(
            orjson.dumps((root, *path)).decode(),
            (after or "").encode(),
            None,
            MEDIA_TYPE,
            self.catalog.state,
        )
        cached = self.sender.cache.get(key)
        if isinstance(cached, FeedResponse):
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
    ) -> FeedResponse:
        """Return the response with a feed, which is then cached.

        Raises IncompleteHistory if changes are missing, and CatalogError if they cannot be read.
        """
        history, library = self.catalog.history, self.library
        if not history.of_series(series):
            reason = f"there is no series {quoted(series)}"
            raise await self._missing(reason, series, lambda: history.series_names)
        make: Callable[[], Feed]
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
            timelines = {package: timeline}
            make = lambda: package_documents(  # noqa: E731 - as short as the one above
                library, history, timelines, lambda _: addresses, after
            )[package]
        response = await self.lanes.loading.run(lambda: FeedResponse(make()))
        self.sender.cache.put(key, response)
        return response

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


def _root(scope: Scope) -> str:
    """Return the address of the server as the client requested it; only its path if it is none."""
    url = str(Request(scope).base_url)
    return url if http_url(url) and len(url) <= _LONGEST_QUERY else "/"


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


def write_all(
    library: Library,
    history: History,
    series_names: Iterable[str],
    folder: Path,
    addresses: Callable[[str | None], FeedAddresses],
    progress: Progress,
) -> int:
    """Write the feeds of some series and of their packages; return the number of changed files.

    The packages are those of the newest revision, and those that already have a file, so that
    subscribers to the feed of a package learn of its removal. ``addresses`` returns those in the
    feed of a package, or with None of a series. Raises IncompleteHistory if changes are missing.
    """
    num_written, queries = 0, library.history_queries
    for series in series_names:
        changes = queries.main_changes(history, series)
        document = series_document(library, history, series, addresses(None), changes)
        num_written += write(folder / f"{series}{SUFFIX}", document.xml)
        newest = library.frames.get(history.of_series(series)[0].digest)
        written = (file.name.removesuffix(SUFFIX) for file in (folder / series).glob(f"*{SUFFIX}"))
        names = sorted({*newest.packages, *filter(is_name, written)})
        for start in range(0, len(names), _READ_AT_ONCE):
            some = names[start : start + _READ_AT_ONCE]
            timelines = queries.package_timelines(history, series, some)
            for name, feed in package_documents(library, history, timelines, addresses).items():
                num_written += write(folder / series / f"{name}{SUFFIX}", feed.xml)
            progress(f"feeds of {series}", start + len(some), len(names))
    return num_written

"""Sends feeds: ``/feeds/SERIES.atom`` and ``/feeds/SERIES/PACKAGE.atom``."""

import logging
from collections.abc import Mapping
from email.utils import format_datetime
from urllib.parse import parse_qs

import orjson
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.errors import CODES, bounded
from server.asgi.allowances import Allowances
from server.asgi.cache import CacheKey, ResponseCache
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.exchanges import CODE
from server.asgi.hang_ups import GONE, unless_gone
from server.asgi.lanes import Lanes
from server.asgi.makings import Makings
from server.asgi.responses import Headers, Response
from server.asgi.sending import REVALIDATE, send_head, send_response
from server.feeds.addresses import FEEDS, parse_path
from server.feeds.making import Document, FeedMaker, NoSuchFeed
from snapshots.catalog.catalog import Catalog
from snapshots.errors import CachelogError, CatalogError, IncompleteHistory
from snapshots.models import utc
from snapshots.notes.atom.document import MEDIA_TYPE
from snapshots.wording import visible

_log = logging.getLogger("cachelog.server")

PREFIX = f"/{FEEDS}/"

_MEDIA_TYPE = f"{MEDIA_TYPE}; charset=utf-8".encode()
_ALLOW = "GET, HEAD"
_LONGEST_QUERY, _LONGEST_TEXT = 200, 600
_UNITS = 100_000
"""What the making of a feed counts as, beside the cost of queries: about 30 ms."""


class FeedResponse(Response):
    """A document of a feed, and when it was ``modified``, as headers have it."""

    def __init__(self, document: Document) -> None:
        self.modified = format_datetime(utc(document.updated), usegmt=True)
        more: Headers = [(b"last-modified", self.modified.encode())]
        super().__init__(200, document.body, _MEDIA_TYPE, REVALIDATE, more=more)
        self.key: CacheKey | None = None
        """What it is kept under, if it is."""

    def is_held(self, headers: Mapping[bytes, bytes]) -> bool:
        """Tell whether a client that sends no ETag has it, by the headers of its request.

        Equal moments count alone: where a revision is removed, the newest is older than before.
        """
        since = headers.get(b"if-modified-since", b"").decode("latin-1")
        return b"if-none-match" not in headers and since == self.modified


class FeedsEndpoint:
    """Answers GET and HEAD with feeds, made once for each state of the catalog.

    They are kept among the other ``responses``. Requests for one feed that is not kept wait for the
    same making, which goes on where they hang up. Who has waited for so many ``seconds`` is told to
    come back.
    """

    def __init__(
        self,
        catalog: Catalog,
        maker: FeedMaker,
        responses: ResponseCache,
        lanes: Lanes,
        allowances: Allowances,
        *,
        seconds: float = 10.0,
    ) -> None:
        self._catalog = catalog
        self._maker = maker
        self._responses = responses
        self._lanes = lanes
        self._allowances = allowances
        self._makings: Makings[FeedResponse] = Makings("feed", seconds=seconds, outlasts=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] not in ("GET", "HEAD"):
            await _told(f"use {_ALLOW}", 405, {"allow": _ALLOW})(scope, receive, send)
            return
        try:
            if self._allowances.is_limited:
                self._allowances.count_request(scope)
            found = await unless_gone(receive, self._find(scope))
        except (BadRequest, NoSuchFeed, CachelogError) as error:
            await _refusal(scope, error)(scope, receive, send)
            return
        if found is None:
            await send_head(send, GONE, [])  # for the log: nobody receives it
            return
        await self._send(found, scope, send)

    async def _send(self, response: FeedResponse, scope: Scope, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if response.is_held(headers):
            await send_head(send, 304, response.encoded("identity").not_modified)
            return
        compressing = self._lanes.compressing
        is_larger = await send_response(response, scope, headers, send, compressing=compressing)
        if is_larger and response.key is not None:
            self._responses.put(response.key, response)

    async def _find(self, scope: Scope) -> FeedResponse:
        """Return what is kept under the address of a request, or made now."""
        asked = parse_path(scope["path"].removeprefix(PREFIX))
        if asked is None:
            raise NoSuchFeed("feeds are at /feeds/SERIES.atom and /feeds/SERIES/PACKAGE.atom")
        after = _after(scope["query_string"])
        state = self._catalog.state
        key = CacheKey(
            orjson.dumps(asked).decode(), (after or "").encode(), None, MEDIA_TYPE, state
        )
        kept = self._responses.get(key)
        if isinstance(kept, FeedResponse):
            self._responses.num_hits += 1
            return kept
        if key not in self._makings and self._allowances.is_limited:
            self._allowances.charge(scope, _UNITS)
        return await self._makings.value(key, lambda: self._make(key, *asked, after))

    async def _make(
        self, key: CacheKey, series: str, package: str | None, after: str | None
    ) -> FeedResponse:
        history = self._catalog.history
        if package is None:
            document = await self._maker.series(history, series, after)
        else:
            document = await self._maker.package(history, series, package, after)
        response = FeedResponse(document)
        if document.is_whole:
            response.key = key
            self._responses.put(key, response)
        return response


def _after(query_string: bytes) -> str | None:
    """Return the revision that a document begins after; anything else in a query is ignored."""
    if not query_string:
        return None
    given = parse_qs(query_string[:_LONGEST_QUERY].decode("latin-1")).get("after")
    return None if given is None else given[0]


def _refusal(scope: Scope, error: BadRequest | NoSuchFeed | CachelogError) -> ASGIApp:
    """Return the answer that says in a line why there is no feed."""
    if isinstance(error, NoSuchFeed):
        return _told(str(error), 404)
    if isinstance(error, BadRequest):
        scope[CODE] = error.code
        more = {name.decode(): value.decode() for name, value in error.headers}
        return _told(error.message, error.status, more)
    scope[CODE], text = _unavailable(error)
    return _told(text, 503, {"retry-after": str(RETRY_SECONDS)})


def _unavailable(error: CachelogError) -> tuple[str, str]:
    """Return the code and the text of a feed that cannot be made just now."""
    code = CODES.get(type(error), CODES[CatalogError])
    if isinstance(error, IncompleteHistory):
        return code, str(error)
    _log.error("%s", visible(str(error)))
    return code, "the catalog cannot be read at the moment"  # not where it is


def _told(text: str, status: int, headers: Mapping[str, str] | None = None) -> ASGIApp:
    more = {"cache-control": "no-store", **(headers or {})}
    return PlainTextResponse(f"{bounded(text, _LONGEST_TEXT)}\n", status, more)

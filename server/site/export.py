"""Exports of sites: each answer, page and feed is requested from a server in this process."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import msgspec
import orjson
from msgspec.structs import replace

from server.app import GRAPHQL_PATH, create_app
from server.feeds import FEEDS, SUFFIX, FeedAddresses, series_document
from server.feeds import path_of as feed_path
from server.pages.addresses import path_of
from server.pages.renderer import assets
from server.pages.routes import TABS
from server.settings import Settings
from server.site.entries import INDEX_FILE, entries, index_script
from server.site.folder import SiteFile, SiteFolder
from server.site.links import SiteLinks, SitePage, page_file, relative
from server.site.queries import Role, SiteDocument, SiteRequest, SiteRevisions
from snapshots.catalog.library import Library
from snapshots.notes.atom import MEDIA_TYPE
from snapshots.sources.reports import Progress

_TRANSIENT_HEADERS = frozenset(
    {"content-length", "date", "etag", "last-modified", "server", "vary", "x-request-id"}
)
"""Headers that hosts set themselves."""

_PATIENCE = 600.0
"""Seconds that a request may wait for a thread; there are no other clients."""


@asynccontextmanager
async def server_of(settings: Settings, links: SiteLinks) -> AsyncIterator[httpx.AsyncClient]:
    """Run a server with the usual limits, whose pages have the links of a site.

    It runs in this process and has no other clients.
    """
    app = create_app(
        replace(
            settings,
            public_url="",
            documents="",  # allow the site's own documents
            pages=True,
            graphiql=False,
            docs="none",
            metrics=False,
            tracing=False,
            access_log=False,
            cors_origins=(),
            frame_ancestors=(),
            requests_per_minute=0,
            cost_per_minute=0,
            refresh=_PATIENCE,
        ),
        links.address,
        patience=_PATIENCE,
        max_unfinished=sys.maxsize,  # the requests of one iteration of the loop count together
    )
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://cachelog",
            headers={"accept": "*/*", "accept-encoding": "identity"},
            timeout=None,  # noqa: S113 - the server has timeouts of its own
        ) as client,
    ):
        yield client


def _headers(response: httpx.Response) -> dict[str, str]:
    """Return the headers of a response that hosts should send with its file."""
    headers = response.headers.items()
    return {name: value for name, value in headers if name not in _TRANSIENT_HEADERS}


def _is_permanent(response: httpx.Response) -> bool:
    """Return whether a response is permanent."""
    return "immutable" in response.headers.get("cache-control", "")


_REVALIDATE = "no-cache"


class Site(msgspec.Struct, kw_only=True):
    """The parts of a site: answers to ``documents``, feeds, and, with ``has_pages``, pages.

    ``limit`` is the maximum number of packages, stacks, specs and hashes with pages, for each kind.
    ``feed_addresses`` are those in feeds. With ``is_pruned``, files of earlier runs are going to be
    removed. A line is added to ``faults`` for each failed request.
    """

    library: Library
    chosen: SiteRevisions
    documents: Sequence[SiteDocument]
    limit: int
    feed_addresses: FeedAddresses
    links: SiteLinks
    has_pages: bool = True
    is_pruned: bool = False
    faults: list[str] = []


async def export(
    site: Site, server: httpx.AsyncClient, folder: SiteFolder, progress: Progress
) -> None:
    """Write all files of a site that are missing or may have changed.

    An answer with errors is not written; an existing file is then left unchanged.
    """
    requests = [
        request for document in site.documents for request in document.requests(site.chosen)
    ]
    for done, request in enumerate(requests, 1):
        part: SiteRequest | None = request
        while part is not None:
            cursor = await _answer(site, part, server, folder)
            part = part.after(cursor) if cursor else None
        progress("answers", done, len(requests))
    feeds = list(site.chosen.revisions)
    for done, series in enumerate(feeds, 1):
        file = feed_file(series)
        headers = {"content-type": f"{MEDIA_TYPE}; charset=utf-8", "cache-control": _REVALIDATE}
        feed = series_document(site.library, site.chosen.history, series, site.feed_addresses)
        folder.put(file, feed, headers, SiteFile(address=_feed_address(series)))
        progress("feeds", done, len(feeds))
    if site.has_pages:
        await _Pages(site, server, folder).write(progress)


def feed_file(series: str) -> str:
    """Return the path of a series' feed in a site."""
    return f"{FEEDS}/{series}{SUFFIX}"


def _feed_address(series: str) -> str:
    return f"/{FEEDS}/{feed_path(series, None)}"


async def _answer(
    site: Site, request: SiteRequest, server: httpx.AsyncClient, folder: SiteFolder
) -> str:
    """Write an answer; return the cursor of the next part of its list, or an empty string."""
    file, document = request.file, request.document
    if (previous := folder.keep(file)) is not None:
        return previous.next
    query = {"query": document.text, "variables": dict(request.variables)}
    response = await server.post(GRAPHQL_PATH, json=query)
    answer = orjson.loads(response.content)
    if answer.get("errors"):
        fault = answer["errors"][0]["message"]
        site.faults.append(f"{document.name or document.id} {dict(request.variables)}: {fault}")
        return ""
    cursor = request.next_cursor(answer)
    entry = SiteFile(
        document=document.id,
        variables=request.variables,
        permanent=_is_permanent(response),
        next=cursor,
    )
    folder.put(file, response.content, _headers(response), entry)
    return cursor


class _Pages:
    """The pages of a site, and the files that they load."""

    def __init__(self, site: Site, server: httpx.AsyncClient, folder: SiteFolder) -> None:
        self._site, self._server, self._folder, self._links = site, server, folder, site.links
        for file, entry in folder.earlier().items():
            if entry.address and not site.is_pruned:
                self._links.add(entry.address, file)

    async def write(self, progress: Progress) -> None:
        """Write all pages, their assets, and the search index."""
        for name in assets().values():
            response = await self._server.get(f"/{name}")
            file, headers = urlsplit(name).path, _headers(response)
            self._folder.put(file, response.content, headers, SiteFile(address=f"/{file}"))
        listed = entries(self._site.library, self._site.chosen, self._site.limit)
        of_entries = (address for entry in listed for address in entry.addresses)
        addresses = list(dict.fromkeys([*self._addresses(), *of_entries]))
        for address in addresses:
            self._links.add(address, page_file(address))
        named = [
            (entry, relative("", page_file(entry.addresses[0]))) for entry in listed if entry.value
        ]
        headers = {"content-type": "text/javascript; charset=utf-8", "cache-control": _REVALIDATE}
        index = SiteFile(address=f"/{INDEX_FILE}")
        self._folder.put(INDEX_FILE, index_script(named), headers, index)
        for series in self._site.chosen.revisions:
            self._links.add(_feed_address(series), feed_file(series))
        for done, address in enumerate(addresses, 1):
            await self._list(address)
            progress("pages", done, len(addresses))

    def _addresses(self) -> list[str]:
        """Return the addresses of the pages on a server; for a list, that of its first page."""
        chosen = self._site.chosen
        pairs = [
            path_of("compare", f"{pair[Role.BASE]}...{pair[Role.HEAD]}")
            for pair in chosen.comparisons
        ]
        newest = [revisions[0].ref for revisions in chosen.revisions.values()]
        return [
            "/",
            "/packages",
            *(path_of("series", name) for name in chosen.revisions),
            *(path_of("series", name, "causes") for name in chosen.revisions),
            *(path_of("r", content[Role.REVISION]) for content in chosen.subjects),
            *(path_of("r", ref, name) for ref in newest for name in ("holes", "twins")),
            *(pair + tab for pair in pairs for tab in TABS),
        ]

    async def _list(self, address: str) -> None:
        """Write a page, and the following pages of its list."""
        page: SitePage | None = SitePage(address)
        while page is not None:
            following = await self._page(page)
            query = following.partition("?")[2]
            page = SitePage(address, page.number + 1, query) if following else None

    async def _page(self, page: SitePage) -> str:
        """Write a page; return the address of the next page of its list, or an empty string."""
        address = f"{page.address}?{page.query}" if page.query else page.address
        if (previous := self._folder.keep(page.file, self._links.still_lead)) is not None:
            return previous.next
        self._links.begin(page)
        response = await self._server.get(address)
        if response.status_code != 200:
            self._site.faults.append(f"{address}: status {response.status_code}")
            return ""
        headers, is_permanent = _headers(response), _is_permanent(response)
        entry = SiteFile(address=address, permanent=is_permanent)
        if headers["content-type"].startswith("text/html"):
            links = self._links.targets if is_permanent else {}
            entry = msgspec.structs.replace(entry, links=links, next=self._links.next)
            # The links of a page change as the site grows.
            headers = {**headers, "cache-control": _REVALIDATE}
        self._folder.put(page.file, response.content, headers, entry)
        return entry.next

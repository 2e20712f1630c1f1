"""Writing a site: each answer, page and feed is asked of a server in this process, and kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import orjson

from server.feeds.addresses import FEEDS, SUFFIX
from server.feeds.addresses import path_of as feed_path
from server.pages.addresses import path_of
from server.pages.rendering import assets
from server.pages.routes import TABS
from server.site.asking import LocalServer
from server.site.choosing import Chosen
from server.site.folder import Entry, SiteFolder
from server.site.linking import Page, linked
from server.site.places import Places, page_file
from server.site.questions import Document, Question
from snapshots.notes.atom.document import MEDIA_TYPE
from snapshots.sources.reports import Progress

_REVALIDATE = "no-cache"


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a site has: answers to ``documents``, and pages and feeds unless they are not wanted.

    ``feed_of`` makes the feed of a series. ``base_url`` is where the site is going to be,
    ``server_url`` where a server is that has what the site has not; both end with a slash, or are
    empty. With ``is_pruned`` files of earlier runs are going to be removed. ``faults``
    gets what could not be had, a line each.
    """

    chosen: Chosen
    documents: Sequence[Document]
    feed_of: Callable[[str], bytes]
    has_pages: bool = True
    base_url: str = ""
    server_url: str = ""
    is_pruned: bool = False
    faults: list[str] = field(default_factory=list)


async def export(site: Site, server: LocalServer, folder: SiteFolder, progress: Progress) -> None:
    """Write all files of a site that are not there yet, or that may have changed.

    An answer with errors is not written; what was there before stays.
    """
    questions = [it for document in site.documents for it in document.questions(site.chosen)]
    for done, question in enumerate(questions, 1):
        part: Question | None = question
        while part is not None:
            cursor = await _answer(site, part, server, folder)
            part = part.after(cursor) if cursor else None
        progress("answers", done, len(questions))
    feeds = list(site.chosen.revisions)
    for done, series in enumerate(feeds, 1):
        file = feed_file(series)
        headers = {"content-type": f"{MEDIA_TYPE}; charset=utf-8", "cache-control": _REVALIDATE}
        folder.put(file, site.feed_of(series), headers, Entry(address=_feed_address(series)))
        progress("feeds", done, len(feeds))
    if site.has_pages:
        await _Pages(site, server, folder).write(progress)


def feed_file(series: str) -> str:
    """Return where the feed of a series is in a site."""
    return f"{FEEDS}/{series}{SUFFIX}"


def _feed_address(series: str) -> str:
    return f"/{FEEDS}/{feed_path(series, None)}"


async def _answer(site: Site, question: Question, server: LocalServer, folder: SiteFolder) -> str:
    """Write an answer; return the cursor that the rest of its list stands after, or nothing."""
    file, document = question.file, question.document
    kept = folder.kept(file)
    if kept is not None:
        folder.keep(file, kept)
        return kept.next
    reply = await server.answer(document.text, question.variables)
    answer = orjson.loads(reply.body)
    if answer.get("errors"):
        fault = answer["errors"][0]["message"]
        site.faults.append(f"{document.name or document.id} {dict(question.variables)}: {fault}")
        return ""
    cursor = question.next_cursor(answer)
    entry = Entry(
        document=document.id,
        variables=question.variables,
        permanent=reply.is_permanent,
        next=cursor,
    )
    folder.put(file, reply.body, reply.headers, entry)
    return cursor


class _Pages:
    """The pages of a site, with what they load."""

    def __init__(self, site: Site, server: LocalServer, folder: SiteFolder) -> None:
        self._site, self._server, self._folder = site, server, folder
        self._places = Places(site.chosen.history, site.server_url)
        for file, entry in folder.earlier().items():
            if entry.address and not site.is_pruned:
                self._places.add(entry.address, file)

    async def write(self, progress: Progress) -> None:
        """Write all of them."""
        for name in assets().values():
            reply = await self._server.get(f"/{name}")
            file = urlsplit(name).path
            self._folder.put(file, reply.body, reply.headers, Entry(address=f"/{file}"))
        addresses = self._addresses()
        for address in addresses:
            self._places.add(address, page_file(address))
        for series in self._site.chosen.revisions:
            self._places.add(_feed_address(series), feed_file(series))
        for done, address in enumerate(addresses, 1):
            await self._list(address)
            progress("pages", done, len(addresses))

    def _addresses(self) -> list[str]:
        """Return where a server has the pages, those of each list by its first."""
        chosen = self._site.chosen
        return [
            "/",
            *(path_of("series", it.series) for it in chosen.series),
            *(path_of("r", it.head) for it in chosen.contents),
            *(
                path_of("compare", f"{it.base}...{it.head}") + tab
                for it in chosen.comparisons
                for tab in TABS
            ),
        ]

    async def _list(self, address: str) -> None:
        """Write a page, and those that follow it in its list."""
        page: Page | None = Page(address)
        while page is not None:
            following = await self._page(page)
            query = following.partition("?")[2]
            page = Page(address, page.number + 1, query) if following else None

    async def _page(self, page: Page) -> str:
        """Write a page; return the address of the next of its list, empty where it is the last."""
        asked = f"{page.address}?{page.query}" if page.query else page.address
        kept = self._folder.kept(page.file)
        if kept is not None and self._still_leads(kept.links):
            self._folder.keep(page.file, kept)
            return kept.next
        reply = await self._server.get(asked)
        if reply.status != 200:
            self._site.faults.append(f"{asked}: status {reply.status}")
            return ""
        entry = Entry(address=asked, permanent=reply.is_permanent)
        if not reply.headers["content-type"].startswith("text/html"):
            self._folder.put(page.file, reply.body, reply.headers, entry)
            return ""
        found = linked(reply.body, page, self._places, self._site.base_url)
        following = found.next or ""
        entry = Entry(
            address=asked,
            permanent=reply.is_permanent,
            links=found.targets if reply.is_permanent else {},
            next=following,
        )
        # Where its links lead is told anew when the site grows.
        headers = {**reply.headers, "cache-control": _REVALIDATE}
        self._folder.put(page.file, found.body, headers, entry)
        return following

    def _still_leads(self, links: Mapping[str, bool]) -> bool:
        return all(self._places.has(target) == had for target, had in links.items())

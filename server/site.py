"""Static sites: a crawl of the application in this process, whose pages become files.

Links are collected while pages are rendered. The addresses of a site render each link as one to a
file of the site, which is then going to be written, or leave it out.
"""

import posixpath
import re
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

import httpx
import msgspec
import numpy as np
import orjson
from starlette.routing import compile_path

from server.app import create_app
from server.feeds import FEEDS, series_document
from server.output_files import write
from server.pages.addresses import Address, Query, path_of
from server.pages.renderer import assets
from server.pages.routes import PAGES
from server.settings import Settings
from snapshots.catalog.library import Library
from snapshots.errors import CachelogError, CatalogError, InvalidArgument
from snapshots.frames.dependencies import DependencyType
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.notes.atom import SUFFIX, FeedAddresses
from snapshots.notes.atom import path_of as feed_path
from snapshots.sources.reports import Progress
from snapshots.texts import counted

INDEX_FILE = "search-index.js"
"""The file of the names in the site: a script, because pages on a disk can load only scripts."""

MAX_PAGES = 40
"""Maximum number of pages of a list in a site: 2,000 rows."""

_MAX_NAME_LENGTH = 200
_PATIENCE = 600.0
"""Seconds that a request may wait for a thread; there are no other clients."""

_ROUTES = {page.path: compile_path(page.path)[0] for page in PAGES if not page.leads_to}
_ONLY_OF_A_SERVER = re.compile(
    "/search|/(specs|badge)/.*|/compare/[^/]*/causes/.*|/compare/[^/]*/(packages|specs)/.*"
)
"""The paths of pages that need a query or are no pages, beside those that lead to others."""

_SPEC = re.compile("/r/[^/]*/specs/([^/]*)")

_UNLIMITED = re.compile(r"/|/packages|/series/[^/]*(/causes)?|/r/[^/]*|/compare/[^/]*(/[^/]*)?")
"""Routes whose number of pages follows from the revisions of the site."""

_KINDS = {
    "/series/{name}": "series",
    "/packages/{name}": "package",
    "/r/{ref}/stacks/{name}": "stack",
    "/hash/{hash}": "hash",
}
"""The pages in the index of names, by their routes; the last part of the path is the name."""


def choose(
    history: History,
    series: Sequence[str] = (),
    *,
    since: datetime | None = None,
    last: int | None = None,
) -> dict[str, list[RevisionInfo]]:
    """Return the newest revisions of some or all series by name; series without any are omitted."""
    chosen = {
        name: [it for it in history.of_series(name) if since is None or it.taken_at >= since][:last]
        for name in series or history.series_names
    }
    return {name: revisions for name, revisions in chosen.items() if revisions}


class SitePage(msgspec.Struct, frozen=True):
    """A page: the path of the first page of its list, its number in the list, and its query."""

    path: str
    number: int = 1
    query: str = ""

    @property
    def file(self) -> str:
        """Its path in the site."""
        folder = unquote(self.path).strip("/")
        if folder.endswith(".md"):
            return folder
        name = "index.html" if self.number == 1 else f"page-{self.number}.html"
        return f"{folder}/{name}" if folder else name


class Site:
    """The pages of a site, and the links between them.

    - revisions: The revisions of the site by the names of their series, newest first.
    - limit: The maximum number of pages of each kind that the revisions do not determine, such as
      packages and specs. Those that are linked to first are chosen.
    - base_url: The future URL of the site, with a slash at its end, or empty if it is unknown.
    - server_url: Likewise, that of a server for links to other pages; they are left out without it.
    - newest: The newest revision of each series, by its ref.
    - details: The paths of the packages that these revisions have.
    - waiting: The pages that are still to be written.
    - page: The page that is being rendered.
    """

    def __init__(
        self,
        history: History,
        revisions: Mapping[str, Sequence[RevisionInfo]],
        *,
        limit: int,
        base_url: str = "",
        server_url: str = "",
    ) -> None:
        self.history, self.revisions = history, revisions
        self.base_url, self.server_url = base_url, server_url
        self.newest = {several[0].ref: several[0] for several in revisions.values()}
        self.waiting: deque[SitePage] = deque()
        self.page = SitePage("/")
        self.details: set[str] = set()
        self._limit = limit
        self._num_pages: Counter[str] = Counter()
        self._files = {f"/{FEEDS}/{feed_path(name, None)}": feed_file(name) for name in revisions}
        self._names: list[tuple[str, str, str, str]] = []
        self._left_out: dict[str, set[str]] = {kind: set() for kind in _KINDS}
        self._refs = {head.ref for several in revisions.values() for head in several}
        self._pairs = {
            f"{base.ref}...{head.ref}"
            for several in revisions.values()
            for head in several
            if (base := history.previous(head)) is not None and base.digest != head.digest
        }

    def require(self, path: str) -> str | None:
        """Return the file of the page at a path, which is going to be written; None without one."""
        if path in self._files:
            return self._files[path]
        routes = (route for route, pattern in _ROUTES.items() if pattern.match(unquote(path)))
        route = next(routes, None)
        if route is None or not self._has(route, path):
            if route in _KINDS and self._num_pages[route] >= self._limit:
                self._left_out[route].add(path)
            return None
        self._num_pages[route] += 1
        page = SitePage(path)
        self._files[path] = page.file
        self.waiting.append(page)
        name = unquote(path.rpartition("/")[2])
        if route in _KINDS:
            self._names.append((_KINDS[route], name, "", relative("", page.file)))
        return page.file

    def _has(self, route: str, path: str) -> bool:
        """Return whether the site can have a page, and has not reached the limit of its kind."""
        names = [unquote(part) for part in path.split("/")[1:]]
        if _ONLY_OF_A_SERVER.fullmatch(path):
            return False
        if path != "/" and not all(map(_can_be_file, names)):
            return False
        kind, subject = names[0], names[min(1, len(names) - 1)]
        if kind == "compare" and subject not in self._pairs:
            return False
        if kind == "r" and subject not in (self.newest if len(names) > 2 else self._refs):
            return False
        if route == "/r/{ref}/packages/{name}" and path not in self.details:
            return False  # a removed package, whose page leads to where it was
        return bool(_UNLIMITED.fullmatch(route)) or self._num_pages[route] < self._limit

    def address(self, path: str, query: Query) -> Address:
        """Return the address of the page that is being rendered, for its templates."""
        return SiteAddress(path, query, self)

    def link(self, path: str, query: str) -> str:
        """Return the link to a path and query, in the site or on the server; empty if neither."""
        path, page = self._with_refs(path), self.page
        is_here = bool(query) and path == page.path
        if is_here and (neighbour := self._neighbour(query.removeprefix("?"))):
            return neighbour
        file = None if is_here else self.require(path)  # without the filters of the query
        if file is None and (spec := _SPEC.fullmatch(path)):  # of an earlier revision
            file = self.require(f"/hash/{spec[1]}")
        if file is not None:
            return relative(page.file, file)
        return self.server_url and self.server_url + (path + query).removeprefix("/")

    def _neighbour(self, query: str) -> str:
        """Return the link to the previous or next page of the list; empty for other pages."""
        page, names = self.page, parse_qs(query).keys()
        if query == page.query:
            return relative(page.file, page.file)
        if names == {"after"} and page.number < MAX_PAGES:
            following = SitePage(page.path, page.number + 1, query)
            if following not in self.waiting:
                self.waiting.appendleft(following)
            return relative(page.file, following.file)
        if names == {"before"} and page.number > 1:
            return relative(page.file, SitePage(page.path, page.number - 1).file)
        return ""

    def _with_refs(self, path: str) -> str:
        kind, *names = path.removeprefix("/").split("/")
        if kind not in ("r", "compare") or not names or not names[0]:
            return path
        texts = unquote(names[0]).split("...") if kind == "compare" else [unquote(names[0])]
        try:
            refs = [self.history.resolve(text).ref for text in texts]
        except CachelogError:
            return path
        return "/".join([path_of(kind, "...".join(refs)), *names[1:]])

    def index(self) -> bytes:
        """Return the index of names as a script: the kind, name, detail and file of each.

        It also has a sentence about the names that the limit leaves out.
        """
        tags = {
            revision.tag: SitePage(path_of("r", revision.ref)).file
            for several in self.revisions.values()
            for revision in reversed(several)
        }
        of_tags = (("revision", tag, "", relative("", file)) for tag, file in tags.items())
        counts = [counted(len(it), _KINDS[kind]) for kind, it in self._left_out.items() if it]
        left_out = f"This site leaves out {' and '.join(counts)}." if counts else ""
        names = orjson.dumps([*self._names, *of_tags]).decode()
        script = f"globalThis.searchIndex = {names};\nglobalThis.searchLeftOut = "
        return f"{script}{orjson.dumps(left_out).decode()};\n".encode()


class SiteAddress(Address):
    """The address of a page of a site; its links lead to files or a server, or are empty."""

    is_live = False
    search_index = INDEX_FILE

    def __init__(self, path: str, query: Query, site: Site) -> None:
        super().__init__(path, query)
        folder = posixpath.dirname(site.page.file) or "."
        self.root = f"{posixpath.relpath('.', folder)}/"
        self.has_server = bool(site.server_url)
        self._site = site

    def absolute(self, _link: str, _public_url: str) -> str:
        """Return the absolute URL of the page; empty if the URL of the site is unknown."""
        base_url = self._site.base_url
        return base_url and base_url + quote(
            self._site.page.file.removesuffix("index.html"), safe="/@~:"
        )

    def _link(self, path: str, query: str, *, is_here: bool = False) -> str:  # noqa: ARG002
        return self._site.link(path, query)


def relative(file: str, other: str) -> str:
    """Return the link from one file of a site to another."""
    return quote(posixpath.relpath(other, posixpath.dirname(file) or "."), safe="/@~")


def feed_file(series: str) -> str:
    """Return the path of a series' feed in a site."""
    return f"{FEEDS}/{series}{SUFFIX}"


def _can_be_file(name: str) -> bool:
    """Return whether a name is a valid file name: sources choose names of stacks."""
    is_short = 0 < len(name.encode()) <= _MAX_NAME_LENGTH
    return is_short and bool(name.strip(".")) and name.isprintable() and "/" not in name


def _packages(library: Library, revisions: Iterable[RevisionInfo]) -> Iterator[tuple[str, str]]:
    """Yield the packages of revisions with their refs: those most looked for come first.

    These are the ones with most specs, their own and those that link to them or run them. Contents
    that cannot be read have none.
    """
    ranked: list[tuple[int, str, str]] = []
    for revision in revisions:
        with suppress(CatalogError):
            frame = library.frames.get(revision.digest)
            graph = library.dependencies.get(revision.digest)
            is_used = graph.types & (DependencyType.LINK | DependencyType.RUN) != 0
            users = np.bincount(graph.targets[is_used], minlength=graph.num_nodes)[: len(frame)]
            ranks = np.bincount(frame.package.codes, users + 1, len(frame.package.values))
            ranked += [
                (-int(ranks[code]), frame.package.values[code], revision.ref)
                for code in np.flatnonzero(ranks).tolist()
            ]
    for _, name, ref in sorted(ranked):
        yield name, ref


@asynccontextmanager
async def _server_of(settings: Settings, site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """Run a server with the usual limits and without other clients, with the links of a site."""
    app = create_app(
        msgspec.structs.replace(
            settings,
            public_url="",
            introspection=False,
            metrics=False,
            access_log=False,
            cors_origins=(),
            refresh=_PATIENCE,
        ),
        site.address,
        patience=_PATIENCE,
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


class Written(msgspec.Struct):
    """The outcome of an export: how many files differed, and a line for each page that failed."""

    num_files: int = 0
    faults: list[str] = []


async def export(
    site: Site, library: Library, settings: Settings, folder: Path, progress: Progress
) -> Written:
    """Write the files of a site that are missing or differ.

    Raises InvalidArgument for a folder with files that are not those of a site, and OutputError if
    it cannot be written.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX_FILE).exists():
        raise InvalidArgument("FOLDER", f"{folder} has files, and no {INDEX_FILE} of a site")
    written, done = Written(), 0

    def put(file: str, body: bytes) -> None:
        written.num_files += write(folder / file, body)

    if not (folder / INDEX_FILE).exists():  # the folder is a site, even if the export fails
        write(folder / INDEX_FILE, b"")
    site.require("/")
    packages = [*_packages(library, site.newest.values())]
    site.details = {path_of("r", ref, "packages", name) for name, ref in packages}
    for name, ref in packages:
        site.require(path_of("packages", name))
        site.require(path_of("r", ref, "packages", name))
    addresses = FeedAddresses(
        f"{site.base_url}{FEEDS}/" if site.base_url else "", "../", has_pages=False
    )
    for series in site.revisions:
        changes = library.history_queries.main_changes(site.history, series)
        feed = series_document(library, site.history, series, addresses, changes)
        put(feed_file(series), feed)
    async with _server_of(settings, site) as server:
        for name in assets().values():
            put(urlsplit(name).path, (await server.get(f"/{name}")).content)
        while site.waiting:
            site.page = page = site.waiting.popleft()
            url = f"{page.path}?{page.query}" if page.query else page.path
            response = await server.get(url)
            if response.status_code == httpx.codes.OK:
                put(page.file, response.content)
            else:
                written.faults.append(f"{url}: status {response.status_code}")
            done += 1
            progress("pages", done, done + len(site.waiting))
    put(INDEX_FILE, site.index())
    return written

"""Links of a site: the files of its pages, and the links between them."""

import posixpath
from collections.abc import Mapping
from urllib.parse import parse_qs, quote, unquote

import msgspec

from server.pages.addresses import Address, Query, path_of
from server.site.entries import INDEX_FILE
from snapshots.errors import CachelogError
from snapshots.history import History

MAX_PAGES = 40
"""Maximum number of pages of a list in a site: 2,000 rows."""


class SitePage(msgspec.Struct, frozen=True):
    """A page of a site: the address of the first page of its list, and its number in the list.

    On a server, its URL is the address with ``query``, which is empty for the first page.
    """

    address: str
    number: int = 1
    query: str = ""

    @property
    def file(self) -> str:
        """Its path in the site."""
        return page_file(self.address, self.number)


class SiteLinks:
    """The files of a site by their addresses on a server, and the links to them.

    ``history`` resolves refs in an address, as on a server. Links to pages that the site lacks lead
    to ``server_url``, if there is one. ``base_url`` is the future URL of the site, if it is known.
    Both end with a slash, or are empty.

    One ``page`` at a time is rendered. ``targets`` are the addresses that it links to, and whether
    the site has them. ``next`` is the address of the next page of its list, if any.
    """

    def __init__(self, history: History, *, base_url: str = "", server_url: str = "") -> None:
        self.base_url, self.server_url = base_url, server_url
        self._history = history
        self._files: dict[str, str] = {}
        self.begin(SitePage("/"))

    def begin(self, page: SitePage) -> None:
        """Start to collect the links of another page."""
        self.page, self.next = page, ""
        self.targets: dict[str, bool] = {}

    def add(self, address: str, file: str) -> None:
        """Set the file of an address."""
        self._files[address] = file

    def still_lead(self, targets: Mapping[str, bool]) -> bool:
        """Return whether the site has the same targets of a page as when the page was written."""
        return all((target in self._files) is had for target, had in targets.items())

    def address(self, path: str, query: Query) -> Address:
        """Return the address of the page, for its templates."""
        return SiteAddress(path, query, self)

    def link(self, path: str, query: str) -> str:
        """Return the link to a path and query, in the site or on the server; empty if neither."""
        path = self._with_refs(path)
        if path == self.page.address and query and (neighbour := self._neighbour(path, query)):
            return neighbour
        target = path + query
        file = self._files.get(target)
        if file is None and query and path != self.page.address and path in self._files:
            target, file = path, self._files[path]  # the same page without filters
        self.targets[target] = file is not None
        if file is not None:
            return relative(self.page.file, file)
        return self.server_url and self.server_url + target.removeprefix("/")

    def _neighbour(self, path: str, query: str) -> str:
        """Return the link to the previous or next page of the list; empty for other pages."""
        page = self.page
        number, names = page.number, parse_qs(query.removeprefix("?")).keys()
        if query.removeprefix("?") == page.query:
            return relative(page.file, page.file)
        if names == {"after"} and number < MAX_PAGES:
            self.next = path + query
            return relative(page.file, page_file(path, number + 1))
        if names == {"before"} and number > 1:
            return relative(page.file, page_file(path, number - 1))
        return ""

    def _with_refs(self, path: str) -> str:
        head, *rest = path.removeprefix("/").split("/")
        if head not in ("r", "compare") or not rest or not rest[0]:
            return path
        names = unquote(rest[0]).split("...") if head == "compare" else [unquote(rest[0])]
        try:
            refs = [self._history.resolve(name).ref for name in names]
        except CachelogError:
            return path
        return "/".join([path_of(head, "...".join(refs)), *rest[1:]])


class SiteAddress(Address):
    """The address of a page of a site; its links lead to files or a server, or are empty."""

    is_live = False
    search_index = INDEX_FILE

    def __init__(self, path: str, query: Query, links: SiteLinks) -> None:
        super().__init__(path, query)
        folder = posixpath.dirname(links.page.file) or "."
        self.root = f"{posixpath.relpath('.', folder)}/"
        self.has_server = bool(links.server_url)
        self._links = links

    def absolute(self, _link: str, _public_url: str) -> str:
        """Return the absolute URL of the page; empty if the URL of the site is unknown."""
        base_url = self._links.base_url
        return base_url and base_url + quote(
            self._links.page.file.removesuffix("index.html"), safe="/@~:"
        )

    def _link(self, path: str, query: str, *, is_here: bool = False) -> str:  # noqa: ARG002
        return self._links.link(path, query)


def relative(file: str, other: str) -> str:
    """Return the link from one file of a site to another."""
    return quote(posixpath.relpath(other, posixpath.dirname(file) or "."), safe="/@~")


def page_file(address: str, number: int = 1) -> str:
    """Return the file of a page of a list, from the address of the first page on a server."""
    folder = unquote(address).strip("/")
    if folder.endswith(".md"):
        return folder
    name = "index.html" if number == 1 else f"page-{number}.html"
    return f"{folder}/{name}" if folder else name

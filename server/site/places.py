"""Where the pages of a server are in a site, and where their links lead there."""

import posixpath
from urllib.parse import quote, unquote, urljoin, urlsplit

from snapshots.errors import CachelogError
from snapshots.history import History

_ORIGIN = "http://cachelog"
_STATIC = "/static/"

MAX_PAGES = 40
"""How many pages of a list a site has: 2,000 rows."""


class Places:
    """The files of a site by the addresses that a server has them at.

    Names of revisions in an address are read as a server reads them: ``history`` resolves them.
    What is not in the site is at ``server_url``, if there is one; it ends with a slash.
    """

    def __init__(self, history: History, server_url: str = "") -> None:
        self._history = history
        self._server_url = server_url
        self._files: dict[str, str] = {}

    @property
    def has_server(self) -> bool:
        """Whether there is a server, too."""
        return bool(self._server_url)

    def add(self, address: str, file: str) -> None:
        """Say where an address is in the site."""
        self._files[address] = file

    def has(self, address: str) -> bool:
        """Tell whether an address is in the site."""
        return address in self._files

    def target(self, address: str, link: str) -> str | None:
        """Return the address of a server that a link on a page leads to.

        With digests for all revisions. None for a link that leads elsewhere, or within the page.
        """
        if link.startswith("#"):
            return None
        parts = urlsplit(urljoin(_ORIGIN + address, link))
        if f"{parts.scheme}://{parts.netloc}" != _ORIGIN:
            return None
        query = f"?{parts.query}" if parts.query else ""
        return self._with_digests(parts.path) + query

    def link(self, file: str, target: str) -> str | None:
        """Return the link from a file to what a server has at an address; None without any."""
        if target.startswith(_STATIC):
            path, mark, query = target.removeprefix("/").partition("?")
            return relative(file, path) + mark + query
        if (found := self._files.get(target)) is not None:
            return relative(file, found)
        return self._server_url + target.removeprefix("/") if self._server_url else None

    def _with_digests(self, path: str) -> str:
        head, *rest = path.removeprefix("/").split("/")
        if head not in ("r", "compare") or not rest or not rest[0]:
            return path
        names = unquote(rest[0]).split("...") if head == "compare" else [unquote(rest[0])]
        try:
            digests = [self._history.resolve(name).digest for name in names]
        except CachelogError:
            return path
        return "/".join(["", head, "...".join(digests), *rest[1:]])


def relative(file: str, other: str) -> str:
    """Return the link from one file of a site to another."""
    return quote(posixpath.relpath(other, posixpath.dirname(file) or "."), safe="/@~")


def page_file(address: str, number: int = 1) -> str:
    """Return where a page of a list is, by the address of its first page on a server."""
    folder = unquote(address).strip("/")
    if folder.endswith(".md"):
        return folder
    name = "index.html" if number == 1 else f"page-{number}.html"
    return f"{folder}/{name}" if folder else name

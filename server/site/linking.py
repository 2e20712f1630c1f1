"""Pages of a server made pages of a site: with links that hold there, without what needs a server.

Whatever else a page says stays byte for byte what the server sends.
"""

from collections.abc import Sequence
from html import escape
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from server.site.places import MAX_PAGES, Places, page_file, relative

_LINKS = {"a": "href", "link": "href", "script": "src", "img": "src", "button": "data-copy-from"}
"""The attributes that are links, by the elements that have them."""

_OF_A_LINK = ("href", "rel", "download", "hreflang", "type")

Attributes = Sequence[tuple[str, str | None]]


class Linked(NamedTuple):
    """A page of a site.

    ``targets`` are the addresses that its links lead to on a server, and whether the site has them.
    ``next`` is that of the next page of its list, if there is one.
    """

    body: bytes
    targets: dict[str, bool]
    next: str | None


class Page(NamedTuple):
    """A page to be linked: the address of its list's first page, and which page of it this is.

    A server has it at the address with a ``query``, empty for the first.
    """

    address: str
    number: int = 1
    query: str = ""

    @property
    def file(self) -> str:
        """Where it is in the site."""
        return page_file(self.address, self.number)


def linked(body: bytes, page: Page, places: Places, base_url: str = "") -> Linked:
    """Return a page of a server as a page of a site, which is at ``base_url`` if that is known."""
    linker = _Linker(body.decode(), page, places, base_url)
    return Linked(linker.written().encode(), linker.targets, linker.next)


class _Linker(HTMLParser):
    """Collects what has to be changed in a page, each with its place in the text."""

    def __init__(self, text: str, page: Page, places: Places, base_url: str) -> None:
        super().__init__(convert_charrefs=False)
        self._text, self._page, self._places, self._base_url = text, page, places, base_url
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self._edits: list[tuple[int, int, str]] = []
        self._leaving: str | None = None
        self._left_at = 0
        self._is_menu = False
        self.targets: dict[str, bool] = {}
        self.next: str | None = None

    def written(self) -> str:
        """Return the page with all changes."""
        self.feed(self._text)
        self.close()
        parts, place = [], 0
        for start, end, instead in self._edits:
            parts += [self._text[place:start], instead]
            place = end
        return "".join([*parts, self._text[place:]])

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Look at an element as it begins."""
        if self._leaving is not None:
            return
        if tag == "nav" and ("aria-label", "Main") in attrs:
            self._is_menu = True
        if tag == "form" or ("data-for", "server") in attrs:
            self._leave(tag)  # it leads to what a server finds
            return
        kept = [(name, value) for name, value in attrs if not name.startswith("hx-")]
        found = self._relinked(tag, kept)
        if found is None:
            if tag == "a" and self._is_menu:
                self._leave(tag)
            else:
                self._edit("")
        elif list(found) != list(attrs):
            self._edit(_start_tag(tag, found))

    def handle_endtag(self, tag: str) -> None:
        """Look at an element as it ends."""
        if tag == "nav":
            self._is_menu = False
        if tag == self._leaving:
            self._leaving = None
            end = self._text.index(">", self._place) + 1
            self._edits.append((self._left_at, end, ""))

    def _relinked(self, tag: str, attrs: Attributes) -> Attributes | None:
        """Return an element's attributes as the site has them; None for one that is left out."""
        given = dict(attrs)
        if given.get("property") == "og:url":
            return self._canonical(attrs, "content")
        if tag == "link" and given.get("rel") == "canonical":
            return self._canonical(attrs, "href")
        name = _LINKS.get(tag)
        link = given.get(name) if name else None
        if link is None:
            return attrs
        target = self._places.target(self._page.address, link)
        if target is None:
            return attrs
        found = self._beside(target) or self._linked(target)
        if found is not None:
            fragment = urlsplit(link).fragment
            whole = f"{found}#{fragment}" if fragment else found
            return [(it, whole if it == name else value) for it, value in attrs]
        if tag == "a" and not self._is_menu:  # a link that leads nowhere, as HTML has it
            return [(it, value) for it, value in attrs if it not in _OF_A_LINK]
        return None

    def _linked(self, target: str) -> str | None:
        has_it = self._places.has(target)
        if not target.startswith("/static/"):
            self.targets[target] = has_it
        return self._places.link(self._page.file, target)

    def _beside(self, target: str) -> str | None:
        """Return the link to the page of the list before or after this one."""
        path, _, query = target.partition("?")
        if path != self._page.address or not query:
            return None
        if query == self._page.query:
            return relative(self._page.file, self._page.file)
        names, number = set(parse_qs(query)), self._page.number
        if names == {"after"} and number < MAX_PAGES:
            self.next = target
            return relative(self._page.file, page_file(path, number + 1))
        if names == {"before"} and number > 1:
            return relative(self._page.file, page_file(path, number - 1))
        return None

    def _canonical(self, attrs: Attributes, name: str) -> Attributes | None:
        """Return the tag that says where a page is for good; None where nobody knows."""
        if not self._base_url:
            return None
        folder = self._page.file.removesuffix("index.html")
        return [(it, self._base_url + folder if it == name else value) for it, value in attrs]

    @property
    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _leave(self, tag: str) -> None:
        self._leaving, self._left_at = tag, self._place

    def _edit(self, instead: str) -> None:
        start = self._place
        self._edits.append((start, start + len(self.get_starttag_text() or ""), instead))


def _start_tag(tag: str, attrs: Attributes) -> str:
    written = (name if value is None else f'{name}="{escape(value)}"' for name, value in attrs)
    return f"<{' '.join([tag, *written])}>"

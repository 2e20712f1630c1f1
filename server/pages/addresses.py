"""URLs of pages: the routes, the parameters of a request's URL, and links to other pages.

All links are relative, so that they work behind any proxy and below any prefix.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

from starlette.routing import Match, Route
from starlette.types import Scope

from server.asgi.errors import BadRequest

MAX_LEVELS = 50
"""Maximum number of levels that a relative link goes up; no page is deeper than this."""

_STRIPPED = " \t\r\n/"
"""Characters stripped from a name in a form: Spack, for example, writes a hash after a slash."""

Query = Mapping[str, Iterable[str]]


class Address:
    """The URL of a page: its path, and the parameters of its query that the page uses."""

    is_live, has_server = True, True
    """Whether a server answers the forms of the page, and whether there is any server."""

    search_index = ""
    """Without a server, the file that the search box uses, relative to the root; else empty."""

    def __init__(self, path: str, query: Query) -> None:
        self.path = path
        self.query = {name: list(values) for name, values in query.items()}
        # The browser's form of the path counts: an escaped slash within a name is no separator.
        self.root = "../" * min(path.count("/") - 1, MAX_LEVELS) or "./"

    def to(self, *names: str, **parameters: Any) -> str:
        """Return the link to another page, from the names in its path and its query parameters."""
        return self._link(path_of(*names), query_string(parameters))

    def same_at(self, *names: str, **changes: Any) -> str:
        """Return the link to another path for this view, for example with other refs.

        The query parameters are retained, except for the changes.
        """
        return self.to(*names, **(self.query | changes))

    def here(self, **changes: Any) -> str:
        """Return the link to this page with some parameters changed; None removes one.

        The cursor of a list is dropped, because any other change starts the list again.
        """
        query = {
            name: values for name, values in self.query.items() if name not in ("after", "before")
        }
        return self._link(self.path, query_string(query | changes), is_here=True)

    def absolute(self, link: str, public_url: str) -> str:
        """Return an absolute URL for a link of this page; the link itself without a public URL."""
        return public_url + link.removeprefix(self.root) if public_url else link

    def _link(self, path: str, query: str, *, is_here: bool = False) -> str:
        """Return the link to a path and a query; ``is_here`` means that it is this page's path."""
        return query or "?" if is_here else self.root + path.removeprefix("/") + query

    def without(self, name: str, value: str) -> str:
        """Return the link to this page with one value of a parameter removed."""
        return self.here(**{name: [other for other in self.query.get(name, ()) if other != value]})

    def having(self, name: str, value: str) -> str:
        """Return the link to this page with a value of a parameter added."""
        return self.here(**{name: [*self.query.get(name, ()), value]})

    def has(self, name: str, value: str | None = None) -> bool:
        """Return whether the query has a parameter, or has it with this value."""
        values = self.query.get(name, ())
        return bool(values) if value is None else value in values

    def one(self, name: str) -> str:
        """Return the last value of a parameter; an empty string if there is none."""
        values = self.query.get(name)
        return values[-1] if values else ""


def query_string(parameters: Mapping[str, Any]) -> str:
    """Return a query string with its question mark; an empty string without any values."""
    pairs = []
    for name, value in parameters.items():
        values = [value] if isinstance(value, str | int) else value or ()
        pairs += [(name, single) for single in values]
    return f"?{urlencode(pairs)}" if pairs else ""


def path_of(*names: str) -> str:
    """Return the path of a page that consists of these names."""
    return "/" + "/".join(quote(name, safe="@~:") for name in names)


def path_filled(pattern: str, parameters: Mapping[str, Sequence[str]]) -> str | None:
    """Return a pattern, such as ``/hash/{hash}``, with its names replaced by parameters.

    Of several values of a parameter, the last one is used. Returns None if a value is missing.
    """
    values = {
        name: text
        for name, texts in parameters.items()
        if texts and (text := texts[-1].strip(_STRIPPED))
    }
    try:
        return path_of(*(part.format_map(values) for part in pattern.removeprefix("/").split("/")))
    except KeyError:
        return None


_MAX_LENGTH, _MAX_FIELDS = 8_192, 200
"""Maximum number of bytes of a path and of a query, and maximum number of parameters."""


def raw_path(scope: Scope) -> str:
    """Return the unescaped path of a request; for a target such as ``*``, a path of no page."""
    raw: bytes | None = scope.get("raw_path")
    path: str = scope["path"] if raw is None else raw.decode("latin-1")
    return path if path.startswith("/") else f"/{path}"


def bare_address(scope: Scope) -> Address:
    """Return the address of a request without its query."""
    return Address(raw_path(scope), {})


def without_slash(scope: Scope) -> str | None:
    """Return the link to the same URL without its trailing slash; None if it has none."""
    path = raw_path(scope)
    if path == "/" or not path.endswith("/"):
        return None
    query = scope["query_string"].decode("latin-1")
    return f"../{path[:-1].rpartition('/')[2]}" + (f"?{query}" if query else "")


def given(scope: Scope) -> dict[str, list[str]]:
    """Return the parameters in a request's query and path; those in the path take precedence.

    Raises BadRequest if either is longer than in any link of a page.
    """
    query: bytes = scope["query_string"]
    for what, length in (("path", len(raw_path(scope))), ("query", len(query))):
        if length > _MAX_LENGTH:
            message = f"the {what} of the URL has more than {_MAX_LENGTH} bytes"
            raise BadRequest(message, status=414, code="URI_TOO_LONG")
    try:
        parameters = parse_qs(query.decode("latin-1"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise BadRequest(f"the URL has more than {_MAX_FIELDS} parameters") from None
    return parameters | {name: [value] for name, value in scope["path_params"].items()}


_ESCAPED_SLASH = re.compile("%2f", re.IGNORECASE)
_PLACEHOLDER = "\ud800"
"""A lone surrogate, which does not occur in valid UTF-8."""

_UNESCAPED = "cachelog.unescaped_path"
"""Key in the scope of a request: its path, in which ``_PLACEHOLDER`` stands for escaped slashes."""


class PageRoute(Route):
    """A route in which an escaped slash is part of a name.

    Servers unescape the entire path of a scope, so the raw path is matched instead. A trailing
    slash is ignored: the page's endpoint redirects to the URL without it.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route matches a request, and the names in its path for the scope."""
        if scope["type"] != "http":
            return Match.NONE, {}
        path: str | None = scope.get(_UNESCAPED)
        if path is None:  # the first of many routes
            path = unquote(_ESCAPED_SLASH.sub(_PLACEHOLDER, raw_path(scope))).removesuffix("/")
            scope[_UNESCAPED] = path = path or "/"
        match = self.path_regex.match(path)
        if match is None:
            return Match.NONE, {}
        names = {key: text.replace(_PLACEHOLDER, "/") for key, text in match.groupdict().items()}
        return Match.FULL, {"endpoint": self.endpoint, "path_params": names}

"""Addresses of pages: the routes, what a request's address says, and links to other pages.

All links are relative, so that they hold behind every proxy and below every prefix.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

from starlette.routing import Match, Route
from starlette.types import Scope

from server.asgi.errors import BadRequest

_DEEPEST = 50
"""How many slashes of a path links go back: no page's has more, but anybody's may."""

_NAME = re.compile(r"\{(\w+)\}")
_AROUND = " \t\r\n/"
"""What people paste around a name: Spack writes a hash with a slash before it."""

Query = Mapping[str, Iterable[str]]


class Address:
    """Where a page is: its path, and the parameters of its query that count."""

    is_live, has_server = True, True
    """Whether a server answers the forms of the page, and whether there is one at all."""

    search_index = ""
    """The file, from the root on, that the search box looks into where no server does."""

    def __init__(self, path: str, query: Query) -> None:
        self.path = path
        self.query = {name: list(values) for name, values in query.items()}
        # Of the path as the browser has it: a slash within a name is not one that parts names.
        self.root = "../" * min(path.count("/") - 1, _DEEPEST) or "./"

    def to(self, *names: str, **parameters: Any) -> str:
        """Return the link to another page: the names of its path, and what its query says."""
        return self._link(path_of(*names), query_string(parameters))

    def same_at(self, *names: str, **changes: Any) -> str:
        """Return the link to what this page shows at another path: its digests, say.

        All that the address says is kept but for the changes.
        """
        return self.to(*names, **(self.query | changes))

    def here(self, **changes: Any) -> str:
        """Return the link to this page with some parameters changed; None takes one away.

        A page within a list belongs to the list as it was: it begins anew where anything else
        changes.
        """
        kept = {
            name: values for name, values in self.query.items() if name not in ("after", "before")
        }
        return self._link(self.path, query_string(kept | changes), is_here=True)

    def absolute(self, link: str, public_url: str) -> str:
        """Return a link of this page as one that holds anywhere, if the URL is known."""
        return public_url + link.removeprefix(self.root) if public_url else link

    def _link(self, path: str, query: str, *, is_here: bool = False) -> str:
        """Return the link to a path and a query; with ``is_here`` it is this page's own path."""
        return query or "?" if is_here else self.root + path.removeprefix("/") + query

    def without(self, name: str, value: str) -> str:
        """Return the link to this page without one of the values of a parameter."""
        return self.here(**{name: [other for other in self.query.get(name, ()) if other != value]})

    def having(self, name: str, value: str) -> str:
        """Return the link to this page with one more value of a parameter."""
        return self.here(**{name: [*self.query.get(name, ()), value]})

    def has(self, name: str, value: str | None = None) -> bool:
        """Tell whether the address gives a parameter, or gives it this value."""
        values = self.query.get(name, ())
        return bool(values) if value is None else value in values

    def one(self, name: str) -> str:
        """Return what the address gives a parameter last; an empty text where it does not."""
        values = self.query.get(name)
        return values[-1] if values else ""


def query_string(parameters: Mapping[str, Any]) -> str:
    """Return a query with its question mark; nothing for parameters that say nothing."""
    pairs = []
    for name, value in parameters.items():
        values = [value] if isinstance(value, str | int) else value or ()
        pairs += [(name, single) for single in values]
    return f"?{urlencode(pairs)}" if pairs else ""


def path_of(*names: str) -> str:
    """Return the path of a page from the names in it."""
    return "/" + "/".join(quote(name, safe="@~:") for name in names)


def path_filled(pattern: str, parameters: Mapping[str, Sequence[str]]) -> str | None:
    """Return the path that a pattern stands for, ``/hash/{hash}`` say; None where a name lacks.

    ``given`` is what an address gives, name by name; of several values the last counts.
    """
    names = _NAME.findall(pattern)
    values = {name: parameters[name][-1].strip(_AROUND) for name in names if parameters.get(name)}
    if len(values) < len(names) or not all(values.values()):
        return None
    parts = pattern.removeprefix("/").split("/")
    return path_of(*(_NAME.sub(lambda match: values[match[1]], part) for part in parts))


_MAX_PATH, _MAX_QUERY, _MAX_FIELDS = 8_192, 8_192, 200


def raw_path(scope: Scope) -> str:
    """Return the path of a request as it was sent; of one for ``*`` what is not a page's, too."""
    raw: bytes | None = scope.get("raw_path")
    path: str = scope["path"] if raw is None else raw.decode("latin-1")
    return path if path.startswith("/") else f"/{path}"


def bare_address(scope: Scope) -> Address:
    """Return where a request is for, without what its query says."""
    return Address(raw_path(scope), {})


def without_slash(scope: Scope) -> str | None:
    """Return the link that leads from an address to the one without the slash at its end.

    None for an address that has none too many.
    """
    path = raw_path(scope)
    if path == "/" or not path.endswith("/"):
        return None
    query = scope["query_string"].decode("latin-1")
    return f"../{path[:-1].rpartition('/')[2]}" + (f"?{query}" if query else "")


def given(scope: Scope) -> dict[str, list[str]]:
    """Return what an address gives: in its path and in its query, of which the path counts.

    Raises BadRequest where either is longer than any that pages make.
    """
    query: bytes = scope["query_string"]
    for what, length, most in (
        ("path", len(raw_path(scope)), _MAX_PATH),
        ("query", len(query), _MAX_QUERY),
    ):
        if length > most:
            raise BadRequest(
                f"the {what} of the address has more than {most} bytes",
                status=414,
                code="URI_TOO_LONG",
            )
    try:
        parameters = parse_qs(query.decode("latin-1"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise BadRequest(f"the address has more than {_MAX_FIELDS} parameters") from None
    return parameters | {name: [value] for name, value in scope["path_params"].items()}


_ESCAPED_SLASH = re.compile("%2f", re.IGNORECASE)
_STAND_IN = "\ud800"
"""A surrogate alone, which no text in UTF-8 has."""


class PageRoute(Route):
    """A route where a slash that is escaped belongs to a name, and does not end it.

    Servers unescape all of a path before they hand it on; this reads it as it was sent. A slash at
    the end is one too many: the page's endpoint leads to the address without it.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether the route is that of a request, with the names in its path."""
        if scope["type"] != "http":
            return super().matches(scope)
        path = unquote(_ESCAPED_SLASH.sub(_STAND_IN, raw_path(scope))).removesuffix("/") or "/"
        match, child = super().matches({**scope, "path": path})
        params: dict[str, Any] = child.get("path_params", {})
        names = {key: value.replace(_STAND_IN, "/") for key, value in params.items()}
        return match, {**child, "path_params": names} if child else child

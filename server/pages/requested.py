"""What a request for a page says: its path as it was sent, and its parameters."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from starlette.routing import Match, Route
from starlette.types import Scope

from server.asgi.errors import BadRequest

_MAX_PATH, _MAX_QUERY, _MAX_FIELDS = 4_096, 8_192, 200


class PageRoute(Route):
    """The route of a page, whose names are parted by the slashes that a browser sends as such.

    So a name may have a slash, which links write as ``%2F``. A slash at the end is one too many:
    the endpoint leads to the address without it.
    """

    def matches(self, scope: Scope) -> tuple[Match, Mapping[str, Any]]:  # type: ignore[override]
        """Tell whether a request is for the page, with the names in its path."""
        if scope["type"] != "http":
            return Match.NONE, {}
        path = raw_path(scope)
        found = self.path_regex.match(path.removesuffix("/") or "/")
        if not found:
            return Match.NONE, {}
        params = {name: unquote(text) for name, text in found.groupdict().items()}
        return Match.FULL, {"endpoint": self.endpoint, "path_params": params}


def raw_path(scope: Scope) -> str:
    """Return the path of a request as it was sent."""
    raw: bytes | None = scope.get("raw_path")
    return scope["path"] if raw is None else raw.decode("latin-1")


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

"""Routes of pages, whatever characters the names in an address have."""

import re
from typing import Any
from urllib.parse import unquote

from starlette.routing import Match, Route
from starlette.types import Scope

from server.pages.requested import raw_path

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
        match, found = super().matches({**scope, "path": path})
        params: dict[str, Any] = found.get("path_params", {})
        names = {key: it.replace(_STAND_IN, "/") for key, it in params.items()}
        return match, {**found, "path_params": names} if found else found

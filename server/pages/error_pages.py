"""Pages of errors: what was looked for, why it cannot be shown, and a way on."""

import re
from collections.abc import Mapping
from typing import Any

from schema.errors import bounded, incident
from server.asgi.errors import BadRequest
from server.pages.addresses import Address
from server.pages.asking import Answered
from server.pages.nearest import Nearest
from server.pages.rendering import Renderer
from server.pages.responses import NO_STORE, PageResponse
from snapshots.wording import quoted

_STATUS = {
    "REVISION_NOT_FOUND": 404,
    "AMBIGUOUS_REF": 404,
    "AMBIGUOUS_HASH": 404,
    "HISTORY_INCOMPLETE": 503,
    "CATALOG_UNAVAILABLE": 503,
    "INTERNAL_SERVER_ERROR": 500,
}
"""The status of a page whose subject is not there, by the code of the error; 400 for others."""

TITLES = {
    404: "Not found",
    405: "Not allowed",
    414: "Too long an address",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Not just now",
}
"""What the pages of errors are headed with."""

_FAILED = "That cannot be shown"
_SEVERAL = "More than one"
_AMBIGUOUS = ("AMBIGUOUS_REF", "AMBIGUOUS_HASH")
_NOTHING = "There is nothing under this address."
_VARIABLE = re.compile(r"Variable '\$(\w+)' ")
"""How GraphQL's messages begin about what a variable was given."""


class ErrorPages:
    """Makes the pages of errors. None of them is kept, here or by clients."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def missing(
        self, address: Address, subject: str, answered: Answered, nearest: Nearest
    ) -> PageResponse:
        """Return the page for an answer that lacks what the page is about."""
        error = answered.error_of(subject) or {"message": nearest.sentence}
        code = error.get("extensions", {}).get("code")
        error = {**error, "message": _in_words(error["message"], address)}
        status = _STATUS.get(code, 400) if code else 404
        return self._page(address, status, error, code or "NOT_FOUND", nearest)

    def refused(self, address: Address, error: BadRequest) -> PageResponse:
        """Return the page for a request that is not answered."""
        more = list(error.headers)
        shown = {"message": bounded(error.message), "extensions": {"code": error.code}}
        body = self._body(address, error.status, shown, Nearest())
        return PageResponse(error.status, body, NO_STORE, code=error.code, more=more)

    def failed(self, address: Address, error: Exception) -> PageResponse:
        """Return the page for an error that nobody expected: it says where the log tells more."""
        shown: Mapping[str, Any] = incident(error)
        return self._page(address, 500, shown, shown["extensions"]["code"], Nearest())

    def nowhere(self, address: Address) -> PageResponse:
        """Return the page for an address that no page has."""
        return self._page(address, 404, {"message": _NOTHING}, "NOT_FOUND", Nearest())

    def _page(
        self,
        address: Address,
        status: int,
        error: Mapping[str, Any],
        code: str,
        nearest: Nearest,
    ) -> PageResponse:
        body = self._body(address, status, error, nearest)
        return PageResponse(status, body, NO_STORE, code=code)

    def _body(
        self, address: Address, status: int, error: Mapping[str, Any], nearest: Nearest
    ) -> bytes:
        code = error.get("extensions", {}).get("code", "")
        title = _SEVERAL if code in _AMBIGUOUS else TITLES.get(status, _FAILED)
        return self._renderer.error(address, status, title, error, nearest)


def _in_words(message: str, address: Address) -> str:
    """Return a message without GraphQL's words for what stands in an address."""
    if (found := _VARIABLE.match(message)) is None:
        return message
    name = found[1]
    given = " and ".join(address.query.get(name, ()))
    if not given:
        return f"The address does not say {name}"
    return f"{name} cannot be {quoted(given)}"

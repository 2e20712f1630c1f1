"""Pages of errors: what was looked for, why it cannot be shown, and a way on."""

from collections.abc import Mapping
from typing import Any

from schema.errors import bounded, incident
from server.asgi.errors import BadRequest
from server.pages.addresses import Address
from server.pages.asking import Answered
from server.pages.nearest import Nearest
from server.pages.rendering import Renderer
from server.pages.responses import NO_STORE, PageResponse

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
_NOTHING = "There is nothing under this address."


class Troubles:
    """Makes the pages of errors. None of them is kept, here or by clients."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def missing(self, address: Address, answered: Answered, nearest: Nearest) -> PageResponse:
        """Return the page for an answer that lacks what the page is about."""
        error: Mapping[str, Any]
        error = answered.errors[0] if answered.errors else {"message": nearest.sentence}
        code = error.get("extensions", {}).get("code")
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
        title = TITLES.get(status, _FAILED)
        return self._renderer.error(address, status, title, error, nearest)

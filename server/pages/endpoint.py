"""Sends pages: asked, rendered and kept as the API's answers are."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import orjson
from starlette.types import Receive, Scope, Send

from schema.errors import bounded
from server.asgi.allowances import Allowances
from server.asgi.cache import CacheKey, ResponseCache
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE
from server.asgi.hang_ups import GONE, unless_gone
from server.asgi.lanes import Lanes
from server.asgi.responses import Headers, Response
from server.asgi.sending import REVALIDATE, send_head, send_response
from server.pages.addresses import Address
from server.pages.asking import Answered, Asker
from server.pages.page import Page
from server.pages.rendering import Renderer
from server.pages.shortcuts import filled
from snapshots.catalog.catalog import Catalog

_HTML = b"text/html; charset=utf-8"
_PERMANENT = b"public, max-age=604800, immutable"
"""For a week: what a page says stays true for ever, how it looks is a later version's to change."""

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'"
)
_HEADERS: Headers = [(b"content-security-policy", POLICY)]

_ALLOW = b"GET, HEAD"
_MAX_QUERY, _MAX_FIELDS = 8_192, 200

_STATUS = {
    "REVISION_NOT_FOUND": 404,
    "AMBIGUOUS_REF": 404,
    "AMBIGUOUS_HASH": 404,
    "HISTORY_INCOMPLETE": 503,
    "CATALOG_UNAVAILABLE": 503,
    "INTERNAL_SERVER_ERROR": 500,
}
"""The status of a page whose subject is not there, by the code of the error; 400 for others."""

_NOT_THERE: Mapping[str, Any] = {"message": "There is nothing under this address."}


class PageContext:
    """What all pages have in common.

    Pages are kept among the other ``responses``.
    """

    def __init__(
        self,
        catalog: Catalog,
        asker: Asker,
        renderer: Renderer,
        responses: ResponseCache,
        lanes: Lanes,
        allowances: Allowances,
    ) -> None:
        self.catalog = catalog
        self.asker = asker
        self.renderer = renderer
        self.responses = responses
        self.lanes = lanes
        self.allowances = allowances


class PageEndpoint:
    """Answers GET and HEAD with one page."""

    def __init__(self, page: Page, context: PageContext) -> None:
        self._page = page
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        extra: Headers = []
        try:
            response = await self._respond(scope, receive)
            if response is None:
                await send_head(send, GONE, [])  # for the log: nobody receives it
                return
        except BadRequest as error:
            scope[CODE] = error.code
            extra = list(error.headers)
            response = self._refused(Address(raw_path(scope), {}), error)
        compressing = self._context.lanes.compressing
        await send_response(response, scope, headers, send, extra, compressing=compressing)

    async def _respond(self, scope: Scope, receive: Receive) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            raise BadRequest(
                f"{scope['method']} is not allowed: use GET",
                status=405,
                code="METHOD_NOT_ALLOWED",
                headers=((b"allow", _ALLOW),),
            )
        if self._context.allowances.is_limited:
            self._context.allowances.count_request(scope)
        asked = given(scope)
        if self._page.leads_to and (path := filled(self._page.leads_to, asked)):
            return _see_other(Address(raw_path(scope), {}).root + path.removeprefix("/"))
        known = self._page.document.known(asked)
        keys = self._keys(scope, known)
        for key in keys:
            if (kept := self._context.responses.get(key)) is not None:
                self._context.responses.num_hits += 1
                return kept
        return await unless_gone(receive, self._make(scope, known, keys))

    def _keys(self, scope: Scope, known: Mapping[str, Any]) -> tuple[CacheKey, CacheKey]:
        """Return the key that a page is kept under for ever, and the one for this moment."""
        permanent = CacheKey(
            f"{self._page.template_name} {raw_path(scope)}",
            orjson.dumps(known),
            None,
            "text/html",
            None,
        )
        return permanent, permanent._replace(generation=self._context.catalog.state)

    async def _make(
        self, scope: Scope, known: Mapping[str, list[str]], keys: tuple[CacheKey, CacheKey]
    ) -> Response:
        page = self._page
        variables = page.document.variables(known)
        answered = await self._context.asker.ask(page.document, variables, scope)
        instead = {name: it for name, it in page.instead.items() if name not in known}
        if instead and not page.has_subject(answered.data):
            variables |= instead
            answered = await self._context.asker.ask(page.document, variables, scope)
        params = scope["path_params"]
        query = {name: it for name, it in known.items() if name not in params}
        address = Address(raw_path(scope), query)
        if not page.has_subject(answered.data):
            return self._missing(scope, address, answered)
        body = await self._context.lanes.light.run(
            lambda: self._context.renderer.page(
                page,
                address,
                answered.data,
                params=params,
                variables=variables,
                errors=answered.errors,
            )
        )
        cache_control = _PERMANENT if answered.is_permanent and answered.is_good else REVALIDATE
        response = Response(200, body, page.media_type, cache_control, more=_HEADERS)
        if answered.is_good:
            self._context.responses.put(keys[0 if answered.is_permanent else 1], response)
        return response

    def _missing(self, scope: Scope, address: Address, answered: Answered) -> Response:
        """Return the page for an answer that lacks what the page is about."""
        error: Mapping[str, Any] = answered.errors[0] if answered.errors else _NOT_THERE
        code = error.get("extensions", {}).get("code")
        status = _STATUS.get(code, 400) if code else 404
        scope[CODE] = code or "NOT_FOUND"
        return self._error(address, status, error)

    def _refused(self, address: Address, error: BadRequest) -> Response:
        shown = {"message": bounded(error.message), "extensions": {"code": error.code}}
        return self._error(address, error.status, shown)

    def _error(self, address: Address, status: int, error: Mapping[str, Any]) -> Response:
        body = self._context.renderer.error(address, status, TITLES.get(status, _FAILED), error)
        return Response(status, body, _HTML, b"no-store", more=_HEADERS)


_FAILED = "That cannot be shown"
TITLES = {
    404: "Not found",
    405: "Not allowed",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Not just now",
}
"""What the pages of errors are headed with."""


def _see_other(link: str) -> Response:
    """Return what leads a browser from a form to the address that it asks for."""
    return Response(303, b"", _HTML, REVALIDATE, more=[(b"location", link.encode()), *_HEADERS])


def raw_path(scope: Scope) -> str:
    """Return the path of a request as it was sent."""
    raw: bytes | None = scope.get("raw_path")
    return scope["path"] if raw is None else raw.decode("latin-1")


def given(scope: Scope) -> dict[str, list[str]]:
    """Return what an address gives: in its path and in its query, of which the path counts.

    Raises BadRequest where the query is longer than any that pages make.
    """
    query: bytes = scope["query_string"]
    if len(query) > _MAX_QUERY:
        raise BadRequest(f"the query of the address has more than {_MAX_QUERY} bytes", status=414)
    try:
        parameters = parse_qs(query.decode("latin-1"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise BadRequest(f"the address has more than {_MAX_FIELDS} parameters") from None
    return parameters | {name: [value] for name, value in scope["path_params"].items()}

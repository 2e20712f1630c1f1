"""Endpoints of pages, which are executed, rendered and cached like responses of the API."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from server.asgi.errors import EXPLAINING, BadRequest, Disconnected
from server.asgi.exchanges import CODE, unless_disconnected
from server.asgi.responses import (
    REVALIDATE,
    CacheKey,
    Response,
    ResponseSender,
    prefers,
)
from server.asgi.single_flight import SingleFlight
from server.pages import error_pages
from server.pages.addresses import Address, Query, given, path_filled, raw_path, without_slash
from server.pages.documents import DocumentAnswer, DocumentRunner, document
from server.pages.exports import CSV, CSV_TYPE, PARAMETER, Export, export, file_name, table_of
from server.pages.renderer import NO_STORE, PageResponse, Renderer, redirect_to
from server.pages.routes import COMPARISON, UNEXPLAINED, Page
from snapshots.catalog.catalog import Catalog

_PERMANENT = b"public, max-age=604800, immutable"
"""Cache-Control of permanent pages: a week, because later versions may change their layout."""

_ALLOW = b"GET, HEAD"
_TEXT = b"text/plain; charset=utf-8"


class PageContext(msgspec.Struct, frozen=True, eq=False):
    """The state that all page endpoints share.

    Pages are cached with other responses, by the ``sender``. Concurrent requests for a page that is
    not cached share one computation in ``makings``.
    """

    catalog: Catalog
    runner: DocumentRunner
    renderer: Renderer
    sender: ResponseSender
    addresses: Callable[[str, Query], Address] = Address
    makings: SingleFlight[PageResponse] = msgspec.field(
        default_factory=lambda: SingleFlight("page", seconds=10.0)
    )

    async def answer(
        self,
        making: Awaitable[Response],
        scope: Scope,
        send: Send,
    ) -> None:
        """Send the result of ``making``, or an error page if it raises an error."""
        try:
            response = await making
        except Disconnected:
            raise
        except BadRequest as refusal:
            response = await self._refused(scope, refusal)
        except Exception as error:  # noqa: BLE001  # the page has the id that is in the log
            failed = partial(error_pages.failed, self.renderer, scope, error)
            response = await self._error_page(scope, failed)
        await self._send(response, scope, send)

    async def nowhere(self, request: Request, error: Exception) -> Any:
        """Return the response for an unknown URL: a page for browsers, else a line of text."""
        is_page = request.method in ("GET", "HEAD")
        if not is_page or not prefers(request.headers.get("accept", ""), "text/html"):
            # A cache must not serve one client's media type to another.
            headers = {"vary": "accept", "cache-control": NO_STORE.decode()}
            return PlainTextResponse(str(getattr(error, "detail", error)), 404, headers)

        async def page() -> Response:
            raise BadRequest(error_pages.NOWHERE, status=404)

        async def send_page(scope: Scope, _receive: Receive, send: Send) -> None:
            await self.answer(page(), scope, send)

        return send_page

    async def _send(self, response: Response, scope: Scope, send: Send) -> None:
        """Send a page, or an error page if too many large responses are being sent."""
        if isinstance(response, PageResponse) and response.code:
            scope[CODE] = response.code
        try:
            await self.sender.send(response, scope, send)
        except BadRequest as refusal:
            await self.sender.send(await self._refused(scope, refusal), scope, send)

    async def _refused(self, scope: Scope, refusal: BadRequest) -> Response:
        """Return the response to a refused request: if the server is overloaded, only a text."""
        scope[CODE] = refusal.code
        if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
            return _text(refusal)
        refused = partial(error_pages.refused, self.renderer, scope, refusal)
        return await self._error_page(scope, refused)

    async def _error_page(self, scope: Scope, make: Callable[[], PageResponse]) -> Response:
        """Return an error page, which takes milliseconds to render; a text if no thread is free."""
        try:
            return await self.runner.lanes.light.run(make)
        except BadRequest as refusal:
            scope[CODE] = refusal.code
            return _text(refusal)


def _text(refusal: BadRequest) -> Response:
    more = [*refusal.headers]
    return Response(refusal.status, f"{refusal.message}\n".encode(), _TEXT, NO_STORE, more=more)


def _is_partial(scope: Scope) -> bool:
    """Return whether a script asks for a part of a page, such as results while somebody types."""
    return any(name == b"hx-request" for name, _ in scope["headers"])


class PageEndpoint(msgspec.Struct, frozen=True, eq=False):
    """Serves one page by GET and HEAD."""

    page: Page
    context: PageContext

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.context.answer(self._respond(scope, receive), scope, send)

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        context = self.context
        if scope["method"] not in ("GET", "HEAD"):
            raise BadRequest(
                f"{scope['method']} is not allowed: use GET",
                status=405,
                code="METHOD_NOT_ALLOWED",
                headers=((b"allow", _ALLOW),),
            )
        url_parameters = given(scope)
        if (link := without_slash(scope)) is not None:
            return redirect_to(link, status=308)
        if self.page.leads_to and (path := path_filled(self.page.leads_to, url_parameters)):
            return redirect_to(Address(raw_path(scope), {}).root + path.removeprefix("/"))
        parameters = self.page.document.known(url_parameters)
        if PARAMETER in url_parameters:
            if url_parameters[PARAMETER][-1] != CSV:
                raise BadRequest(f"{PARAMETER} must be {CSV}")
            return await unless_disconnected(receive, self._export(scope, parameters))
        is_decided = [*url_parameters] == ["q"] and not _is_partial(scope)
        decision = self.page.decision if is_decided else ""
        keys = self._keys(scope, parameters, decision)
        if (cached := self._cached(keys)) is not None:
            return cached
        if decision:
            variables = document(decision).variables(parameters)
            decided = await context.runner.run(document(decision).text, variables)
            if path := decided.data.get("destination"):
                leading = redirect_to(Address(raw_path(scope), {}).root + path.removeprefix("/"))
                context.sender.cache.put(keys[1], leading)
                return leading
        return await unless_disconnected(receive, self._made(scope, parameters, keys))

    def _keys(
        self, scope: Scope, parameters: Mapping[str, Any], decision: str
    ) -> tuple[CacheKey, CacheKey]:
        """Return the cache keys of a page: if permanent, and in the catalog's current state."""
        permanent = CacheKey(
            f"{self.page.template_name} {decision} {raw_path(scope)}",
            orjson.dumps(parameters),
            None,
            "text/html",
            None,
        )
        return permanent, permanent.at(self.context.catalog.state)

    def _cached(self, keys: tuple[CacheKey, CacheKey]) -> Response | None:
        """Return the cached page, if any."""
        responses = self.context.sender.cache
        for key in keys:
            if (cached := responses.get(key)) is not None:
                responses.num_hits += 1
                return cached
        return None

    async def _export(self, scope: Scope, parameters: Mapping[str, list[str]]) -> Response:
        """Return the export of the page's table, or an error page if there is none."""
        page = self.page
        if not page.table:
            raise BadRequest("this page has no table to export")
        table = table_of(page.document_name, page.table)
        exported = await export(table, page.document.variables(parameters), self.context.runner)
        if not isinstance(exported, Export):
            return await self._missing(scope, parameters, exported)
        name = file_name(table, {**scope["path_params"], **exported.pinned})
        disposition = b"content-disposition", f'attachment; filename="{name}"'.encode()
        return Response(200, exported.content, CSV_TYPE, REVALIDATE, more=[disposition])

    async def _missing(
        self, scope: Scope, parameters: Mapping[str, list[str]], answered: DocumentAnswer
    ) -> PageResponse:
        """Return the error page for an answer that lacks the page's subject."""
        page, context = self.page, self.context
        address = self._address(scope, parameters)
        nearest = await error_pages.nearest_to(page, address, answered, context.runner, scope)
        return await context.runner.lanes.light.run(
            lambda: error_pages.missing(context.renderer, address, page.subject, answered, nearest)
        )

    def _address(self, scope: Scope, parameters: Mapping[str, list[str]]) -> Address:
        params = scope["path_params"]
        others = {name: values for name, values in parameters.items() if name not in params}
        return self.context.addresses(raw_path(scope), others)

    async def _made(
        self, scope: Scope, parameters: Mapping[str, list[str]], keys: tuple[CacheKey, CacheKey]
    ) -> Response:
        """Return a page that is not cached; only the first of concurrent requests is charged."""
        page, context = self.page, self.context
        variables = page.document.variables(parameters)
        request = await context.runner.weighed(page.document.text, variables)
        if (cached := self._cached(keys)) is not None:  # another request has made it meanwhile
            return cached

        async def make() -> PageResponse:
            try:
                shown, values, answered = page, variables, await context.runner.answered(request)
            except BadRequest as refusal:
                if refusal.code != EXPLAINING or not page.path.startswith(COMPARISON):
                    raise
                shown = UNEXPLAINED
                values = shown.document.variables(shown.document.known(parameters))
                answered = await context.runner.run(shown.document.text, values)
            if not shown.has_subject(answered):
                return await self._missing(scope, parameters, answered)
            body = await context.runner.lanes.light.run(
                lambda: context.renderer.page(
                    shown,
                    self._address(scope, parameters),
                    answered.data,
                    params=scope["path_params"],
                    variables=values,
                    errors=answered.errors,
                )
            )
            if shown is UNEXPLAINED:
                return PageResponse(200, body, NO_STORE, content_type=shown.media_type)
            is_permanent = answered.is_permanent and answered.is_good
            response = PageResponse(
                200, body, _PERMANENT if is_permanent else REVALIDATE, content_type=page.media_type
            )
            if answered.is_good:
                context.sender.cache.put(keys[0 if is_permanent else 1], response)
            return response

        return await context.makings.value(keys[1], make)

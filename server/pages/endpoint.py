"""Sends pages: asked, rendered and kept as the API's answers are."""

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from server.asgi.allowances import Allowances
from server.asgi.cache import CacheKey, ResponseCache
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE
from server.asgi.hang_ups import GONE, unless_gone
from server.asgi.lanes import Lanes
from server.asgi.makings import Makings
from server.asgi.negotiation import prefers_html
from server.asgi.responses import Response
from server.asgi.sending import REVALIDATE, send_head, send_response
from server.graphql.outgoing import Outgoing
from server.pages.addresses import Address, path_filled
from server.pages.asking import Answered, Asker, Question
from server.pages.error_pages import ErrorPages
from server.pages.exports.exporting import Export, NoTable
from server.pages.exports.responses import PARAMETER, ExportResponse, export_of, table_asked
from server.pages.nearest import nearest_to
from server.pages.page import Page
from server.pages.rendering import Renderer
from server.pages.requested import bare_address, given, raw_path, without_slash
from server.pages.responses import NO_STORE, PageResponse, led_to
from snapshots.catalog.catalog import Catalog

_PERMANENT = b"public, max-age=604800, immutable"
"""For a week: what a page says stays true for ever, how it looks is a later version's to change."""

_ALLOW = b"GET, HEAD"


class PageContext:
    """What all pages have in common.

    Pages are kept among the other ``responses``. Requests for one that is not kept wait for the
    same making.
    """

    def __init__(
        self,
        catalog: Catalog,
        asker: Asker,
        renderer: Renderer,
        responses: ResponseCache,
        lanes: Lanes,
        allowances: Allowances,
        outgoing: Outgoing,
    ) -> None:
        self.catalog = catalog
        self.asker = asker
        self.renderer = renderer
        self.responses = responses
        self.lanes = lanes
        self.allowances = allowances
        self.outgoing = outgoing
        self.error_pages = ErrorPages(renderer)
        self.makings: Makings[PageResponse] = Makings("page", outlasts=False)

    async def send(self, response: Response, scope: Scope, send: Send) -> bool:
        """Send a page; return whether it had to be encoded for this client first.

        It counts as large answers do: with too many of them on their way another page says so.
        """
        try:
            place = self.outgoing.begin(response, scope)
        except BadRequest as error:
            response = self.error_pages.refused(bare_address(scope), error)
            place = self.outgoing.begin(response, scope)
        if isinstance(response, PageResponse) and response.code:
            scope[CODE] = response.code
        headers: dict[bytes, bytes] = dict(scope["headers"])
        compressing = self.lanes.compressing
        with place:
            return await send_response(response, scope, headers, send, compressing=compressing)


class PageEndpoint:
    """Answers GET and HEAD with one page."""

    def __init__(self, page: Page, context: PageContext) -> None:
        self._page = page
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answered(scope, receive)
        if response is None:
            await send_head(send, GONE, [])  # for the log: nobody receives it
            return
        if isinstance(response, ExportResponse):
            await response(scope, receive, send)
            return
        is_larger = await self._context.send(response, scope, send)
        if is_larger and isinstance(response, PageResponse) and response.key is not None:
            self._context.responses.put(response.key, response)

    async def _answered(self, scope: Scope, receive: Receive) -> Response | ExportResponse | None:
        """Return what a request is answered with, whatever happens; None where its client left."""
        try:
            return await self._respond(scope, receive)
        except BadRequest as error:
            return self._context.error_pages.refused(bare_address(scope), error)
        except Exception as error:  # noqa: BLE001  # people are shown a page, with where to look
            return self._context.error_pages.failed(bare_address(scope), error)

    async def _respond(self, scope: Scope, receive: Receive) -> Response | ExportResponse | None:
        context = self._context
        if scope["method"] not in ("GET", "HEAD"):
            raise BadRequest(
                f"{scope['method']} is not allowed: use GET",
                status=405,
                code="METHOD_NOT_ALLOWED",
                headers=((b"allow", _ALLOW),),
            )
        if context.allowances.is_limited:
            context.allowances.count_request(scope)
        asked = given(scope)
        if (link := without_slash(scope)) is not None:
            return led_to(link, status=308)
        if self._page.leads_to and (path := path_filled(self._page.leads_to, asked)):
            return led_to(bare_address(scope).root + path.removeprefix("/"))
        known = self._page.document.known(asked)
        if PARAMETER in asked:
            return await unless_gone(receive, self._export(scope, asked, known))
        keys = self._keys(scope, known)
        for key in keys:
            if (kept := context.responses.get(key)) is not None:
                context.responses.num_hits += 1
                return kept
        return await unless_gone(receive, self._made(scope, known, keys))

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

    async def _export(
        self, scope: Scope, asked: Mapping[str, list[str]], known: Mapping[str, list[str]]
    ) -> PageResponse | ExportResponse:
        """Return the page's table whole, or the page that says why there is none."""
        context, page = self._context, self._page
        table = table_asked(page, asked)
        variables = page.document.variables(known)
        while True:
            light, outgoing = context.lanes.light, context.outgoing
            export = Export(table, variables, scope, context.asker, light, outgoing)
            try:
                return await export_of(export, table, asked)
            except NoTable as error:
                instead = {name: it for name, it in page.instead if name not in variables}
                if not instead:
                    return await self._missing(scope, known, error.answered)
                variables |= instead

    async def _missing(
        self, scope: Scope, known: Mapping[str, list[str]], answered: Answered
    ) -> PageResponse:
        """Return the page for an answer that lacks what the page is about."""
        page, context, params = self._page, self._context, scope["path_params"]
        address = self._address(scope, known)
        nearest = await nearest_to(page, address, params, answered, context.asker, scope)
        return context.error_pages.missing(address, page.subject, answered, nearest)

    def _address(self, scope: Scope, known: Mapping[str, list[str]]) -> Address:
        params = scope["path_params"]
        return Address(raw_path(scope), {it: known[it] for it in known if it not in params})

    async def _made(
        self, scope: Scope, known: Mapping[str, list[str]], keys: tuple[CacheKey, CacheKey]
    ) -> PageResponse:
        """Return a page that is not kept: who has it made is charged, others wait with them."""
        makings, asker = self._context.makings, self._context.asker
        if keys[1] in makings:
            return await makings.joined(keys[1])
        variables = self._page.document.variables(known)
        question = await asker.weighed(self._page.document.text, variables, scope)
        return await makings.value(keys[1], lambda: self._make(scope, known, keys, question))

    async def _make(
        self,
        scope: Scope,
        known: Mapping[str, list[str]],
        keys: tuple[CacheKey, CacheKey],
        question: Question,
    ) -> PageResponse:
        page, context, params = self._page, self._context, scope["path_params"]
        answered = await context.asker.answered(question)
        variables: Mapping[str, Any] = question.variables
        instead = {name: it for name, it in page.instead if name not in known}
        if instead and not page.has_subject(answered.data):
            variables = {**variables, **instead}
            answered = await context.asker.ask(page.document, variables, scope)
        if not page.has_subject(answered.data):
            return await self._missing(scope, known, answered)
        body = await context.lanes.light.run(
            lambda: context.renderer.page(
                page,
                self._address(scope, known),
                answered.data,
                params=params,
                variables=variables,
                errors=answered.errors,
            )
        )
        is_permanent = answered.is_permanent and answered.is_good
        response = PageResponse(
            200, body, _PERMANENT if is_permanent else REVALIDATE, content_type=page.media_type
        )
        if answered.is_good:
            response.key = keys[0 if is_permanent else 1]
            context.responses.put(response.key, response)
        return response


class NoPage:
    """Answers where nothing is: browsers with a page, programs with a line."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def __call__(self, request: Request, error: Exception) -> Any:
        """Return the answer to a request for an address that leads nowhere."""
        scope = request.scope
        is_page = scope["method"] in ("GET", "HEAD")
        if not is_page or not prefers_html(request.headers.get("accept", "")):
            # A cache must not hand one client's form to another.
            headers = {"vary": "accept", "cache-control": NO_STORE.decode()}
            return PlainTextResponse(str(getattr(error, "detail", error)), 404, headers)
        address = bare_address(scope)
        try:
            if self._context.allowances.is_limited:
                self._context.allowances.count_request(scope)
            response = self._context.error_pages.nowhere(address)
        except BadRequest as refusal:
            response = self._context.error_pages.refused(address, refusal)

        async def answer(scope: Scope, _receive: Receive, send: Send) -> None:
            await self._context.send(response, scope, send)

        return answer

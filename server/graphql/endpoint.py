"""The GraphQL endpoint: reads requests and sends responses, by ASGI or directly from memory."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import msgspec
import orjson
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from schema.api import sdl
from schema.errors import bounded
from server.asgi import exchanges, responses
from server.asgi.allowances import Allowances
from server.asgi.errors import BadRequest
from server.asgi.lanes import LoopTurns
from server.asgi.room import LARGE_BODY, Claim, Incoming, Outgoing
from server.graphql.answers import Answer, Answers
from server.graphql.requests import RequestBytes, Weight
from server.http.cycles import ReadyAnswer

_TEXT = b"text/plain; charset=utf-8"


class SchemaText:
    """Serves the schema in GraphQL's schema definition language, by GET and HEAD."""

    def __init__(self, sender: responses.ResponseSender) -> None:
        self._sender = sender

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] in ("GET", "HEAD"):
            await self._sender.send(self._response, scope, send)
            return
        refusal = PlainTextResponse("use GET", 405, {"allow": "GET, HEAD"})
        await refusal(scope, receive, send)

    @cached_property
    def _response(self) -> responses.Response:
        return responses.Response(200, sdl().encode(), _TEXT, responses.REVALIDATE)


_ALLOW = b"GET, HEAD, POST, OPTIONS"
_COST_HEADER = b"x-cachelog-cost"
"""The header that requests ``extensions.cost``, with any value but 0."""

_ANSWER = "cachelog.answer"
"""Key in the scope of a request: an answer that was computed but could not be sent directly."""

_COMPLETED = "cachelog.completed"
"""Key in the scope of a request: the scope with the client that trusted proxies report."""

_HTML = b"text/html; charset=utf-8"


class GraphQLEndpoint(msgspec.Struct, frozen=True, eq=False):
    """Serves ``answers`` by GET, HEAD and POST, and ``page``, if any, to browsers.

    ``incoming`` limits the bytes of request bodies, ``outgoing`` those of large responses that are
    being sent, and ``allowances`` the requests and cost of a client.
    """

    answers: Answers
    sender: responses.ResponseSender
    page: Callable[[], bytes] | None
    incoming: Incoming
    outgoing: Outgoing
    allowances: Allowances

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        with self.incoming.claim(scope) as claim:
            await self._answer(scope, receive, send, claim)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, claim: Claim) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            method = scope["method"]
            charge = None
            if self.allowances.is_limited:
                if _ANSWER not in scope:  # otherwise DirectAnswers has counted the request
                    self.allowances.count_request(scope)
                charge = partial(self.allowances.charge, scope)
            if method == "POST":
                content = await self.incoming.read(claim, receive)
            elif method in ("GET", "HEAD"):
                content = scope["query_string"]
                accept = headers.get(b"accept", b"").decode("latin-1")
                if self.page is not None and responses.prefers(accept, "text/html"):
                    # The script of the page reads the query of its URL to fill the editor.
                    page = responses.Response(200, self.page(), _HTML, responses.REVALIDATE)
                    await self.sender.send(page, scope, send)
                    return
            elif method == "OPTIONS":
                await responses.send_head(send, 204, [(b"allow", _ALLOW)])
                return
            else:
                raise BadRequest(
                    f"{method} is not allowed: use GET or POST",
                    status=405,
                    headers=((b"allow", _ALLOW),),
                )
            request = _request_bytes(method, content, headers)
            answer: Answer | None = scope.pop(_ANSWER, None)
            if answer is None:
                answer = await exchanges.unless_disconnected(
                    receive, self.answers.answer(request, charge)
                )
            exchanges.note_answer(scope, answer)
            with self.outgoing.begin(answer.response, scope):
                await self.sender.send(answer.response, scope, send)
        except BadRequest as error:
            scope[exchanges.CODE] = error.code
            await self.sender.send(_refusal(error, headers), scope, send)


def _request_bytes(method: str, content: bytes, headers: dict[bytes, bytes]) -> RequestBytes:
    return RequestBytes(
        method == "POST",
        content,
        headers.get(b"content-type", b""),
        headers.get(b"accept", b""),
        headers.get(_COST_HEADER, b"0") not in (b"", b"0"),
    )


def _refusal(error: BadRequest, headers: dict[bytes, bytes]) -> responses.Response:
    media_type = (
        responses.accepted_media_type(headers.get(b"accept", b"").decode("latin-1"))
        or responses.JSON
    )
    shown = {"message": bounded(error.message), "extensions": {"code": error.code}}
    body = orjson.dumps({"errors": [shown]})
    content_type = f"{media_type}; charset=utf-8".encode()
    return responses.Response(
        error.status, body, content_type, b"no-store", more=list(error.headers)
    )


class DirectAnswers(msgspec.Struct, frozen=True, eq=False):
    """Answers a request to the ``path`` of an endpoint without ASGI, if it is cached or small.

    The response has the same id and headers as with ASGI, and the same ``observers`` are called.
    ``behind_proxies`` adds the client's address to the scope of a request. With ``has_cors``,
    requests from pages of other origins are answered through ASGI.
    """

    answers: Answers
    path: str
    allowances: Allowances
    outgoing: Outgoing
    ids: exchanges.RequestIds
    headers: exchanges.SecurityHeaders
    observers: Sequence[exchanges.Observer]
    turns: LoopTurns
    behind_proxies: Callable[[Scope], Scope]
    has_cors: bool

    def __call__(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        """Return the answer to a request; None to use ASGI."""
        method = scope["method"]
        if scope["path"] != self.path or method not in ("GET", "POST"):
            return None
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if self.has_cors and b"origin" in headers:
            return None
        content = body if method == "POST" else scope["query_string"]
        request = _request_bytes(method, content, headers)
        known = self.answers.known(request)
        if isinstance(known, Answer):
            if self.allowances.is_limited:
                coding = responses.coding_for(known.response, headers)
                if known.response.known(coding) is None or not self._is_allowed(scope):
                    return None
            self.answers.responses.num_hits += 1
            return self._ready(known, scope, headers, self.ids.of(scope), started)
        if known is None or not known.is_small or self.allowances.is_limited:
            return None  # parsing may take longer than all other work, so a task does it
        if known.weight is Weight.SMALL and not self.turns.has_time():
            return None
        request_id = self.ids.of(scope)
        token = exchanges.REQUEST_ID.set(request_id)
        try:
            answer = self.answers.small(known)
        finally:
            exchanges.REQUEST_ID.reset(token)
        return None if answer is None else self._ready(answer, scope, headers, request_id, started)

    def _ready(
        self,
        answer: Answer,
        scope: Scope,
        headers: dict[bytes, bytes],
        request_id: str,
        started: float,
    ) -> ReadyAnswer | None:
        """Return an answer ready to be sent; if that takes long, put it in the scope for ASGI."""
        response, method = answer.response, scope["method"]
        coding = responses.coding_for(response, headers)
        encoded = response.known(coding)
        if encoded is None and len(response.body) <= responses.LARGE_BODY_TO_COMPRESS:
            encoded = response.encoded(coding)
            self.answers.update_size(answer)
        try:
            if encoded is None:
                raise BadRequest("it is compressed in a thread")
            release = self._reserve(response, scope)
        except BadRequest:
            scope[_ANSWER] = answer
            return None
        status, lines, content = response.status, encoded.lines, encoded.content
        if responses.is_not_modified(response, encoded, method, headers):
            status, lines, content = 304, encoded.not_modified_lines, b""
        if self.observers:
            seen = self.behind_proxies(scope)
            exchanges.note_answer(seen, answer)
            exchanges.note_exchange(self.observers, seen, request_id, status, len(content), started)
        lines = b"%b%bx-request-id: %b\r\n" % (lines, self.headers.lines, request_id.encode())
        return ReadyAnswer(status, lines, content, release)

    def _reserve(self, response: responses.Response, scope: Scope) -> Callable[[], None] | None:
        """Reserve room in ``outgoing`` for a large answer; return a function that releases it.

        Raises BadRequest if there is no room.
        """
        if len(response.body) <= LARGE_BODY:
            return None
        return self.outgoing.begin(response, self.behind_proxies(scope)).leave

    def _is_allowed(self, scope: Scope) -> bool:
        """Count a request, and return True; return False if its client has exceeded a limit."""
        try:
            self.allowances.count_request(self.behind_proxies(scope))
        except BadRequest:
            return False
        return True


def proxy_reader(trusted_proxies: Sequence[str]) -> Callable[[Scope], Scope]:
    """Return a function that completes a scope with the client that trusted proxies report."""
    if not trusted_proxies:
        return lambda scope: scope
    # The same middleware as with ASGI; it never suspends, so that one step completes it.
    inner: Any = _nothing
    middleware: Any = ProxyHeadersMiddleware(inner, trusted_hosts=list(trusted_proxies))

    def behind_proxies(scope: Scope) -> Scope:
        completed: Scope | None = scope.get(_COMPLETED)
        if completed is None:
            completed = scope[_COMPLETED] = dict(scope)
            with suppress(StopIteration):
                middleware(completed, None, None).send(None)
        return completed

    return behind_proxies


async def _nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    pass

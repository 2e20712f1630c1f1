"""The GraphQL endpoint: reads requests and sends responses."""

from collections.abc import Callable
from functools import cached_property

import msgspec
import orjson
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from schema.api import sdl
from schema.errors import bounded
from server.asgi import exchanges, responses
from server.asgi.bodies import Bodies
from server.asgi.errors import BadRequest
from server.graphql.answers import Answers
from server.graphql.requests import RequestBytes

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

_HTML = b"text/html; charset=utf-8"


class GraphQLEndpoint(msgspec.Struct, frozen=True, eq=False):
    """Serves ``answers`` by GET, HEAD and POST, and ``page``, if any, to browsers.

    ``bodies`` limits those of requests.
    """

    answers: Answers
    sender: responses.ResponseSender
    page: Callable[[], bytes] | None
    bodies: Bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        method = scope["method"]
        try:
            if method == "POST":
                async with self.bodies.body(receive) as content:
                    await self._answer(scope, receive, send, headers, content)
            elif method in ("GET", "HEAD"):
                accept = headers.get(b"accept", b"").decode("latin-1")
                if self.page is not None and responses.prefers(accept, "text/html"):
                    # The script of the page reads the query of its URL to fill the editor.
                    page = responses.Response(200, self.page(), _HTML, responses.REVALIDATE)
                    await self.sender.send(page, scope, send)
                else:
                    await self._answer(scope, receive, send, headers, scope["query_string"])
            elif method == "OPTIONS":
                await responses.send_all(send, 204, [(b"allow", _ALLOW)])
            else:
                raise BadRequest(
                    f"{method} is not allowed: use GET or POST",
                    status=405,
                    headers=((b"allow", _ALLOW),),
                )
        except BadRequest as error:
            scope[exchanges.CODE] = error.code
            await self.sender.send(_refusal(error, headers), scope, send)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: dict[bytes, bytes],
        content: bytes,
    ) -> None:
        """Answer a request whose body or query string is ``content``."""
        request = _request_bytes(scope["method"], content, headers)
        answer = self.answers.cached(request)
        if answer is None:
            answer = await exchanges.unless_disconnected(receive, self.answers.answer(request))
        if answer.key is not None:
            scope[exchanges.OPERATION] = answer.key.operation_name or ""
        else:
            scope[exchanges.CODE] = answer.code
        await self.sender.send(answer.response, scope, send)


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
    shown = {
        "message": bounded(error.message),
        "extensions": {"code": error.code, **error.extensions},
    }
    body = orjson.dumps({"errors": [shown]})
    content_type = f"{media_type}; charset=utf-8".encode()
    return responses.Response(
        error.status, body, content_type, b"no-store", more=list(error.headers)
    )

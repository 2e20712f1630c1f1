"""The schema as a file, for tools that generate code from it or check queries against it."""

from functools import cached_property

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from schema.api import sdl
from server.asgi.responses import Response
from server.asgi.sending import REVALIDATE, send_response

_TEXT = b"text/plain; charset=utf-8"


class SchemaText:
    """Answers GET and HEAD with the schema in GraphQL's own language, and with its ETag."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] in ("GET", "HEAD"):
            await send_response(self._response, scope, dict(scope["headers"]), send)
            return
        refusal = PlainTextResponse("use GET", 405, {"allow": "GET, HEAD"})
        await refusal(scope, receive, send)

    @cached_property
    def _response(self) -> Response:
        return Response(200, sdl().encode(), _TEXT, REVALIDATE)

"""The GraphQL endpoint as a plain ASGI application: parse, look up, execute, send."""

import logging
from collections.abc import Callable
from typing import NamedTuple
from uuid import uuid4

import orjson
from graphql import OperationType
from starlette.concurrency import run_in_threadpool
from starlette.types import Message, Receive, Scope, Send

from schema import api
from schema.context import Context, NotLoaded
from server.requests import (
    JSON,
    RESPONSE_JSON,
    BadRequest,
    GraphQLRequest,
    PersistedDocuments,
    accepted_encoding,
    accepted_media_type,
    from_body,
    from_query_string,
    prefers_html,
)
from server.responses import ENCODINGS, Headers, Response, ResponseCache
from snapshots.catalog import Catalog
from snapshots.library import Library

_ALLOW = b"GET, HEAD, POST, OPTIONS"
_IMMUTABLE = b"public, max-age=31536000, immutable"
_REVALIDATE = b"no-cache"
_LARGE = 100_000

_log = logging.getLogger("cachelog.errors")


class _Asked(NamedTuple):
    """The bytes that decide a response, before anything is parsed."""

    generation: int
    is_post: bool
    content: bytes
    content_type: bytes
    accept: bytes


class GraphQLEndpoint:
    """Answers GET, HEAD, POST and OPTIONS; ``page`` makes what a browser is shown."""

    def __init__(
        self,
        catalog: Catalog,
        library: Library,
        *,
        page: Callable[[], bytes],
        cache_bytes: int,
        max_body: int,
    ) -> None:
        self._catalog = catalog
        self._library = library
        self._page = page
        self._max_body = max_body
        self._cache = ResponseCache(cache_bytes)
        self._documents = PersistedDocuments()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = scope["method"]
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            if method == "POST":
                content = await self._body(receive)
            elif method in ("GET", "HEAD"):
                content = scope["query_string"]
                if not content and prefers_html(headers.get(b"accept", b"").decode("latin-1")):
                    page = Response(200, self._page(), b"text/html; charset=utf-8", _REVALIDATE)
                    await self._send(page, scope, headers, send)
                    return
            elif method == "OPTIONS":
                await _send_head(send, 204, [(b"allow", _ALLOW)])
                return
            else:
                raise BadRequest(
                    f"{method} is not allowed: use GET or POST",
                    status=405,
                    code="METHOD_NOT_ALLOWED",
                    headers=((b"allow", _ALLOW),),
                )
            await self._answer(content, scope, headers, send)
        except BadRequest as error:
            body = orjson.dumps(
                {"errors": [{"message": error.message, "extensions": {"code": error.code}}]}
            )
            media_type = _media_type(headers) or JSON
            response = Response(error.status, body, _content_type(media_type), b"no-store")
            await self._send(response, scope, headers, send, list(error.headers))

    async def _body(self, receive: Receive) -> bytes:
        body = b""
        while True:
            message: Message = await receive()
            part: bytes = message.get("body", b"")
            body += part
            if len(body) > self._max_body:
                raise BadRequest(
                    f"the body has more than {self._max_body} bytes",
                    status=413,
                    code="PAYLOAD_TOO_LARGE",
                )
            if not message.get("more_body"):
                return body

    async def _answer(
        self, content: bytes, scope: Scope, headers: dict[bytes, bytes], send: Send
    ) -> None:
        asked = _Asked(
            self._catalog.generation,
            scope["method"] == "POST",
            content,
            headers.get(b"content-type", b""),
            headers.get(b"accept", b""),
        )
        response = self._cache.get(asked)
        if response is None:
            media_type = _media_type(headers)
            if media_type is None:
                raise BadRequest(
                    f"Accept must allow {RESPONSE_JSON} or {JSON}",
                    status=406,
                    code="NOT_ACCEPTABLE",
                )
            request = (
                from_body(content, asked.content_type.decode("latin-1"), self._documents)
                if asked.is_post
                else from_query_string(content, self._documents)
            )
            response, may_keep = await self._execute(request, media_type, is_get=not asked.is_post)
            if may_keep:
                self._cache.put(asked, response)
            await self._send(response, scope, headers, send)
            if may_keep:
                self._cache.put(asked, response)
        else:
            await self._send(response, scope, headers, send)

    async def _execute(
        self, request: GraphQLRequest, media_type: str, *, is_get: bool
    ) -> tuple[Response, bool]:
        """Return the response, and whether it may be kept."""
        if is_get:
            operation = api.operation_type(api.document(request.query), request.operation_name)
            if operation not in (None, OperationType.QUERY):
                raise BadRequest("GET is for queries", status=405, code="METHOD_NOT_ALLOWED")
        try:
            body, answer, context = self._run(request, may_load=False)
        except NotLoaded:
            body, answer, context = await run_in_threadpool(self._run, request, may_load=True)
        status = 200
        if not answer.executed and media_type == RESPONSE_JSON:
            status = 400
        may_keep = answer.executed and not answer.errors
        cache_control = _IMMUTABLE if may_keep and context.is_permanent else _REVALIDATE
        return Response(status, body, _content_type(media_type), cache_control), may_keep

    def _run(self, request: GraphQLRequest, *, may_load: bool) -> tuple[bytes, api.Answer, Context]:
        context = Context(self._catalog, self._library, may_load=may_load)
        answer = api.execute(
            request.query, request.variables, request.operation_name, context=context
        )
        body: bytes = orjson.dumps(answer.body())
        return body, answer, context

    async def _send(
        self,
        response: Response,
        scope: Scope,
        headers: dict[bytes, bytes],
        send: Send,
        extra: Headers | None = None,
    ) -> None:
        encoding = accepted_encoding(
            headers.get(b"accept-encoding", b"").decode("latin-1"), ENCODINGS
        )
        form = response.known_form(encoding)
        if form is None:
            if len(response.body) > _LARGE:
                form = await run_in_threadpool(response.form, encoding)
            else:
                form = response.form(encoding)
        if response.status == 200 and _matches(headers.get(b"if-none-match"), form.etag):
            await _send_head(send, 304, form.not_modified)
            return
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [*form.headers, *extra] if extra else form.headers,
            }
        )
        body = b"" if scope["method"] == "HEAD" else form.body
        await send({"type": "http.response.body", "body": body})


def internal_error() -> tuple[str, bytes]:
    """Return a new id and the body of a response that shows nothing else."""
    incident = uuid4().hex[:12]
    message = f"Internal error; the server's log has the details under {incident}."
    error = {"message": message, "extensions": {"code": "INTERNAL_SERVER_ERROR", "id": incident}}
    return incident, orjson.dumps({"errors": [error]})


async def _send_head(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _media_type(headers: dict[bytes, bytes]) -> str | None:
    return accepted_media_type(headers.get(b"accept", b"").decode("latin-1"))


def _content_type(media_type: str) -> bytes:
    return f"{media_type}; charset=utf-8".encode()


def _matches(if_none_match: bytes | None, etag: bytes) -> bool:
    if if_none_match is None:
        return False
    wanted = {tag.strip().removeprefix(b"W/") for tag in if_none_match.split(b",")}
    return etag in wanted or b"*" in wanted

"""The GraphQL endpoint as a plain ASGI application: parse, look up, execute, send."""

import re
from collections.abc import Callable
from typing import NamedTuple

import orjson
from anyio import CapacityLimiter, to_thread
from cachetools import LRUCache
from graphql import OperationType
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
from server.responses import ENCODINGS, CacheKey, Headers, Response, ResponseCache
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library

_ALLOW = b"GET, HEAD, POST, OPTIONS"
_IMMUTABLE = b"public, max-age=31536000, immutable"
_REVALIDATE = b"no-cache"
_HTML = b"text/html; charset=utf-8"

_LARGE_BODY = 100_000
"""Bodies with more bytes are compressed in a thread."""

_LARGE_QUERY = 5_000
"""Queries that ask for more objects run in a thread, a few at a time."""

_THREADS = 4
_KNOWN_BYTES = 16 << 20
_INTROSPECTION = re.compile(r"__(?:schema|type)\b")


class _Raw(NamedTuple):
    """The bytes that decide what is asked, before anything is parsed."""

    is_post: bool
    content: bytes
    content_type: bytes
    accept: bytes


class _Asked(NamedTuple):
    """What is asked, and the key of an answer that stays true for ever."""

    request: GraphQLRequest
    key: CacheKey
    num_bytes: int


class GraphQLEndpoint:
    """Answers GET, HEAD, POST and OPTIONS; ``page`` makes what a browser is shown.

    ``cache_bytes`` bounds the responses that are kept, ``max_body`` the bytes of a request.
    """

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
        self._responses = ResponseCache(cache_bytes)
        self._documents = PersistedDocuments()
        self._known: LRUCache[_Raw, _Asked] = LRUCache(
            _KNOWN_BYTES if cache_bytes else 0, lambda asked: asked.num_bytes
        )
        self._limiter = CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            method = scope["method"]
            if method == "POST":
                content = await self._body(receive)
            elif method in ("GET", "HEAD"):
                content = scope["query_string"]
                if not content and prefers_html(_text(headers, b"accept")):
                    page = Response(200, self._page(), _HTML, _REVALIDATE)
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
            response, key = await self._respond(
                _Raw(
                    method == "POST",
                    content,
                    headers.get(b"content-type", b""),
                    headers.get(b"accept", b""),
                )
            )
            if await self._send(response, scope, headers, send) and key is not None:
                self._responses.put(key, response)
        except BadRequest as error:
            await self._send(_refusal(error, headers), scope, headers, send, list(error.headers))

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

    async def _respond(self, raw: _Raw) -> tuple[Response, CacheKey | None]:
        """Return the response, and the key that it is or may be kept under."""
        asked = self._known.get(raw)
        if asked is None:
            asked = self._parse(raw)
            if self._known.getsizeof(asked) <= self._known.maxsize:
                self._known[raw] = asked
        lasting = asked.key
        passing = lasting._replace(generation=self._catalog.generation)
        for key in (lasting, passing):
            if (kept := self._responses.get(key)) is not None:
                return kept, key
        answer, body, context = await self._execute(asked.request)
        is_good = answer.executed and not answer.errors
        # A later version of cachelog may have another schema.
        is_introspection = _INTROSPECTION.search(asked.request.query) is not None
        is_lasting = is_good and context.is_permanent and not is_introspection
        refused = not answer.executed and lasting.media_type == RESPONSE_JSON
        response = Response(
            400 if refused else 200,
            body,
            _content_type(lasting.media_type),
            _IMMUTABLE if is_lasting else _REVALIDATE,
        )
        if not is_good:
            return response, None
        key = lasting if is_lasting else passing
        self._responses.put(key, response)
        return response, key

    def _parse(self, raw: _Raw) -> _Asked:
        media_type = accepted_media_type(raw.accept.decode("latin-1"))
        if media_type is None:
            raise BadRequest(
                f"Accept must allow {RESPONSE_JSON} or {JSON}", status=406, code="NOT_ACCEPTABLE"
            )
        if raw.is_post:
            request = from_body(raw.content, raw.content_type.decode("latin-1"), self._documents)
        else:
            request = from_query_string(raw.content, self._documents)
            operation = api.operation_type(api.document(request.query), request.operation_name)
            if operation not in (None, OperationType.QUERY):
                raise BadRequest(
                    "GET is for queries",
                    status=405,
                    code="METHOD_NOT_ALLOWED",
                    headers=((b"allow", b"POST"),),
                )
        key = CacheKey(
            request.query, request.variables_text(), request.operation_name, media_type, None
        )
        return _Asked(request, key, 2 * key.num_bytes + sum(map(len, raw[1:])))

    async def _execute(self, request: GraphQLRequest) -> tuple[api.Answer, bytes, Context]:
        """Execute here what is loaded and small; the rest in a thread, so that others go on."""
        if api.objects_asked(*request.cost_arguments()) <= _LARGE_QUERY:
            try:
                return self._run(request, may_load=False)
            except NotLoaded:
                pass
        return await to_thread.run_sync(
            lambda: self._run(request, may_load=True), limiter=self._limiter
        )

    def _run(self, request: GraphQLRequest, *, may_load: bool) -> tuple[api.Answer, bytes, Context]:
        context = Context(self._catalog, self._library, may_load=may_load)
        answer = api.execute(
            request.query, request.variables, request.operation_name, context=context
        )
        return answer, orjson.dumps(answer.body()), context

    async def _send(
        self,
        response: Response,
        scope: Scope,
        headers: dict[bytes, bytes],
        send: Send,
        extra: Headers | None = None,
    ) -> bool:
        """Send a response in the coding that the client likes best; tell whether that is new."""
        encoding = accepted_encoding(_text(headers, b"accept-encoding"), ENCODINGS)
        form = response.known_form(encoding)
        is_new = form is None
        if form is None:
            if len(response.body) > _LARGE_BODY:
                form = await to_thread.run_sync(response.form, encoding)
            else:
                form = response.form(encoding)
        is_get = scope["method"] in ("GET", "HEAD")
        if is_get and response.status == 200 and _matches(headers, form.etag):
            await _send_head(send, 304, form.not_modified)
            return is_new
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [*form.headers, *extra] if extra else form.headers,
            }
        )
        body = b"" if scope["method"] == "HEAD" else form.body
        await send({"type": "http.response.body", "body": body})
        return is_new


async def _send_head(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _refusal(error: BadRequest, headers: dict[bytes, bytes]) -> Response:
    media_type = accepted_media_type(_text(headers, b"accept")) or JSON
    shown = {"message": error.message, "extensions": {"code": error.code}}
    body = orjson.dumps({"errors": [shown]})
    return Response(error.status, body, _content_type(media_type), b"no-store")


def _text(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


def _content_type(media_type: str) -> bytes:
    return f"{media_type}; charset=utf-8".encode()


def _matches(headers: dict[bytes, bytes], etag: bytes) -> bool:
    if_none_match = headers.get(b"if-none-match")
    if if_none_match is None:
        return False
    wanted = {tag.strip().removeprefix(b"W/") for tag in if_none_match.split(b",")}
    return etag in wanted or b"*" in wanted

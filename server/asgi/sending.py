"""A response on its way: in the coding that the client likes best, or as 304 where it has it."""

from anyio import to_thread
from starlette.types import Scope, Send

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane
from server.asgi.negotiation import accepted_coding
from server.asgi.responses import EncodedBody, Headers, Response

REVALIDATE = b"no-cache"
"""Cache-Control of what may change: clients may keep it, and ask each time whether it holds."""

_LARGE_BODY = 100_000
"""Bodies with more bytes are compressed in a thread."""

_PIECE = 256 << 10
"""How many bytes of a body are sent at once."""

_MAX_TAGS = 4_096
"""How many bytes of If-None-Match are looked at."""


async def send_response(
    response: Response,
    scope: Scope,
    headers: dict[bytes, bytes],
    send: Send,
    extra: Headers | None = None,
    *,
    compressing: Lane | None = None,
) -> bool:
    """Send a response; return whether it had to be encoded for this client first.

    ``headers`` are those of the request, ``extra`` are added to those of the response. Large bodies
    are compressed in the lane ``compressing``, and where it is full are sent as they are.
    """
    coding = coding_for(response, headers)
    known = response.known(coding)
    encoded = await _encoded(response, coding, compressing) if known is None else known
    method = scope["method"]
    if is_not_modified(response, encoded, method, headers):
        await send_head(send, 304, encoded.not_modified)
        return known is None
    await send(
        {
            "type": "http.response.start",
            "status": response.status,
            "headers": [*encoded.headers, *extra] if extra else encoded.headers,
        }
    )
    content = b"" if method == "HEAD" else encoded.content
    if len(content) <= _PIECE:
        await send({"type": "http.response.body", "body": content})
    else:
        await send_in_pieces(send, content)
    return known is None


def coding_for(response: Response, headers: dict[bytes, bytes]) -> str:
    """Return the content coding to send a response in, by the headers of its request."""
    if not response.codings:
        return "identity"
    accepted = headers.get(b"accept-encoding", b"").decode("latin-1")
    return accepted_coding(accepted, response.codings)


def is_not_modified(
    response: Response, encoded: EncodedBody, method: str, headers: dict[bytes, bytes]
) -> bool:
    """Tell whether the client has the response already, as the headers of its request say."""
    return (
        b"if-none-match" in headers
        and response.status == 200
        and method in ("GET", "HEAD")
        and _is_named(encoded.etag, headers[b"if-none-match"])
    )


async def send_head(send: Send, status: int, headers: Headers) -> None:
    """Send a response that has no body."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def send_in_pieces(send: Send, content: bytes, *, more_body: bool = False) -> None:
    """Send a body piece by piece, each when the client has read most of those before it.

    So a slow client holds a piece, and not a copy of the whole. With ``more_body`` more follows.
    """
    rest = memoryview(content)
    while len(rest) > _PIECE:
        await send({"type": "http.response.body", "body": bytes(rest[:_PIECE]), "more_body": True})
        rest = rest[_PIECE:]
    await send({"type": "http.response.body", "body": bytes(rest), "more_body": more_body})


async def _encoded(response: Response, coding: str, compressing: Lane | None) -> EncodedBody:
    if len(response.body) <= _LARGE_BODY:
        return response.encoded(coding)
    if compressing is None:
        return await to_thread.run_sync(response.encoded, coding)
    try:
        return await compressing.run(lambda: response.encoded(coding))
    except BadRequest:
        return response.encoded("identity")


def _is_named(etag: bytes, if_none_match: bytes) -> bool:
    """Return whether the client names the ETag among those that it has."""
    tags = if_none_match[:_MAX_TAGS].split(b",")
    named = {tag.strip().removeprefix(b"W/") for tag in tags}
    return etag in named or b"*" in named

"""Responses: what a client takes, ETags, content codings, the ones that are kept, and sending."""

import gzip
from collections.abc import Sequence
from functools import cached_property
from sys import getsizeof

import brotli
import msgspec
import xxhash
import zstandard
from cachetools import LRUCache
from starlette.types import Scope, Send

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane

RESPONSE_JSON = "application/graphql-response+json"
JSON = "application/json"
EVENT_STREAM = "text/event-stream"

_MAX_LENGTH = 4_096
"""How many characters of a header are looked at; browsers send some 150."""


def accepted_media_type(accept: str) -> str | None:
    """Return the media type to answer with; None where the client takes none on offer."""
    weights = _weights(accept)
    if not weights:
        return JSON
    offers = [(_weight(weights, RESPONSE_JSON), RESPONSE_JSON), (_weight(weights, JSON), JSON)]
    if RESPONSE_JSON not in weights:
        offers.reverse()
    weight, best = max(offers, key=lambda offer: offer[0])
    return best if weight > 0 else None


def prefers(accept: str, media_type: str) -> bool:
    """Tell whether a client takes a media type, by its very name, rather than JSON."""
    weights = _weights(accept)
    of_json = max(weights.get(RESPONSE_JSON, 0.0), weights.get(JSON, 0.0))
    return weights.get(media_type, 0.0) > of_json


def takes_events(accept: str) -> bool:
    """Tell whether a client takes server-sent events; it has to say so by their very name."""
    return _weights(accept).get(EVENT_STREAM, 0.0) > 0


def accepted_coding(accept_encoding: str, offers: Sequence[str]) -> str:
    """Return the content coding to answer with, the best on offer among those that weigh most."""
    weights = _weights(accept_encoding)
    best, best_weight = "identity", 0.0
    for offer in offers:
        weight = weights.get(offer, weights.get("*", 0.0))
        if weight > best_weight:
            best, best_weight = offer, weight
    return best if best_weight >= weights.get("identity", 0.0) else "identity"


def _weights(header: str) -> dict[str, float]:
    """Parse a header of alternatives with q values (RFC 9110, 12.4.2)."""
    weights = {}
    for part in header[:_MAX_LENGTH].lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if not name:
            continue
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[name] = weight
    return weights


def _weight(weights: dict[str, float], media_type: str) -> float:
    family = media_type.partition("/")[0] + "/*"
    return weights.get(media_type, weights.get(family, weights.get("*/*", 0.0)))


Headers = list[tuple[bytes, bytes]]

CODINGS = ("zstd", "br", "gzip")
"""The content codings on offer, the best first."""

MIN_COMPRESSED = 1_024
"""Bodies with fewer bytes are sent as they are."""

_OVERHEAD = 1_500
"""About how many bytes a response takes beside its bodies: headers, objects."""

_ZSTD_LEVEL = 3
_BROTLI_QUALITY = 4
_GZIP_LEVEL = 5


def compress(body: bytes, coding: str) -> bytes:
    """Return the body in a content coding."""
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)
    if coding == "br":
        return bytes(brotli.compress(body, quality=_BROTLI_QUALITY))
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)


def tag_of(body: bytes) -> bytes:
    """Return what tells a body from others, to make ETags of."""
    return xxhash.xxh3_128_hexdigest(body).encode()


def lines_of(headers: Headers) -> bytes:
    """Return headers as HTTP/1.1 has them."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


class EncodedBody:
    """A body in one content coding, with the headers of a 200 and of a 304 response with it."""

    def __init__(self, content: bytes, etag: bytes, headers: Headers) -> None:
        self.content = content
        self.etag = etag
        self.not_modified: Headers = [(b"etag", etag), *headers]
        self.headers: Headers = [
            (b"content-length", str(len(content)).encode()),
            *self.not_modified,
        ]

    @cached_property
    def lines(self) -> bytes:
        """The headers as lines."""
        return lines_of(self.headers)

    @cached_property
    def not_modified_lines(self) -> bytes:
        """The headers of a 304 response as lines."""
        return lines_of(self.not_modified)


class Response:
    """An answer in one media type; each content coding is made when a client first asks for it.

    ``codings`` are those on offer beside the plain body: none where it is small. ``tag`` is that of
    the body where it is known already; ``more`` are headers beside those that all responses have.
    """

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: bytes,
        cache_control: bytes,
        tag: bytes | None = None,
        more: Headers | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.codings = CODINGS if len(body) >= MIN_COMPRESSED else ()
        self._tag = tag_of(body) if tag is None else tag
        self._headers: Headers = [
            (b"content-type", content_type),
            (b"cache-control", cache_control),
            (b"vary", b"accept, accept-encoding"),
            *(more or ()),
        ]
        self._encoded = {"identity": EncodedBody(body, b'"' + self._tag + b'"', self._headers)}

    @property
    def num_bytes(self) -> int:
        """How many bytes it takes in all codings that were made."""
        return sum(len(encoded.content) for encoded in self._encoded.values()) + _OVERHEAD

    def known(self, coding: str) -> EncodedBody | None:
        """Return the body in a content coding if it was made."""
        return self._encoded.get(coding)

    def encoded(self, coding: str) -> EncodedBody:
        """Return the body in a content coding; each is made once."""
        encoded_body = self.known(coding)
        if encoded_body is None:
            name = coding.encode()
            headers = [*self._headers, (b"content-encoding", name)]
            etag = b'"' + self._tag + b"-" + name + b'"'
            encoded_body = EncodedBody(compress(self.body, coding), etag, headers)
            self._encoded[coding] = encoded_body
        return encoded_body


_KEY_OVERHEAD = 500


class CacheKey(msgspec.Struct, frozen=True):
    """What decides a response.

    ``generation`` is the catalog's, or its state, or None where the response is the same in all of
    them. With ``tells_cost`` the response says what it cost.
    """

    query: str
    variables: bytes
    operation_name: str | None
    media_type: str
    generation: int | None
    tells_cost: bool = False

    def at(self, generation: int) -> "CacheKey":
        """Return the key of the same question in a generation, or state."""
        return msgspec.structs.replace(self, generation=generation)

    @property
    def num_bytes(self) -> int:
        """About how many bytes the key takes."""
        texts = getsizeof(self.query) + getsizeof(self.operation_name)
        return texts + len(self.variables) + _KEY_OVERHEAD


class _Kept(msgspec.Struct, frozen=True):
    response: Response
    num_bytes: int


class ResponseCache:
    """Keeps responses within ``max_bytes``, keys included; 0 keeps none."""

    def __init__(self, max_bytes: int) -> None:
        self.num_hits = 0
        """How often a response was not made anew; counted by those who take it."""

        self._kept: LRUCache[CacheKey, _Kept] = LRUCache(max_bytes, lambda kept: kept.num_bytes)

    @property
    def num_bytes(self) -> int:
        """How many bytes are kept."""
        return int(self._kept.currsize)

    def get(self, key: CacheKey) -> Response | None:
        """Return what is kept under a key."""
        # To raise and catch KeyError, twice, takes ten times as long as to look first.
        return self._kept[key].response if key in self._kept else None

    def put(self, key: CacheKey, response: Response) -> None:
        """Keep a response, in place of those that nobody has asked for longest.

        Put a response again after it was encoded in another coding: it takes more bytes then.
        """
        self._kept.pop(key, None)
        kept = _Kept(response, key.num_bytes + response.num_bytes)
        if kept.num_bytes <= self._kept.maxsize:
            self._kept[key] = kept


REVALIDATE = b"no-cache"
"""Cache-Control of what may change: clients may keep it, and ask each time whether it holds."""

LARGE_BODY_TO_COMPRESS = 100_000
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
    compressing: Lane,
) -> bool:
    """Send a response; return whether it had to be encoded for this client first.

    ``headers`` are those of the request, ``extra`` are added to those of the response. Large bodies
    are compressed in the lane ``compressing``, and where it is full are sent as they are.
    """
    coding = coding_for(response, headers)
    made = response.known(coding)
    encoded = await _encoded(response, coding, compressing) if made is None else made
    method = scope["method"]
    if is_not_modified(response, encoded, method, headers):
        await send_head(send, 304, encoded.not_modified)
        return made is None
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
    return made is None


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


async def _encoded(response: Response, coding: str, compressing: Lane) -> EncodedBody:
    if len(response.body) <= LARGE_BODY_TO_COMPRESS:
        return response.encoded(coding)
    try:
        return await compressing.run(lambda: response.encoded(coding))
    except BadRequest:
        return response.encoded("identity")


def _is_named(etag: bytes, if_none_match: bytes) -> bool:
    """Return whether the client names the ETag among those that it has."""
    tags = if_none_match[:_MAX_TAGS].split(b",")
    named = {tag.strip().removeprefix(b"W/") for tag in tags}
    return etag in named or b"*" in named

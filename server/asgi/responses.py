"""Responses: content negotiation, ETags, content codings, the response cache, and sending."""

import gzip
from collections.abc import Sequence
from sys import getsizeof

import msgspec
import pyarrow as pa
import xxhash
from cachetools import LRUCache
from starlette.types import Scope, Send

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane

RESPONSE_JSON = "application/graphql-response+json"
JSON = "application/json"

_MAX_LENGTH = 4_096
"""Maximum number of characters of a header that are parsed; browsers send about 150."""


def accepted_media_type(accept: str) -> str | None:
    """Return the media type for the response; None if the client accepts none of those offered."""
    weights = _weights(accept)
    if not weights:
        return JSON
    offers = [(_weight(weights, RESPONSE_JSON), RESPONSE_JSON), (_weight(weights, JSON), JSON)]
    if RESPONSE_JSON not in weights:
        offers.reverse()
    weight, best = max(offers, key=lambda offer: offer[0])
    return best if weight > 0 else None


def prefers(accept: str, media_type: str) -> bool:
    """Return whether a client names a media type explicitly and prefers it to JSON."""
    weights = _weights(accept)
    of_json = max(weights.get(RESPONSE_JSON, 0.0), weights.get(JSON, 0.0))
    return weights.get(media_type, 0.0) > of_json


def accepted_coding(accept_encoding: str, offers: Sequence[str]) -> str:
    """Return the content coding for the response: the first offer with the highest weight."""
    weights = _weights(accept_encoding)
    best, best_weight = "identity", 0.0
    for offer in offers:
        weight = weights.get(offer, weights.get("*", 0.0))
        if weight > best_weight:
            best, best_weight = offer, weight
    return best if best_weight >= weights.get("identity", 0.0) else "identity"


def _weights(header: str) -> dict[str, float]:
    """Parse a list of alternatives with q values (RFC 9110, 12.4.2)."""
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

CODINGS = ("zstd", "gzip")
"""The supported content codings, best first."""

MIN_COMPRESSED = 1_024
"""Bodies with fewer bytes are not compressed."""

_OVERHEAD = 1_500
"""Approximate memory of a response without its bodies, in bytes: headers and objects."""

_ZSTD_LEVEL = 3
_GZIP_LEVEL = 5


def compress(body: bytes, coding: str) -> bytes:
    """Return the body compressed with a content coding."""
    if coding == "zstd":
        compressed: bytes = pa.Codec(coding, _ZSTD_LEVEL).compress(body, asbytes=True)
        return compressed
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)


def tag_of(body: bytes) -> bytes:
    """Return a hash of a body, from which its ETags are derived."""
    return xxhash.xxh3_128_hexdigest(body).encode()


class EncodedBody:
    """A body in one content coding, with the headers of its 200 and 304 responses."""

    def __init__(self, content: bytes, etag: bytes, headers: Headers) -> None:
        self.content = content
        self.etag = etag
        self.not_modified: Headers = [(b"etag", etag), *headers]
        self.headers: Headers = [
            (b"content-length", str(len(content)).encode()),
            *self.not_modified,
        ]


class Response:
    """A response in one media type, compressed on the first request for each content coding.

    ``codings`` are the codings that are offered in addition to the plain body: none if it is small.
    ``tag`` is the result of ``tag_of(body)`` if it is already available. ``more`` are additional
    headers.
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
        self.key: CacheKey | None = None
        """The key under which it is cached, if any."""

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
        """Memory of the response in bytes, with all codings made so far."""
        return sum(len(encoded.content) for encoded in self._encoded.values()) + _OVERHEAD

    def known(self, coding: str) -> EncodedBody | None:
        """Return the body in a content coding if it has been made already."""
        return self._encoded.get(coding)

    def encoded(self, coding: str) -> EncodedBody:
        """Return the body in a content coding, and compress it on the first call."""
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
    """The key of a cached response: everything that determines it.

    ``generation`` is the catalog's generation or state, or None if the response is the same in all
    of them. With ``include_cost``, the response includes its cost.
    """

    query: str
    variables: bytes
    operation_name: str | None
    media_type: str
    generation: int | None
    include_cost: bool = False

    def at(self, generation: int) -> "CacheKey":
        """Return the key of the same request in a generation or state."""
        return msgspec.structs.replace(self, generation=generation)

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the key, in bytes."""
        texts = getsizeof(self.query) + getsizeof(self.operation_name)
        return texts + len(self.variables) + _KEY_OVERHEAD


class _Entry(msgspec.Struct, frozen=True):
    response: Response
    num_bytes: int


class ResponseCache:
    """An LRU cache of responses, limited to ``max_bytes`` including keys; 0 disables it."""

    def __init__(self, max_bytes: int) -> None:
        self.num_hits = 0
        """Number of responses served from the cache and not yet counted; callers increment it."""

        self._cached: LRUCache[CacheKey, _Entry] = LRUCache(
            max_bytes, lambda entry: entry.num_bytes
        )

    @property
    def num_bytes(self) -> int:
        """Memory used by the cached responses, in bytes."""
        return int(self._cached.currsize)

    def get(self, key: CacheKey) -> Response | None:
        """Return the response that is cached under a key; None if there is none."""
        # Raising and catching KeyError twice takes ten times as long as a test.
        return self._cached[key].response if key in self._cached else None

    def put(self, key: CacheKey, response: Response) -> None:
        """Cache a response, and evict the least recently used ones if necessary.

        Put a response again after it was encoded in another coding, because its size has grown.
        """
        response.key = key
        self._cached.pop(key, None)
        entry = _Entry(response, key.num_bytes + response.num_bytes)
        if entry.num_bytes <= self._cached.maxsize:
            self._cached[key] = entry


REVALIDATE = b"no-cache"
"""Cache-Control of responses that may change: clients must revalidate them before each use."""

LARGE_BODY_TO_COMPRESS = 100_000
"""Bodies with more bytes are compressed in a thread."""

_MAX_TAGS = 4_096
"""Maximum number of bytes of If-None-Match that are parsed."""


class ResponseSender(msgspec.Struct, frozen=True, eq=False):
    """Sends responses, also those of a ``cache``, whose sizes grow with each content coding.

    Large bodies are compressed in ``lane``, or sent uncompressed if it is full.
    """

    cache: ResponseCache
    lane: Lane

    async def send(self, response: Response, scope: Scope, send: Send) -> None:
        """Send a response to the request of a scope."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        coding = coding_for(response, headers)
        encoded = response.known(coding)
        if encoded is None:
            encoded = await self._encoded(response, coding)
            if response.key is not None:
                self.cache.put(response.key, response)
        method = scope["method"]
        if is_not_modified(response, encoded, method, headers):
            await send_all(send, 304, encoded.not_modified)
            return
        content = b"" if method == "HEAD" else encoded.content
        await send_all(send, response.status, encoded.headers, content)

    async def _encoded(self, response: Response, coding: str) -> EncodedBody:
        if len(response.body) <= LARGE_BODY_TO_COMPRESS:
            return response.encoded(coding)
        try:
            return await self.lane.run(lambda: response.encoded(coding))
        except BadRequest:
            return response.encoded("identity")


def coding_for(response: Response, headers: dict[bytes, bytes]) -> str:
    """Return the content coding for a response, as requested by the headers of its request."""
    if not response.codings:
        return "identity"
    accepted = headers.get(b"accept-encoding", b"").decode("latin-1")
    return accepted_coding(accepted, response.codings)


def is_not_modified(
    response: Response, encoded: EncodedBody, method: str, headers: dict[bytes, bytes]
) -> bool:
    """Return whether the client has the response already, according to its If-None-Match."""
    return (
        b"if-none-match" in headers
        and response.status == 200
        and method in ("GET", "HEAD")
        and _matches(encoded.etag, headers[b"if-none-match"])
    )


async def send_all(send: Send, status: int, headers: Headers, body: bytes = b"") -> None:
    """Send a response with its entire body."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _matches(etag: bytes, if_none_match: bytes) -> bool:
    """Return whether If-None-Match contains the ETag."""
    tags = if_none_match[:_MAX_TAGS].split(b",")
    named = {tag.strip().removeprefix(b"W/") for tag in tags}
    return etag in named or b"*" in named

"""Responses that are kept: bodies with their ETags and compressed forms, bounded in bytes."""

import gzip
from collections import OrderedDict
from typing import NamedTuple

import brotli
import xxhash
import zstandard

Headers = list[tuple[bytes, bytes]]

ENCODINGS = ("zstd", "br", "gzip")
"""The content codings on offer, the best first."""

MIN_COMPRESSED = 1_024
"""Bodies with fewer bytes are sent as they are."""

_ZSTD_LEVEL = 3
_BROTLI_QUALITY = 4
_GZIP_LEVEL = 5


def compress(body: bytes, encoding: str) -> bytes:
    """Return the body in a content coding."""
    if encoding == "zstd":
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)
    if encoding == "br":
        return bytes(brotli.compress(body, quality=_BROTLI_QUALITY))
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)


class Form:
    """A body in one content coding, with the headers that it is sent with."""

    def __init__(self, body: bytes, etag: bytes, headers: Headers) -> None:
        self.body = body
        self.etag = etag
        kept = [(b"etag", etag), *headers]
        self.headers: Headers = [(b"content-length", str(len(body)).encode()), *kept]
        self.not_modified: Headers = kept


class Response:
    """An answer in one media type; its compressed forms are made when one is asked for first."""

    def __init__(self, status: int, body: bytes, content_type: bytes, cache_control: bytes) -> None:
        self.status = status
        self.body = body
        self._tag = xxhash.xxh3_128_hexdigest(body).encode()
        self._headers: Headers = [
            (b"content-type", content_type),
            (b"cache-control", cache_control),
            (b"vary", b"accept, accept-encoding"),
        ]
        self._forms = {"identity": Form(body, b'"' + self._tag + b'"', self._headers)}

    @property
    def num_bytes(self) -> int:
        """How many bytes all forms take."""
        return sum(len(form.body) for form in self._forms.values()) + 1_000

    def known_form(self, encoding: str) -> Form | None:
        """Return the form in a content coding, if it was made or needs no making."""
        if len(self.body) < MIN_COMPRESSED:
            encoding = "identity"
        return self._forms.get(encoding)

    def form(self, encoding: str) -> Form:
        """Return the form in a content coding; each is made once."""
        known = self.known_form(encoding)
        if known is None:
            name = encoding.encode()
            headers = [*self._headers, (b"content-encoding", name)]
            etag = b'"' + self._tag + b"-" + name + b'"'
            known = self._forms[encoding] = Form(compress(self.body, encoding), etag, headers)
        return known


class CacheKey(NamedTuple):
    """What decides a response. ``generation`` is None for one that stays true for ever."""

    query: str
    variables: bytes
    operation_name: str | None
    media_type: str
    generation: int | None

    @property
    def num_bytes(self) -> int:
        """About how many bytes the key takes."""
        return len(self.query) + len(self.variables) + 500


class ResponseCache:
    """The responses that were asked for last, within ``max_bytes``; 0 keeps none."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._kept: OrderedDict[CacheKey, tuple[Response, int]] = OrderedDict()

    def get(self, key: CacheKey) -> Response | None:
        """Return what is kept under a key."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: CacheKey, response: Response) -> None:
        """Keep a response, or count it anew after it got another form; drop the oldest."""
        _, before = self._kept.pop(key, (None, 0))
        self.num_bytes -= before
        num_bytes = key.num_bytes + response.num_bytes
        if num_bytes > self.max_bytes:
            return
        self._kept[key] = response, num_bytes
        self.num_bytes += num_bytes
        while self.num_bytes > self.max_bytes:
            _, (_, dropped) = self._kept.popitem(last=False)
            self.num_bytes -= dropped

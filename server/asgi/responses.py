"""Responses with their ETags, in every content coding that a client asks for."""

import gzip
from functools import cached_property

import brotli
import xxhash
import zstandard

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
        found = self.known(coding)
        if found is None:
            name = coding.encode()
            headers = [*self._headers, (b"content-encoding", name)]
            etag = b'"' + self._tag + b"-" + name + b'"'
            found = EncodedBody(compress(self.body, coding), etag, headers)
            self._encoded[coding] = found
        return found

"""Bytes that lie on disk and are unpacked when they are read, within a bound."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

from snapshots.errors import SourceError
from snapshots.sources.files import open_regular, unreadable

_PIECE = 1 << 20
_PACKED_PIECE = 1 << 14
_GZIP = 16 + zlib.MAX_WBITS

GZIP_HEAD = b"\x1f\x8b"
"""What gzip data begins with (RFC 1952, 2.3.1), and no text does."""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes of ``location``: ``size`` of them in an open file, from ``start`` on.

    The file is held open because other processes may replace or delete it under its name.
    ``encoding`` is the Content-Encoding of the bytes, ``etag`` the version that the server states,
    and ``kept`` the file in which later runs find them.
    """

    location: str
    file: BinaryIO
    size: int
    start: int = 0
    encoding: str | None = None
    etag: str | None = None
    kept: Path | None = None

    def load(
        self, *, limit: int, compression: str | None = "none", algorithm: str = "sha256"
    ) -> tuple[bytearray, str]:
        """Return the unpacked content, and the checksum of it with ``compression`` still on.

        Where nobody says which that is, None, the content does. This can be done once: the file is
        closed. Raises SourceError where the content is larger than ``limit`` bytes, or is no good
        gzip.
        """
        digest = hashlib.new(algorithm)
        with self.file:
            chunks = unpacked(self._chunks(), self.encoding, self.location)
            chunks = hashed(chunks, digest)
            if compression is None:
                compression, chunks = _compression_of(chunks)
            chunks = unpacked(chunks, compression, self.location)
            return collected(chunks, limit, self.location), digest.hexdigest()

    @contextmanager
    def forgotten_if_bad(self) -> Iterator[None]:
        """Keep the body for no later run where the block finds its content bad.

        Otherwise every later run would find it unchanged, and as bad.
        """
        try:
            yield
        except SourceError:
            if self.kept is not None:
                self.kept.unlink(missing_ok=True)
            raise

    def _chunks(self) -> Iterator[bytes]:
        try:
            yield from pieces(self.file, self.start, self.size)
        except OSError as error:
            raise unreadable(self.location, error) from None


def user_file(location: str, limit: int) -> Body:
    """Open a file of the user's. Raises Missing, and SourceError above ``limit`` bytes."""
    file, size = open_regular(location)
    if size > limit:
        file.close()
        raise too_large(location, limit)
    return Body(location=location, file=file, size=size)


def pieces(file: BinaryIO, start: int, size: int) -> Iterator[bytes]:
    """Yield the ``size`` bytes of a file from ``start`` on, or fewer where it ends before."""
    file.seek(start)
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        size -= len(piece)
        yield piece


def hashed(chunks: Iterable[bytes], digest: "hashlib._Hash") -> Iterator[bytes]:
    """Yield the chunks and feed them to the digest."""
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def unpacked(chunks: Iterable[bytes], encoding: str | None, location: str) -> Iterable[bytes]:
    """Yield the chunks, unpacked if their encoding is gzip. Raises SourceError for bad gzip."""
    return _gunzipped(chunks, location) if encoding == "gzip" else chunks


def collected(chunks: Iterable[bytes], limit: int, location: str) -> bytearray:
    """Return all chunks as one. Raises SourceError above ``limit`` bytes."""
    data = bytearray()
    for chunk in chunks:
        if len(data) + len(chunk) > limit:
            raise too_large(location, limit)
        data += chunk
    return data


def too_large(location: str, limit: int) -> SourceError:
    """Return the error for more bytes than may be read."""
    reason = f"holds more than {limit:,} bytes; if that is right, raise max_index_bytes"
    return SourceError(location, reason)


def _compression_of(chunks: Iterable[bytes]) -> tuple[str, Iterable[bytes]]:
    """Return how the chunks are packed, gzip or none, and the chunks again."""
    rest, head = iter(chunks), b""
    while len(head) < len(GZIP_HEAD) and (chunk := next(rest, b"")):
        head += chunk
    return "gzip" if head.startswith(GZIP_HEAD) else "none", chain([head], rest)


def _cut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _PACKED_PIECE):
            yield chunk[start : start + _PACKED_PIECE]


def _gunzipped(chunks: Iterable[bytes], location: str) -> Iterator[bytes]:
    """Unpack in small pieces, so that no one has to hold all that a bomb unpacks to."""
    member = zlib.decompressobj(_GZIP)
    # In small pieces too: what is left of one is copied at the end of each member.
    for packed in _cut(chunks):
        while packed:
            if member.eof:  # RFC 1952, 2.2: a gzip file is a series of members
                member = zlib.decompressobj(_GZIP)
            try:
                piece = member.decompress(packed, _PIECE)
            except zlib.error as error:
                raise SourceError(location, f"is no good gzip: {error}") from None
            packed = member.unused_data if member.eof else member.unconsumed_tail
            if piece:
                yield piece
    if not member.eof:
        raise SourceError(location, "breaks off in the middle of its gzip data")

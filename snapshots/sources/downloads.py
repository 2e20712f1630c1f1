"""What was downloaded, on disk: for this run alone, or for later ones too.

Bodies are unpacked when they are read, within a bound. An entry of their store is one file: a line
of JSON that describes it, the body as it was received, and the sha256 of both. It is put in place
as a whole and read through one open file, so that several processes can use, replace and prune a
store at once. Small documents are rows of SQLite files.
"""

import hashlib
import os
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from snapshots.errors import SourceError
from snapshots.sources.inputs import open_regular, unreadable
from snapshots.sources.reports import Report

# -- bodies

_PIECE = 1 << 20
_PACKED_PIECE = 1 << 14
_GZIP = 16 + zlib.MAX_WBITS

GZIP_HEAD = b"\x1f\x8b"
"""What gzip data begins with (RFC 1952, 2.3.1), and no text does."""


class Note(msgspec.Struct, frozen=True):
    """What a response said of its body: the URL, the ETag and the Content-Encoding."""

    location: str
    etag: str | None = None
    encoding: str | None = None


class StoredBody(Note, frozen=True, kw_only=True):
    """The bytes of ``location``: ``size`` of them in an open file, from ``start`` on.

    The file is held open because other processes may replace or delete it under its name.
    ``kept`` is the file in which later runs find them.
    """

    file: BinaryIO
    size: int
    start: int = 0
    kept: Path | None = None

    def load(
        self, *, limit: int, compression: str | None = "none", algorithm: str = "sha256"
    ) -> tuple[bytearray, str]:
        """Return the unpacked content, and the checksum of it with ``compression`` still on.

        Where nobody says which that is, None, the content does. This can be done once: the file is
        closed. Raises SourceError where the content is larger than ``limit`` bytes, or is not a
        good gzip.
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


def user_file(location: str, limit: int) -> StoredBody:
    """Open a file of the user's. Raises Missing, and SourceError above ``limit`` bytes."""
    file, size = open_regular(location)
    if size > limit:
        file.close()
        raise too_large(location, limit)
    return StoredBody(location=location, file=file, size=size)


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
                raise SourceError(location, f"is not valid gzip: {error}") from None
            packed = member.unused_data if member.eof else member.unconsumed_tail
            if piece:
                yield piece
    if not member.eof:
        raise SourceError(location, "breaks off in the middle of its gzip data")


# -- the store of bodies

_CHECKSUM_BYTES = 32
_NOTE_BYTES = 1 << 16
_PARTIAL = ".partial"
_ABANDONED_AFTER = 24 * 3600.0  # no download goes on for so many seconds


class Store:
    """The bodies in a folder; the least recently used are deleted beyond ``bound`` bytes.

    Without a folder nothing outlasts the run.
    """

    def __init__(self, folder: Path | None, bound: int) -> None:
        self._folder = folder
        self._bound = bound

    def find(self, key: str, location: str) -> StoredBody | None:
        """Return the body under the key if it is that of ``location``, whole and undamaged."""
        if self._folder is None:
            return None
        path = self._folder / _name(key)
        try:
            file = path.open("rb")
        except OSError:
            return None
        body = _entry(file, path)
        if body is None or body.location != location:
            file.close()
            return None
        with suppress(OSError):
            os.utime(path)  # so that it counts as used
        return body

    def keep(self, key: str, note: Note, chunks: Iterable[bytes]) -> StoredBody:
        """Write the chunks to disk; with an ETag, for later runs, in place of what the key had.

        A failure leaves nothing. Raises SourceError where the disk cannot take them, and what the
        chunks raise.
        """
        try:
            if self._folder is None or note.etag is None:
                return _written(tempfile.TemporaryFile(dir=self._folder), note, chunks)
            descriptor, name = tempfile.mkstemp(_PARTIAL, dir=self._folder)
            partial, path = Path(name), self._folder / _name(key)
            try:
                body = _written(os.fdopen(descriptor, "w+b"), note, chunks, path)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            reason = f"cannot be stored in {self._folder or tempfile.gettempdir()}"
            raise SourceError(note.location, f"{reason}: {error.strerror}") from None
        self._prune(self._folder)
        return body

    def _prune(self, folder: Path) -> None:
        """Delete the least recently used entries beyond the bound, and what killed runs left."""
        total = 0
        for used_at, size, path in sorted(_files(folder), reverse=True):
            if path.suffix == _PARTIAL:
                surplus = used_at < time.time() - _ABANDONED_AFTER
            else:
                total += size
                surplus = total > self._bound
            if surplus:
                with suppress(OSError):  # another process prunes too
                    path.unlink()


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield when each file was last used, its size, and its path."""
    for path in folder.iterdir():
        with suppress(OSError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path


def _written(
    file: BinaryIO, note: Note, chunks: Iterable[bytes], path: Path | None = None
) -> StoredBody:
    """Write an entry; the file stays open unless that fails."""
    digest = hashlib.sha256()
    header = msgspec.json.encode(note) + b"\n"
    try:
        for chunk in hashed(chain([header], chunks), digest):
            file.write(chunk)
        size = file.tell() - len(header)
        file.write(digest.digest())
        file.flush()
    except BaseException:
        file.close()
        raise
    of_note = msgspec.structs.asdict(note)
    return StoredBody(**of_note, file=file, size=size, start=len(header), kept=path)


def _entry(file: BinaryIO, path: Path) -> StoredBody | None:
    """Return the body of a whole and undamaged entry."""
    digest = hashlib.sha256()
    try:
        end = os.fstat(file.fileno()).st_size - _CHECKSUM_BYTES
        for _ in hashed(pieces(file, 0, end), digest):
            pass
        if file.read() != digest.digest():
            return None
        file.seek(0)
        header = file.readline(_NOTE_BYTES)
        note = msgspec.json.decode(header, type=Note)
    except (OSError, msgspec.DecodeError):
        return None
    of_note, start = msgspec.structs.asdict(note), len(header)
    return StoredBody(**of_note, file=file, size=end - start, start=start, kept=path)


# -- documents

_BATCH = 500


class KeptDocuments:
    """Small documents of earlier runs, in an SQLite file of the cache folder, for one thread.

    A key is one under which a document never changes: a checksum, or a URL and its ETag. On
    leaving, the documents that were kept longest ago are deleted beyond ``bound`` bytes.
    Without a folder nothing is kept. The file only saves requests: where it cannot be used, the
    report is warned, and nothing more is found or kept.
    """

    def __init__(self, folder: Path | None, bound: int, report: Report) -> None:
        self._bound = bound
        self._report = report
        self._new: dict[str, bytes] = {}
        self._database: sqlite3.Connection | None = None
        if folder is None:
            return
        self._file = folder / "documents.sqlite3"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._file, timeout=60)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)
        self._attempt(
            lambda database: database.execute(
                "CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, "
                "used INTEGER NOT NULL, document BLOB NOT NULL) WITHOUT ROWID"
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        self._attempt(
            lambda database: database.execute(
                "DELETE FROM documents WHERE key IN (SELECT key FROM (SELECT key, "
                "SUM(LENGTH(document)) OVER (ORDER BY used DESC, key) AS total FROM documents) "
                "WHERE total > ?)",
                (self._bound,),
            )
        )
        self._close()

    def find(self, key: str) -> bytes | None:
        """Return the document under a key."""
        query = "SELECT document FROM documents WHERE key = ?"
        row = self._attempt(lambda database: database.execute(query, (key,)).fetchone())
        return None if row is None else bytes(row[0])

    def keep(self, key: str, document: bytes | bytearray) -> None:
        """Keep a document; it is written with others, now and then, and at the end."""
        self._new[key] = bytes(document)
        if len(self._new) >= _BATCH:
            self._write()

    def _attempt(self, use: Callable[[sqlite3.Connection], Any]) -> Any:
        """Return what ``use`` makes of the open file, in a transaction; None where that fails."""
        if self._database is None:
            return None
        try:
            with self._database:
                return use(self._database)
        except sqlite3.Error as error:
            self._give_up(error)
            return None

    def _give_up(self, error: Exception) -> None:
        reason = f"cannot store documents; delete it if it is damaged: {error}"
        self._report.warn(f"{self._file}: {reason}")
        self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _write(self) -> None:
        rows, self._new = self._new, {}
        statement = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)"
        now = int(time.time())
        values = ((key, now, document) for key, document in rows.items())
        self._attempt(lambda database: database.executemany(statement, values))

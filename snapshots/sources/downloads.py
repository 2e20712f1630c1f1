"""Storage of downloads on disk, for one run or for later ones.

Bodies are decompressed when they are read, up to a size limit. An entry of their store is one
file: a line of JSON that describes it, and the body as received. It is replaced atomically and read
through one open file, so that several processes can use, replace and prune a store concurrently.
Small documents are rows of an SQLite file.
"""

import gzip
import hashlib
import io
import os
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from snapshots.errors import SourceError
from snapshots.sources.inputs import open_regular, unreadable
from snapshots.sources.reports import Report

# -- bodies

_PIECE = 1 << 20

GZIP_HEAD = b"\x1f\x8b"
"""The first bytes of gzip data (RFC 1952, 2.3.1), with which no text begins."""


class Note(msgspec.Struct, frozen=True):
    """The metadata of a response body: URL, ETag and Content-Encoding."""

    location: str
    etag: str | None = None
    encoding: str | None = None

    def of(self, file: BinaryIO, size: int, start: int, kept: Path | None) -> "StoredBody":
        """Return the body of which these are the metadata."""
        facts = msgspec.structs.asdict(self)
        return StoredBody(**facts, file=file, size=size, start=start, kept=kept)


class StoredBody(Note, frozen=True, kw_only=True):
    """A body: ``size`` bytes of an open file, beginning at ``start``, downloaded from ``location``.

    The file remains open because other processes may replace or delete it by its name. ``kept`` is
    the file in which later runs find the body.
    """

    file: BinaryIO
    size: int
    start: int = 0
    kept: Path | None = None

    def load(
        self, *, limit: int, compression: str | None = "none", algorithm: str = "sha256"
    ) -> tuple[bytes | bytearray, str]:
        """Return the decompressed content, and its checksum before ``compression`` is removed.

        If ``compression`` is None, it is detected from the content. The file is closed, so this can
        be called only once. Raises SourceError if the content is larger than ``limit`` bytes, or is
        not valid gzip.
        """
        with self.file:
            try:
                self.file.seek(self.start)
                packed = self.file.read(self.size)
            except OSError as error:
                raise unreadable(self.location, error) from None
        data = unpacked(packed, self.encoding, limit, self.location)
        if compression is None and data.startswith(GZIP_HEAD):
            compression = "gzip"
        checksum = hashlib.new(algorithm, data).hexdigest()
        return unpacked(data, compression, limit, self.location), checksum

    def forget(self) -> None:
        """Delete the file in which later runs would find the body, but not a user's file."""
        if self.kept is not None:
            self.kept.unlink(missing_ok=True)


def user_file(location: str, limit: int) -> StoredBody:
    """Open a local file. Raises Missing, and SourceError above ``limit`` bytes."""
    file, size = open_regular(location)
    if size > limit:
        file.close()
        raise too_large(location, limit)
    return StoredBody(location=location, file=file, size=size)


def unpacked(
    data: bytes | bytearray, encoding: str | None, limit: int, location: str
) -> bytes | bytearray:
    """Return the data, decompressed if the encoding is gzip.

    A decompression bomb is never in memory as a whole. Raises SourceError above ``limit`` bytes of
    decompressed data, and for bad gzip.
    """
    if encoding != "gzip":
        return data
    try:
        if not data:
            raise EOFError
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return collected(iter(partial(file.read, _PIECE), b""), limit, location)
    except EOFError:
        raise SourceError(location, "breaks off in the middle of its gzip data") from None
    except (OSError, zlib.error) as error:
        raise SourceError(location, f"is not valid gzip: {error}") from None


def collected(chunks: Iterable[bytes], limit: int, location: str) -> bytearray:
    """Return the concatenated chunks. Raises SourceError above ``limit`` bytes."""
    data = bytearray()
    for chunk in chunks:
        if len(data) + len(chunk) > limit:
            raise too_large(location, limit)
        data += chunk
    return data


def too_large(location: str, limit: int) -> SourceError:
    """Return the error for exceeding a size limit."""
    return SourceError(location, f"contains more than {limit:,} bytes")


# -- the store of bodies

_NOTE_BYTES = 1 << 16


class Store(msgspec.Struct, frozen=True):
    """The bodies in a folder; beyond ``bound`` bytes, the least recently used are deleted.

    Without a folder, nothing is stored for later runs.
    """

    folder: Path | None
    bound: int

    def find(self, key: str, location: str) -> StoredBody | None:
        """Return the body under the key if it is that of ``location``."""
        if self.folder is None:
            return None
        path = self.folder / _name(key)
        with suppress(OSError, msgspec.DecodeError), ExitStack() as stack:
            file = stack.enter_context(path.open("rb"))
            header = file.readline(_NOTE_BYTES)
            note = msgspec.json.decode(header, type=Note)
            if note.location == location:
                os.utime(path)  # mark it as used
                size = os.fstat(file.fileno()).st_size - len(header)
                stack.pop_all()  # the file stays open
                return note.of(file, size, len(header), path)
        return None

    def keep(self, key: str, note: Note, chunks: Iterable[bytes]) -> StoredBody:
        """Write the chunks to disk. If there is an ETag, replace the key's entry for later runs.

        A failure leaves no file behind. Raises SourceError if writing fails, and the errors of the
        chunks.
        """
        try:
            if self.folder is None or note.etag is None:
                return _written(tempfile.TemporaryFile(dir=self.folder), note, chunks)
            descriptor, name = tempfile.mkstemp(dir=self.folder)
            partial, path = Path(name), self.folder / _name(key)
            try:
                body = _written(os.fdopen(descriptor, "w+b"), note, chunks, path)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            reason = f"cannot be stored in {self.folder or tempfile.gettempdir()}"
            raise SourceError(note.location, f"{reason}: {error.strerror}") from None
        self._prune(self.folder)
        return body

    def _prune(self, folder: Path) -> None:
        """Delete the least recently used entries beyond the bound, and files of killed runs."""
        total = 0
        for _, size, path in sorted(_files(folder), reverse=True):
            total += size
            if total > self.bound:
                with suppress(OSError):  # another process may prune at the same time
                    path.unlink()


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield the time at which each file was last used, its size in bytes, and its path."""
    for path in folder.iterdir():
        with suppress(OSError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path


def _written(
    file: BinaryIO, note: Note, chunks: Iterable[bytes], path: Path | None = None
) -> StoredBody:
    """Write an entry; the file stays open unless that fails."""
    header = msgspec.json.encode(note) + b"\n"
    try:
        file.write(header)
        file.writelines(chunks)
        size = file.tell() - len(header)
        file.flush()
    except BaseException:
        file.close()
        raise
    return note.of(file, size, len(header), path)


# -- documents

BATCH = 500
"""Documents that are written at once; a killed run loses no more."""


class DocumentCache:
    """A cache of small documents, in an SQLite file of the cache folder, for one thread.

    The document under a key must never change: a key is a checksum, or a URL with its ETag. On
    exit, the documents that were stored longest ago are deleted beyond ``bound`` bytes. Without a
    folder, nothing is stored. The file only saves requests: if it is unusable, a warning is
    reported, and nothing more is found or stored.
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
            self._disable(error)
        self._execute(
            "CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, used INTEGER NOT NULL, "
            "document BLOB NOT NULL) WITHOUT ROWID",
            [()],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        self._execute(
            "DELETE FROM documents WHERE key IN (SELECT key FROM (SELECT key, "
            "SUM(LENGTH(document)) OVER (ORDER BY used DESC, key) AS total FROM documents) "
            "WHERE total > ?)",
            [(self._bound,)],
        )
        self._close()

    def find(self, key: str) -> bytes | None:
        """Return the document under a key; None without one."""
        rows = self._execute("SELECT document FROM documents WHERE key = ?", [(key,)])
        return bytes(rows[0][0]) if rows else None

    def keep(self, key: str, document: bytes | bytearray) -> None:
        """Store a document; documents are written in batches, and on exit."""
        self._new[key] = bytes(document)
        if len(self._new) >= BATCH:
            self._write()

    def _execute(self, statement: str, values: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Execute a statement with each of the values, in one transaction.

        Return the rows of all results; none if it fails.
        """
        if self._database is None:
            return []
        try:
            with self._database as database:
                return [row for each in values for row in database.execute(statement, each)]
        except sqlite3.Error as error:
            self._disable(error)
            return []

    def _disable(self, error: Exception) -> None:
        reason = f"cannot store documents; delete it if it is damaged: {error}"
        self._report.warn(f"{self._file}: {reason}")
        self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _write(self) -> None:
        rows, self._new = self._new, {}
        now = int(time.time())
        values = ((key, now, document) for key, document in rows.items())
        self._execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", values)

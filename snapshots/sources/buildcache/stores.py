"""Downloaded bodies on disk: for this run alone, or for later ones too.

An entry of the store is one file: a line of JSON that describes it, the body as it was received,
and the sha256 of both. It is put in place as a whole and read through one open file, so that
several processes can use, replace and prune a store at once.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

from snapshots.errors import SourceError
from snapshots.sources.buildcache.bodies import Body, hashed, pieces

_CHECKSUM_BYTES = 32
_NOTE_BYTES = 1 << 16
_PARTIAL = ".partial"
_ABANDONED_AFTER = 24 * 3600.0  # no download goes on for so many seconds


class Note(msgspec.Struct, frozen=True):
    """What a response said of its body: the URL, the ETag and the Content-Encoding."""

    location: str
    etag: str | None
    encoding: str | None


class Store:
    """The bodies in a folder; the least recently used are deleted beyond ``bound`` bytes.

    Without a folder nothing outlasts the run.
    """

    def __init__(self, folder: Path | None, bound: int) -> None:
        self._folder = folder
        self._bound = bound

    def find(self, key: str, location: str) -> Body | None:
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

    def keep(self, key: str, note: Note, chunks: Iterable[bytes]) -> Body:
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


def _written(file: BinaryIO, note: Note, chunks: Iterable[bytes], path: Path | None = None) -> Body:
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
    return _body(note, file, len(header), size, path)


def _entry(file: BinaryIO, path: Path) -> Body | None:
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
    return _body(note, file, len(header), end - len(header), path)


def _body(note: Note, file: BinaryIO, start: int, size: int, path: Path | None) -> Body:
    return Body(
        location=note.location,
        file=file,
        size=size,
        start=start,
        encoding=note.encoding,
        etag=note.etag,
        kept=path,
    )

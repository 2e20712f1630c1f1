"""Reading and writing the files of a catalog, in a folder or in an object store.

Data is read into Arrow's own memory and decoded from there. Arrow's threads may free that memory
while the interpreter exits; if it were Python's, or a file that Python code reads, the process
would then abort ("terminate called without an active exception").
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from errno import EACCES, EEXIST, EINVAL, ENOENT, ENOTSUP
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import msgspec
import pyarrow as pa
import xxhash
from deltalake.exceptions import DeltaError

from snapshots.catalog.locations import Location
from snapshots.errors import CatalogError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

# -- errors of the store

_LENGTH = 400
_BACKTRACE = re.compile(r"\n(?:\s*0: |\nDebug source:).*", re.DOTALL)
_ARROW = re.compile(r"\s*(?:\x1b\[[0-9;]*m)*↳(?:\x1b\[[0-9;]*m)*\s*")
"""What delta-rs puts before each cause of an error."""

_XML = re.compile(r"(?:<\?xml[^>]*>)?\s*<Error>.*?<Code>(.*?)</Code>.*?</Error>", re.DOTALL)
"""What S3 answers instead of an object."""


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Translate any error of a store into a CatalogError for a location."""
    try:
        yield
    except (DeltaError, pa.ArrowException, OSError) as error:
        raise CatalogError(location, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Return the message of a store's error on one line, without a backtrace."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    text = _XML.sub(r"\1", _ARROW.sub(": ", _BACKTRACE.sub("", text)))
    text = " ".join(text.split())
    if len(text) > _LENGTH:
        # The cause is at the end.
        text = f"{text[: _LENGTH // 3]} ... {text[-_LENGTH * 2 // 3 :]}"
    if "URL scheme is not allowed" in text:
        return f"{text}; set AWS_ALLOW_HTTP=true for an http:// endpoint"
    return text or type(error).__name__


# -- files

RESTORE = "restore it from a copy of the catalog, or move the catalog away and import again"
"""Advice for a damaged file."""

SILENT_SECONDS = 10.0
"""How long an object store may take to send anything, in seconds."""

_YES = ("true", "1", "yes", "on")
_LONGEST = timedelta(minutes=5)
"""How long a server's request of an object may take, if it keeps sending."""

_READERS = 8

Item = TypeVar("Item")
Read = TypeVar("Read")


def checksum(data: pa.Buffer) -> str:
    """Return the xxh3 of bytes as 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(data)


class FileStat(msgspec.Struct, frozen=True):
    """The size of a file in bytes, and its modification time in seconds since 1970."""

    size: int
    written_at: float


class Storage:
    """The files below a location. Paths are relative to it; errors are those of the store.

    With ``retry_seconds``, failed requests to object storage are repeated for that long, and
    requests without a response are given up early. By default the limits of deltalake apply, three
    minutes. Raises CatalogError if there are no credentials for the store.
    """

    def __init__(self, location: Location, *, retry_seconds: float | None = None) -> None:
        location.require_credentials()
        self.location = location
        self._retry_seconds = retry_seconds
        self._syncing = Lock()
        self._unsynced: set[Path] = set()
        self._synced_folders: set[Path] = set()

    def __reduce__(self) -> tuple[object, ...]:
        """Connect again in another process, with default timeouts."""
        return Storage, (self.location,)

    def error(self, reason: str) -> CatalogError:
        """Return an error about the catalog at this location."""
        return CatalogError(self.location.text, reason)

    @cached_property
    def options(self) -> dict[str, str] | None:
        """The options of deltalake for tables at this location."""
        if self._retry_seconds is None or self.location.is_folder:
            return None
        # The last pause is not shortened to fit, so pauses have to be short as well.
        return {
            "timeout": f"{SILENT_SECONDS:.1f}s",
            "retry_timeout": f"{self._retry_seconds:.3f}s",
            "backoff_config.init_backoff": f"{self._retry_seconds / 30:.3f}s",
            "backoff_config.max_backoff": f"{self._retry_seconds / 4:.3f}s",
        }

    @cached_property
    def _objects(self) -> "ObjectStore":
        from obstore.store import from_url

        if self._retry_seconds is None:
            return from_url(self.location.root)
        seconds = timedelta(seconds=self._retry_seconds)
        return from_url(
            self.location.root,
            client_options={
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in _YES,
                "read_timeout": timedelta(seconds=SILENT_SECONDS),
                "timeout": _LONGEST,
            },
            retry_config={
                "retry_timeout": seconds,
                "backoff": {"init_backoff": seconds / 30, "max_backoff": seconds / 4},
            },
        )

    def refuses_to_overwrite(self) -> bool:
        """Return whether an object store refuses to create an object that exists.

        Delta Lake creates commits in this way, so that one of two processes has to try again. The
        object is removed at the end.
        """
        path = f"_probe-{uuid4().hex}"
        try:
            with _object_errors(path):
                for _ in range(2):
                    self._objects.put(path, b"probe", mode="create")
        except FileExistsError:
            return True
        finally:
            self.remove(path)
        return False

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of a file."""
        if self.location.is_folder:
            place = self.location.uri(path)
            if not S_ISREG(Path(place).stat().st_mode):  # opening a pipe would block
                raise OSError(EINVAL, "is not a file", place)
            with pa.OSFile(place) as file:
                return file.read_buffer()
        with _object_errors(path):
            data = self._objects.get(path).bytes()
        buffer = pa.allocate_buffer(len(data))
        memoryview(buffer).cast("B")[:] = memoryview(data)
        return buffer

    def side_by_side(self, read: Callable[[Item], Read], items: Sequence[Item]) -> list[Read]:
        """Return the result of ``read`` for each item, in order; on object storage concurrently."""
        if len(items) < 2 or self.location.is_folder:
            return list(map(read, items))
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(read, items))

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        if self.location.is_folder:
            return Path(self.location.uri(path)).is_file()
        try:
            with _object_errors(path):
                self._objects.head(path)
        except FileNotFoundError:
            return False
        return True

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files in a folder by name; empty if there is no such folder."""
        return {name: file.size for name, file in self.find(folder).items() if "/" not in name}

    def find(self, folder: str) -> dict[str, FileStat]:
        """Return all files in a folder and its subfolders, by path relative to the folder."""
        if self.location.is_folder:
            return dict(_files_below(Path(self.location.uri(folder))))
        start = len(folder) + 1
        with _object_errors(folder):
            return {
                meta["path"][start:]: FileStat(meta["size"], meta["last_modified"].timestamp())
                for page in self._objects.list(folder)
                for meta in page
            }

    def data_files(self, table: str) -> dict[str, FileStat]:
        """Return the files of a table without those of its log, by path relative to the table."""
        return {
            path: file
            for path, file in self.find(table).items()
            if path.endswith(".parquet") and not path.startswith("_delta_log/")
        }

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError):
            if self.location.is_folder:
                Path(self.location.uri(path)).unlink()
            else:
                with _object_errors(path):
                    self._objects.delete(path)

    def write(self, path: str, data: pa.Buffer) -> None:
        """Write a file atomically. It is safe from power cuts after ``sync``."""
        if self.location.is_folder:
            file = Path(self.location.uri(path))
            _write_in_folder(file, data)
            self._unsynced.add(file)
            return
        with _object_errors(path):
            self._objects.put(path, memoryview(data).cast("B"))

    def sync(self, others: Iterable[str] = ()) -> None:
        """Wait until all written files, and the files at the paths ``others``, are on disk.

        Before that, a power cut can leave a file empty or missing. An object store keeps everything
        that it has confirmed.
        """
        if not self.location.is_folder:
            return
        with self._syncing:  # a caller with nothing left to sync waits for those that sync
            self._unsynced.update(Path(self.location.uri(path)) for path in others)
            files = {*self._unsynced}
            for file in files:
                _sync(file)
            for folder in {file.parent for file in files}:
                self._sync_folder(folder)
            # Only now, so that after an error the next call syncs them.
            self._unsynced -= files

    def _sync_folder(self, folder: Path) -> None:
        """Sync the entries of a folder, and the entries of its parents if the folder may be new."""
        _sync(folder)
        while folder not in self._synced_folders and folder != folder.parent:
            _sync(folder.parent)
            self._synced_folders.add(folder)
            folder = folder.parent


def _sync(place: Path) -> None:
    """Flush a file, or the entries of a folder, to disk; ignore it if it no longer exists."""
    try:
        descriptor = os.open(place, os.O_RDONLY)
    except OSError as error:
        # Folders above the catalog may belong to other users.
        if error.errno in (ENOENT, EACCES):
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems do not support this call for folders.
        if error.errno not in (EINVAL, ENOTSUP):
            raise OSError(error.errno, error.strerror, str(place)) from None
    finally:
        os.close(descriptor)


@contextmanager
def _object_errors(path: str) -> Iterator[None]:
    """Raise errors of obstore as OSError: FileNotFoundError for a missing object, and so on."""
    from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError

    try:
        yield
    except AlreadyExistsError:
        raise FileExistsError(EEXIST, "Object exists", path) from None
    except NotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise OSError(str(error)) from None
        raise FileNotFoundError(ENOENT, "Object not found", path) from None
    except BaseError as error:
        raise OSError(str(error)) from None


def _files_below(folder: Path) -> Iterator[tuple[str, FileStat]]:
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            with suppress(FileNotFoundError):  # other processes write and remove files meanwhile
                status = file.stat(follow_symlinks=False)
                if S_ISREG(status.st_mode):
                    yield str(file.relative_to(folder)), FileStat(status.st_size, status.st_mtime)


def _write_in_folder(file: Path, data: pa.Buffer) -> None:
    unfinished = file.with_name(f".{uuid4().hex}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        unfinished.replace(file)
    except BaseException as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(file)) from None
        raise

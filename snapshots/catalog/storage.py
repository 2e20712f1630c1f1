"""The files of a catalog: read, also their ends alone, and written, in a folder or in a store.

What is read stands in Arrow's own memory and is decoded from there. Arrow's threads may free it
while the interpreter ends; were it Python's memory, or a file that Python code reads, the process
would abort then ("terminate called without an active exception").
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, ENOENT, ENOTSUP
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import TypeVar
from uuid import uuid4

import msgspec
import pyarrow as pa
import xxhash
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, PyFileSystem

from snapshots.catalog.locations import Location
from snapshots.errors import CatalogError

# -- errors of the store

_LENGTH = 400
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BACKTRACE = re.compile(r"\n\s*0: .*", re.DOTALL)
# What differs from one time to the next: how long it took, how often it was tried, who answered.
_PASSING = re.compile(
    r" in [\d.]+(?:ns|µs|ms|s)\b|, after \d+ retr\w+|, max_retries\W+\d+|, retry_timeout\W+\d+\w*"
    r"|\?list-type=\S*"
)
_XML_ERROR = re.compile(r"(?:<\?xml.*?\?>\s*)?<Error>.*?</Error>", re.DOTALL)
_XML_PART = re.compile(r"<(Code|Message)>(.*?)</\1>", re.DOTALL)
_SYSTEM_ERROR = re.compile(r":?\s*Error: Os \{ code: \d+, kind: \w+, message: \"(.*?)\" \}")
# What the libraries of the store say where a variable is missing, and which one.
_ADVICE = {
    "loading credentials: failed to load IMDS": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "builder error: URL scheme is not allowed": "set AWS_ALLOW_HTTP=true for an http:// endpoint",
}
_PREFIXES = re.compile(r"^(?:Kernel error(?: ->|:) |Generic (?:LocalFileSystem )?error: )+")


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn whatever a store raises into a CatalogError of that location."""
    try:
        yield
    except (DeltaError, pa.ArrowException, OSError) as error:
        raise CatalogError(location, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Return what an error of a store says: one line, without what changes between two tries."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    text = _BACKTRACE.sub("", _ESCAPES.sub("", text))
    text = _XML_ERROR.sub(_code_and_message, text)
    text = _SYSTEM_ERROR.sub(r": \1", text)
    text = _PASSING.sub("", text.replace("\n", " "))
    text = re.sub(r"\s*↳\s*", ": ", text)
    text = _PREFIXES.sub("", " ".join(text.split())).strip(" :")
    if len(text) > _LENGTH:
        # The cause stands at the end.
        text = f"{text[: _LENGTH // 3]} ... {text[-_LENGTH * 2 // 3 :]}"
    for sign, advice in _ADVICE.items():
        if sign in text:
            return f"{text.rstrip('.')}; {advice}"
    return text or type(error).__name__


def _code_and_message(match: re.Match[str]) -> str:
    parts = dict(_XML_PART.findall(match[0]))
    return ", ".join(part for part in (parts.get("Code"), parts.get("Message")) if part)


# -- files

RESTORE = "restore it from a copy of the catalog, or move the catalog away and import again"
"""What to do about a file that is damaged."""

_READERS = 8
_LISTING_SECONDS = 3.0
_SILENT_SECONDS = 10.0
_BYTES_A_SECOND = 1_000_000
_BYTES_BY_TABLE = 3_000_000
"""So many bytes are read by the connections of a table, which wait for them as long for all."""

_NO_SUCH_RANGE = "416"
_WRITTEN_AT_ONCE = 8 << 20

Read = TypeVar("Read")


def checksum(data: pa.Buffer) -> str:
    """Return the xxh3 of bytes: 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(data)


class Found(msgspec.Struct, frozen=True):
    """A file: its size in bytes, and when it was written, in seconds since 1970."""

    size: int
    written_at: float


class Storage:
    """The files below one location. Paths are relative to it; errors are those of the store.

    A request to object storage that fails is tried again for ``retry_seconds``, and one that is not
    answered given up soon; by default all take as long as deltalake lets them, three minutes.
    Raises CatalogError where nothing says by which right to ask the store.
    """

    def __init__(self, location: Location, *, retry_seconds: float | None = None) -> None:
        location.require_credentials()
        self.location = location
        self.options: dict[str, str] | None = None
        if retry_seconds is not None and not location.is_folder:
            # The last pause is not cut short, so that pauses have to be short, too.
            self.options = {
                "timeout": _duration(_seconds_for(_BYTES_BY_TABLE)),
                "retry_timeout": _duration(retry_seconds),
                "backoff_config.init_backoff": _duration(retry_seconds / 30),
                "backoff_config.max_backoff": _duration(retry_seconds / 4),
            }

        self._tables: dict[str, DeltaTable] = {}
        self._syncing = Lock()
        self._unsynced: set[Path] = set()
        self._synced_folders: set[Path] = set()

    def __reduce__(self) -> tuple[object, ...]:
        """Connect anew in another process, which takes the time that it needs."""
        return Storage, (self.location,)

    def error(self, reason: str) -> CatalogError:
        """Return what is wrong with the catalog that is stored here."""
        return CatalogError(self.location.text, reason)

    @property
    def identity(self) -> str | None:
        """What tells a store of objects from others: 16 hexadecimal digits; None of a folder."""
        if self.location.is_folder:
            return None
        # The same bucket elsewhere is another store: a catalog can be copied there.
        place = f"{os.environ.get('AWS_ENDPOINT_URL', '')} {self.location.root}"
        return checksum(pa.py_buffer(place.encode()))

    def connect(self, folder: str, table: DeltaTable) -> None:
        """Read what is below a folder by the connections of the table that is there.

        A handler of its own for each file would take as long to make as most files to read.
        """
        self._tables[folder] = table

    @cached_property
    def _handler(self) -> DeltaStorageHandler:
        return DeltaStorageHandler(self.location.root, self.options)

    @cached_property
    def _lister(self) -> DeltaStorageHandler:
        """For listings, during which deltalake lets no other thread run."""
        return DeltaStorageHandler(self.location.root, self._within(_LISTING_SECONDS))

    def _within(self, seconds: float) -> dict[str, str] | None:
        return self.options and self.options | {"timeout": _duration(seconds)}

    def read(self, path: str, size: int | None = None, start: int = 0) -> pa.Buffer:
        """Return the bytes of a file; its ``size``, where it is known, saves a request.

        Those before ``start`` are not read, and may be any in the buffer. Raises ArrowInvalid for
        an object that is not of that size and cannot be read therefore.
        """
        if self.location.is_folder:
            place = self.location.uri(path)
            if not S_ISREG(Path(place).stat().st_mode):  # a pipe would be waited for
                raise OSError(EINVAL, "is not a file", place)
            with pa.OSFile(place) as file:
                file.seek(min(start, file.size()))
                data = file.read_buffer()
            if not start:
                return data
        else:
            data = self._object_of_size(path, size, start)
        buffer = pa.allocate_buffer(start + len(data))
        memoryview(buffer).cast("B")[start:] = memoryview(data).cast("B")
        return buffer

    def _object_of_size(self, path: str, size: int | None, start: int) -> bytes:
        try:
            return self._object(path, size, start)
        except FileNotFoundError:
            raise
        except OSError:  # also of an empty object, of which no range can be asked for
            actual = self._object_size(path)
            if size in (None, actual) or actual is None:
                raise
            raise pa.ArrowInvalid(f"{path} has {actual:,} bytes instead of {size:,}") from None

    def _object(self, path: str, size: int | None, start: int = 0) -> bytes:
        if size is None and (size := self._object_size(path)) is None:
            raise FileNotFoundError(ENOENT, "Object not found", path)
        with self._opened(path, size, size - start) as stream:
            stream.seek(start)
            data: bytes = stream.read(size - start)
            return data

    def _opened(self, path: str, size: int, num_bytes: int) -> pa.PythonFile:
        """Open an object of a size, to read so many bytes of it."""
        folder, _, inner = path.partition("/")
        table = self._tables.get(folder)
        if table is None or num_bytes > _BYTES_BY_TABLE:
            options = self._within(_seconds_for(num_bytes))
            alone = DeltaStorageHandler(self.location.root, options, {path: size})
            return alone.open_input_file(path)
        raw = table._table  # noqa: SLF001 - as deltalake itself makes a dataset of a table
        shared = DeltaStorageHandler.from_table(raw, self.options, {inner: size})
        return shared.open_input_file(inner)

    def _object_size(self, path: str) -> int | None:
        # To open a file tells its size too, but lets no other thread run meanwhile.
        (info,) = self._lister.get_file_info([path])
        return int(info.size) if info.is_file else None

    def read_all(self, sizes: Mapping[str, int]) -> list[pa.Buffer]:
        """Return the bytes of several files in their order, read side by side."""
        return self.side_by_side(lambda path: self.read(path, sizes[path]), [*sizes])

    def side_by_side(self, read: Callable[[str], Read], paths: Sequence[str]) -> list[Read]:
        """Return what ``read`` does of each path, in their order; on object storage all at once."""
        if len(paths) < 2 or self.location.is_folder:
            return list(map(read, paths))
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(read, paths))

    def exists(self, path: str) -> bool:
        """Tell whether there is a file."""
        if self.location.is_folder:
            return Path(self.location.uri(path)).is_file()
        try:
            self._object(path, 1)
        except FileNotFoundError:
            return False
        except OSError as error:
            if _NO_SUCH_RANGE not in str(error):  # an empty file has no first byte
                raise
        return True

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files in a folder by name; none where there is no folder."""
        return {name: file.size for name, file in self.find(folder).items() if "/" not in name}

    def find(self, folder: str) -> dict[str, Found]:
        """Return all files in a folder and the folders in it, by their paths below it."""
        if self.location.is_folder:
            return dict(_files_below(Path(self.location.uri(folder))))
        selector = FileSelector(folder, allow_not_found=True, recursive=True)
        infos = self._lister.get_file_info_selector(selector)
        start = len(folder) + 1
        return {
            info.path[start:]: Found(info.size, info.mtime.timestamp())
            for info in infos
            if info.is_file
        }

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            if self.location.is_folder:
                Path(self.location.uri(path)).unlink()
            else:
                self._handler.delete_file(path)

    def write(self, path: str, data: pa.Buffer) -> None:
        """Write a file; nobody sees a part of it. It outlasts a power cut after ``sync``."""
        if self.location.is_folder:
            file = Path(self.location.uri(path))
            _write_in_folder(file, data)
            self._unsynced.add(file)
            return
        # deltalake's stream takes bytes alone, as Arrow's buffered stream gives them to it.
        files = PyFileSystem(self._handler)
        with files.open_output_stream(path, buffer_size=_WRITTEN_AT_ONCE) as stream:
            for start in range(0, data.size, _WRITTEN_AT_ONCE - 1):
                stream.write(data.slice(start, min(_WRITTEN_AT_ONCE - 1, data.size - start)))

    def sync(self, others: Iterable[str] = ()) -> None:
        """Return once all that was written is on the disk, and so are ``others`` at their paths.

        Until then a power cut can leave a file empty, or no file. A store of objects keeps what it
        has confirmed.
        """
        if not self.location.is_folder:
            return
        files = {Path(self.location.uri(path)) for path in others}
        with self._syncing:  # who has nothing left to sync waits for those who do
            while self._unsynced:
                files.add(self._unsynced.pop())
            for file in files:
                _sync(file)
            for folder in {file.parent for file in files}:
                self._sync_folder(folder)

    def _sync_folder(self, folder: Path) -> None:
        """Sync what a folder lists, and that it is listed itself where it may be new."""
        _sync(folder)
        while folder not in self._synced_folders and folder != folder.parent:
            self._synced_folders.add(folder)
            folder = folder.parent
            _sync(folder)


def _sync(place: Path) -> None:
    """Have the disk keep a file, or the names in a folder; what is gone needs no keeping."""
    try:
        descriptor = os.open(place, os.O_RDONLY)
    except OSError as error:
        # Folders above the catalog may belong to others.
        if error.errno in (ENOENT, EACCES):
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have no such call for folders.
        if error.errno not in (EINVAL, ENOTSUP):
            raise OSError(error.errno, error.strerror, str(place)) from None
    finally:
        os.close(descriptor)


def _seconds_for(num_bytes: int) -> float:
    """Return how long to wait for so many bytes."""
    return _SILENT_SECONDS + num_bytes / _BYTES_A_SECOND


def _duration(seconds: float) -> str:
    return f"{seconds * 1_000:.0f}ms"


def _files_below(folder: Path) -> Iterator[tuple[str, Found]]:
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            with suppress(FileNotFoundError):  # others write and remove files meanwhile
                status = file.stat(follow_symlinks=False)
                if S_ISREG(status.st_mode):
                    yield str(file.relative_to(folder)), Found(status.st_size, status.st_mtime)


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

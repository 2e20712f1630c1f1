"""The files of a catalog: read and written whole, in a folder or on object storage.

What is read stands in Arrow's own memory and is decoded from there. Arrow's threads may free it
while the interpreter ends; were it Python's memory, or a file that Python code reads, the process
would abort then ("terminate called without an active exception").
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, PyFileSystem

from snapshots.catalog.locations import Location
from snapshots.tables import StoredFile

RESTORE = "restore it from a copy of the catalog, or move the catalog away and import again"
"""What to do about a file that is damaged."""

_READERS = 8
_DICTIONARY_BYTES = 1 << 24
_WRITTEN_AT_ONCE = 8 << 20


class Storage:
    """The files below one location. Paths are relative to it; errors are those of the store."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def read(self, path: str, size: int | None = None) -> pa.Buffer:
        """Return the bytes of a file; its ``size``, where it is known, saves a request."""
        if self.location.is_folder:
            with pa.OSFile(self.location.uri(path)) as file:
                return file.read_buffer()
        handler = DeltaStorageHandler(
            self.location.root, known_sizes=None if size is None else {path: size}
        )
        with handler.open_input_file(path) as stream:
            data = stream.read()
        buffer = pa.allocate_buffer(len(data))
        memoryview(buffer).cast("B")[:] = data
        return buffer

    def read_all(self, sizes: Mapping[str, int]) -> list[pa.Buffer]:
        """Return the bytes of several files in their order, read side by side."""
        paths = list(sizes)
        if len(paths) < 2 or self.location.is_folder:
            return [self.read(path, sizes[path]) for path in paths]
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(self.read, paths, map(sizes.__getitem__, paths)))

    def exists(self, path: str) -> bool:
        """Tell whether there is a file."""
        if self.location.is_folder:
            return Path(self.location.uri(path)).is_file()
        (info,) = DeltaStorageHandler(self.location.root).get_file_info([path])
        return bool(info.is_file)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, in no order; none where there is none."""
        if self.location.is_folder:
            place = Path(self.location.uri(folder))
            return [file.name for file in place.iterdir()] if place.is_dir() else []
        selector = FileSelector(folder, allow_not_found=True)
        found = DeltaStorageHandler(self.location.root).get_file_info_selector(selector)
        return [info.base_name for info in found if info.is_file]

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        if self.location.is_folder:
            Path(self.location.uri(path)).unlink(missing_ok=True)
        else:
            DeltaStorageHandler(self.location.root).delete_file(path)

    def write(self, path: str, data: pa.Buffer) -> None:
        """Write a file; nobody sees a part of it."""
        if self.location.is_folder:
            _write_in_folder(Path(self.location.uri(path)), data)
            return
        # deltalake's stream takes bytes alone, as Arrow's buffered stream gives them to it.
        files = PyFileSystem(DeltaStorageHandler(self.location.root))
        with files.open_output_stream(path, buffer_size=_WRITTEN_AT_ONCE) as stream:
            for start in range(0, data.size, _WRITTEN_AT_ONCE - 1):
                stream.write(data.slice(start, min(_WRITTEN_AT_ONCE - 1, data.size - start)))


def _write_in_folder(file: Path, data: pa.Buffer) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{uuid4().hex}.tmp")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def checksum(data: pa.Buffer) -> str:
    """Return the xxh3 of bytes: 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(data)


def to_parquet(table: pa.Table) -> pa.Buffer:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", dictionary_pagesize_limit=_DICTIONARY_BYTES)
    return sink.getvalue()


def from_parquet(path: str, data: pa.Buffer, columns: Sequence[str]) -> pa.Table:
    """Read the columns, of those that are there, from the bytes of a Parquet file.

    Raises ArrowInvalid that names the path.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            known = set(file.schema_arrow.names)
            return file.read([name for name in columns if name in known])
    except (pa.ArrowException, OSError) as error:
        reason = f"{path} is no Parquet file that can be read ({error}); {RESTORE}"
        raise pa.ArrowInvalid(reason) from None


def stored(path: str, data: pa.Buffer) -> StoredFile:
    """Describe a file by its bytes."""
    return StoredFile(path=path, size=data.size, checksum=checksum(data))

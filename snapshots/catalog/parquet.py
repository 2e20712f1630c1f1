"""Conversion between tables and the bytes of Parquet files, which are named by their checksum."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.catalog.storage import Storage, checksum
from snapshots.tables import StoredFile

# The end of a file's name with the checksum of its bytes; files of other tools have none.
_CHECKSUM = re.compile(r"(?:^|[/-])([0-9a-f]{16})\.zstd\.parquet$")
_LEVEL = 3  # 2 % smaller than with Arrow's default, 1; higher levels save nothing more
_FEW_PARTS = 4
_DICTIONARY_BYTES = 1 << 24

Range = tuple[str, str]
"""The smallest and the largest of some texts."""


def to_parquet(
    table: pa.Table, rows_at_once: int | None = None, encodings: Mapping[str, str] | None = None
) -> pa.Buffer:
    """Return a table as the bytes of a Parquet file.

    ``rows_at_once`` is the number of rows in each part that ``parts_of_parquet`` can read
    separately; by default there is one part. ``encodings`` are those of columns whose values rarely
    repeat; other text columns have a dictionary.
    """
    encodings = encodings or {}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[path for path in _texts(table.schema) if path not in encodings],
        column_encoding=dict(encodings),
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
        row_group_size=rows_at_once,
        # Parquet has all types of the tables; descriptions are in the table's log.
        store_schema=False,
    )
    return sink.getvalue()


def _texts(schema: pa.Schema) -> list[str]:
    """Return Parquet's names of the text columns, such as ``stacks.list.element``."""
    return [path for field in schema for path in _below(field.name, field.type)]


def _below(path: str, column_type: pa.DataType) -> Iterator[str]:
    if pa.types.is_list(column_type):
        yield from _below(f"{path}.list.element", column_type.value_type)
    elif pa.types.is_struct(column_type):
        for field in column_type:
            yield from _below(f"{path}.{field.name}", field.type)
    elif pa.types.is_string(column_type):
        yield path


def from_parquet(
    path: str,
    data: pa.Buffer,
    columns: Sequence[str] | None = None,
    written: StoredFile | None = None,
    coded: Sequence[str] = (),
    *,
    is_checked: bool = False,
) -> pa.Table:
    """Read the existing ones of some columns, or all columns, from the bytes of a Parquet file.

    The bytes must match the checksum of ``written``, or that in the file's name, except with
    ``is_checked``: the bytes of other columns may then be missing. Texts of the columns ``coded``
    are returned as codes into their distinct values, as the file stores them. Raises ArrowInvalid
    with the path.
    """
    if not is_checked:
        check_bytes(path, data, written)
    with _opened(path, data, coded) as file:
        names = file.schema_arrow.names
        return file.read(
            [name for name in (names if columns is None else columns) if name in names]
        )


def parts_of_parquet(path: str, data: pa.Buffer, may_have: Callable[[Range], bool]) -> pa.Table:
    """Read the parts of a Parquet file that may contain matching rows.

    ``may_have`` is called with the smallest and the largest value of the first column in a part;
    parts without these statistics are read. Raises the same errors as ``from_parquet``.
    """
    check_bytes(path, data)
    with _opened(path, data) as file:
        metadata = file.metadata
        parts = [
            number
            for number in range(metadata.num_row_groups)
            if not (statistics := metadata.row_group(number).column(0).statistics)
            or not statistics.has_min_max
            or may_have((statistics.min, statistics.max))
        ]
        # Distributing a few parts over threads takes longer than reading them.
        return file.read_row_groups(parts, use_threads=len(parts) > _FEW_PARTS)


def check_bytes(path: str, data: pa.Buffer, written: StoredFile | None = None) -> None:
    """Raise ArrowInvalid if bytes have another checksum than ``written``, or the file's name."""
    named = _CHECKSUM.search(path)
    expected = written.checksum if written else named and named[1]
    if expected and checksum(data) != expected:
        raise pa.ArrowInvalid(f"{path} does not have the bytes that were written")


@contextmanager
def _opened(path: str, data: pa.Buffer, coded: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    try:
        metadata, paths = None, []
        if coded:
            metadata = pq.read_metadata(pa.BufferReader(data))
            fields = metadata.schema.to_arrow_schema()
            paths = [path for it in fields if it.name in coded for path in _below(it.name, it.type)]
        with pq.ParquetFile(
            pa.BufferReader(data), metadata=metadata, read_dictionary=paths
        ) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise pa.ArrowInvalid(f"{path} is not a readable Parquet file ({error})") from None


def named_by_bytes(prefix: str, data: pa.Buffer) -> StoredFile:
    """Describe a new Parquet file, whose name ends with the checksum of its bytes."""
    of_bytes = checksum(data)
    return StoredFile(path=f"{prefix}{of_bytes}.zstd.parquet", size=data.size, checksum=of_bytes)


# -- tails

# Columns that most queries do not need come first in a file. The tail, the end of the file with
# Parquet's footer, contains everything that those queries need, and takes one request.

LEAST_SPARED = 1 << 16
"""The minimum number of bytes that a tail must save; otherwise the entire file is read."""

_NAMED = re.compile(r"-tail-(\d+)-([0-9a-f]{16})-[0-9a-f]{16}\.zstd\.parquet$")


def with_first(rows: pa.Table, first: Collection[str]) -> pa.Table:
    """Return rows with the columns ``first``, as far as they exist, before the others."""
    return rows.select(sorted(rows.column_names, key=lambda name: name not in first))


def tail_start(path: str) -> int:
    """Return the offset of a file's tail according to its name; 0 without a tail."""
    match = _NAMED.search(path)
    return int(match[1]) if match else 0


def read_tail(storage: Storage, path: str, size: int) -> pa.Buffer | None:
    """Return a buffer of a file's size that contains only its tail.

    None if the file's name states no tail, or if the bytes are not those that were written: reading
    the entire file then reports the damage. Raises the errors of ``Storage.read``.
    """
    match = _NAMED.search(path)
    start = int(match[1]) if match else 0
    if match is None or not 0 < start < size:
        return None
    data = storage.read(path, size, start)
    return data if checksum(data.slice(start)) == match[2] else None


def named_with_tail(prefix: str, data: pa.Buffer, first: Collection[str]) -> StoredFile:
    """Describe a new Parquet file, whose name contains the position of its tail and the checksums.

    The columns ``first`` are those of ``with_first``. The tail is only stated if it saves enough
    bytes.
    """
    metadata = pq.read_metadata(pa.BufferReader(data))
    start = 0
    # Each of several row groups would contain all columns.
    if metadata.num_row_groups == 1:
        group = metadata.row_group(0)
        others = [
            column
            for column in map(group.column, range(group.num_columns))
            if column.path_in_schema.partition(".")[0] not in first
        ]
        start = min(it.dictionary_page_offset or it.data_page_offset for it in others)
    described = ""
    if start >= LEAST_SPARED:
        described = f"tail-{start}-{checksum(data.slice(start))}-"
    return named_by_bytes(prefix + described, data)

"""The tail of a file: all of its columns but a few large ones, read with one request.

Columns that most questions do without stand first in a file. So all that those need is the end of
it, with Parquet's footer.
"""

import re
from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.catalog.store.parquet import checksum, named_by_bytes
from snapshots.catalog.store.storage import Storage
from snapshots.tables import FileTail, StoredFile

LEAST_SPARED = 1 << 16
"""Where a tail would spare fewer bytes, the file is read whole."""

_NAMED = re.compile(r"-tail-(\d+)-([0-9a-f]{16})-[0-9a-f]{16}\.zstd\.parquet$")


def with_first(rows: pa.Table, first: Collection[str]) -> pa.Table:
    """Return rows whose columns ``first``, of those that are there, stand before the others."""
    return rows.select(sorted(rows.column_names, key=lambda name: name not in first))


def tail_of(data: pa.Buffer, first: Collection[str]) -> FileTail | None:
    """Return the tail of such bytes, without the columns ``first``; None where it spares little."""
    start = _start_of_tail(data, first)
    if start < LEAST_SPARED:
        return None
    return FileTail(start=start, checksum=checksum(data.slice(start)))


def _start_of_tail(data: pa.Buffer, first: Collection[str]) -> int:
    """Return where the other columns begin; 0 where some of them are before the last of these.

    So it is with several row groups: each has all columns.
    """
    metadata = pq.read_metadata(pa.BufferReader(data))
    if metadata.num_row_groups != 1:
        return 0
    group = metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    starts: dict[bool, list[int]] = {True: [], False: []}
    for column in columns:
        pages = (column.dictionary_page_offset, column.data_page_offset)
        start = min(offset for offset in pages if offset is not None)
        starts[column.path_in_schema.partition(".")[0] in first].append(start)
    before, others = starts[True], starts[False]
    return min(others) if before and others and max(before) < min(others) else 0


def read_tail(storage: Storage, path: str, size: int, tail: FileTail) -> pa.Buffer | None:
    """Return a buffer of a file's size, of which the tail was read.

    None where that is not what was written: to read the whole file tells what is wrong. Raises as
    ``Storage.read``.
    """
    if not 0 < tail.start < size:
        return None
    data = storage.read_end(path, size, tail.start)
    return data if checksum(data.slice(tail.start)) == tail.checksum else None


def named_with_tail(prefix: str, data: pa.Buffer, first: Collection[str]) -> StoredFile:
    """Describe a new Parquet file, whose name tells its tail, if it has one, and its checksum."""
    tail = tail_of(data, first)
    told = f"tail-{tail.start}-{tail.checksum}-" if tail else ""
    return named_by_bytes(prefix + told, data)


def tail_named(path: str) -> FileTail | None:
    """Return the tail that the name of a file tells."""
    found = _NAMED.search(path)
    return FileTail(start=int(found[1]), checksum=found[2]) if found else None

"""The tail of a content's file: all of its columns but one, read with one request.

The dependencies are up to half of the bytes, and the dependency graph alone needs them. They stand
first in a file; so all that a frame is made of is the end of it, with Parquet's footer.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.catalog.store.parquet import checksum
from snapshots.tables import FileTail, StoredFile

LEAST_SPARED = 1 << 16
"""Where a tail would spare fewer bytes, the file is read whole."""

_FIRST = "dependencies"


def first_columns_first(rows: pa.Table) -> pa.Table:
    """Return rows with their columns in the order of a file."""
    return rows.select([_FIRST, *(name for name in rows.column_names if name != _FIRST)])


def has_all_of(columns: Sequence[str]) -> bool:
    """Tell whether a tail has these columns."""
    return _FIRST not in columns


def with_tail(file: StoredFile, data: pa.Buffer) -> StoredFile:
    """Return a file of these bytes with its tail, where to read that alone is worth it."""
    start = _start_of_tail(data)
    if start < LEAST_SPARED:
        return file
    tail = FileTail(start=start, checksum=checksum(data.slice(start)))
    return msgspec.structs.replace(file, tail=tail)


def _start_of_tail(data: pa.Buffer) -> int:
    """Return where the first of the other columns begins; 0 where some are before the first one.

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
        starts[column.path_in_schema.partition(".")[0] == _FIRST].append(start)
    first, others = starts[True], starts[False]
    return min(others) if first and others and max(first) < min(others) else 0

"""Conversion between tables and the bytes of Parquet files, which are named by their checksum."""

import re
from collections.abc import Iterator, Sequence
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.catalog.storage import checksum

# The end of a file's name with the checksum of its bytes; files of other tools have none.
_CHECKSUM = re.compile(r"(?:^|[/-])([0-9a-f]{16})\.zstd\.parquet$")
_LEVEL = 3  # 2 % smaller than with Arrow's default, 1; higher levels save nothing more
_DICTIONARY_BYTES = 1 << 24
_HASH = "hash"
"""A column whose values rarely repeat: a dictionary would be larger, and slower to read."""


def to_parquet(table: pa.Table, rows_at_once: int | None = None) -> pa.Buffer:
    """Return a table as the bytes of a Parquet file.

    ``rows_at_once`` is the number of rows in each part that can be read separately; by default
    there is one part. All texts but hashes have a dictionary. The file contains the checksums and
    the ranges of its pages, by which other engines notice damage and skip pages.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[path for path in _texts(table.schema) if path != _HASH],
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
        row_group_size=rows_at_once,
        write_page_checksum=True,
        write_page_index=rows_at_once is not None,
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
    coded: Sequence[str] = (),
) -> pa.Table:
    """Read the existing ones of some columns, or all columns, from the bytes of a Parquet file.

    Texts of the columns ``coded`` are returned as codes into their distinct values, as the file
    stores them. Raises ArrowInvalid with the path.
    """
    try:
        metadata = pq.read_metadata(pa.BufferReader(data))
        fields = metadata.schema.to_arrow_schema()
        paths = [path for it in fields if it.name in coded for path in _below(it.name, it.type)]
        with pq.ParquetFile(
            pa.BufferReader(data), metadata=metadata, read_dictionary=paths
        ) as file:
            names = fields.names if columns is None else columns
            return file.read([name for name in names if name in fields.names])
    except (pa.ArrowException, OSError) as error:
        raise pa.ArrowInvalid(f"{path} is not a readable Parquet file ({error})") from None


def check_bytes(path: str, data: pa.Buffer) -> None:
    """Raise ArrowInvalid if bytes have another checksum than the name of their file has."""
    named = _CHECKSUM.search(path)
    if named and checksum(data) != named[1]:
        raise pa.ArrowInvalid(f"{path} does not have the bytes that were written")


def new_path(folder: str, data: pa.Buffer) -> str:
    """Return the path of a new Parquet file in a folder; it ends with the checksum of its bytes."""
    return f"{folder}{uuid4()}-{checksum(data)}.zstd.parquet"

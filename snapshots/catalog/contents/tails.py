"""The tail of a content's file: all of its columns but one.

The dependencies are up to half of the bytes, and the dependency graph alone needs them.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from snapshots.catalog.store.tails import tail_of, with_first
from snapshots.tables import StoredFile

_FIRST = ("dependencies",)


def first_columns_first(rows: pa.Table) -> pa.Table:
    """Return rows with their columns in the order of a file."""
    return with_first(rows, _FIRST)


def has_all_of(columns: Sequence[str]) -> bool:
    """Tell whether a tail has these columns."""
    return not {*_FIRST}.intersection(columns)


def with_tail(file: StoredFile, data: pa.Buffer) -> StoredFile:
    """Return a file of these bytes with its tail, where to read that alone is worth it."""
    return msgspec.structs.replace(file, tail=tail_of(data, _FIRST))

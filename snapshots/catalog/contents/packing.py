"""What is kept of a content: all of it, or what it has beside another one; the bytes of a file."""

from typing import NamedTuple

import pyarrow as pa

from snapshots.catalog.contents.bases import Below
from snapshots.catalog.contents.files import Base
from snapshots.catalog.contents.overlays import overlay, whole
from snapshots.catalog.contents.tails import first_columns_first
from snapshots.catalog.store.parquet import to_parquet

# A dictionary of hashes is as long as the hashes. Those of dependencies repeat.
_ENCODINGS = {
    "hash": "DELTA_BYTE_ARRAY",
    "size": "PLAIN",
    "place": "DELTA_BINARY_PACKED",
    "base_place": "DELTA_BINARY_PACKED",
}


class Packed(NamedTuple):
    """The rows that are kept, the bytes of their file, and what they are laid over, if anything."""

    rows: pa.Table
    data: pa.Buffer
    base: Base | None


def packed(rows: pa.Table, below: Below | None) -> Packed:
    """Return what is kept of a content; ``below`` is what it can be laid over."""
    if below is not None:
        own = overlay(below.base.digest, below.rows, rows)
        if own is not None:
            data = _to_parquet(own)
            if data.size <= below.most_bytes:
                return Packed(own, data, below.base)
    kept = whole(rows)
    return Packed(kept, _to_parquet(kept), None)


def _to_parquet(rows: pa.Table) -> pa.Buffer:
    return to_parquet(first_columns_first(rows), encodings=_ENCODINGS)

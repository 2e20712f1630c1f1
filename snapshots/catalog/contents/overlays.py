"""A content that has much in common with another one is laid over it: only what differs is kept.

The other one, its base, is whole: each of its rows says its ``place``. The rows of an overlay are
those that the base has not, or has otherwise; a ``base_place`` is that of a row of the base that is
not in the content. A row without a hash has nothing but that: a place takes two bytes where a hash
takes twenty, which nothing compresses.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.catalog.contents.equal_rows import equal_rows
from snapshots.tables import SPEC_ROWS, SPECS, with_columns

OF_BASE, OF_OVERLAY = ["base", "place"], ["base", "base_place", "hash"]
"""The columns that tell of a base, and of an overlay, how the two lie over each other."""

_LAYERS = [field for field in SPECS if field.name not in ("digest", *SPEC_ROWS.names)]


def whole(rows: pa.Table) -> pa.Table:
    """Return the rows of a content as they are kept where it lies over no other."""
    return _with_layers(rows.select(SPEC_ROWS.names), place=pa.array(np.arange(len(rows))))


def overlay(digest: str, base: pa.Table, rows: pa.Table) -> pa.Table | None:
    """Return what is kept of a content that is laid over the whole one with that digest.

    None where that cannot be: a hash stands in one of them twice, or the base was written before
    rows had a place.
    """
    rows = rows.select(SPEC_ROWS.names)
    hashes = base["hash"].combine_chunks()
    if base["place"].null_count or not (_is_unique(hashes) and _is_unique(rows["hash"])):
        return None
    found = np.asarray(pc.index_in(rows["hash"], hashes).fill_null(-1), np.int64)
    is_known = found >= 0
    known = found[is_known]
    stays = equal_rows(
        rows.filter(pa.array(is_known)), base.select(rows.column_names).take(pa.array(known))
    )
    is_own = ~is_known
    is_own[is_known] = ~stays
    is_gone = np.ones(len(base), np.bool_)
    is_gone[known] = False
    places = base["place"].combine_chunks()
    in_stead = found[is_own]
    own = _with_layers(
        rows.filter(pa.array(is_own)),
        base=pa.repeat(digest, len(in_stead)),
        base_place=places.take(pa.array(in_stead, mask=in_stead < 0)),
    )
    gone = places.filter(pa.array(is_gone))
    nothing = with_columns(pa.table({"place": pa.nulls(len(gone), pa.int64())}), SPEC_ROWS.names)
    return pa.concat_tables(
        [own, _with_layers(nothing, base=pa.repeat(digest, len(gone)), base_place=gone)]
    )


def laid_over(base: pa.Table, own: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return columns of a content that is laid over a base, in no order of rows.

    ``base`` has those columns and ``place``, ``own`` those, ``hash`` and ``base_place``.
    """
    stays = pc.invert(pc.is_in(base["place"], own["base_place"].combine_chunks()))
    return pa.concat_tables(
        [
            base.select(columns).filter(stays),
            own.select(columns).filter(pc.is_valid(own["hash"])),
        ]
    )


def whole_rows(rows: pa.Table) -> pa.Table:
    """Return those that are laid over nothing, each once: two imports may have written the same."""
    rows = rows.filter(pc.is_null(rows["base"]))
    _, first = np.unique(np.asarray(rows["place"].fill_null(-1)), return_index=True)
    return rows if rows["place"].null_count or len(first) == len(rows) else rows.take(first)


def _is_unique(hashes: pa.ChunkedArray | pa.Array) -> bool:
    is_unique: bool = pc.count_distinct(hashes).as_py() == len(hashes)
    return is_unique


def _with_layers(rows: pa.Table, **known: pa.Array) -> pa.Table:
    for field in _LAYERS:
        rows = rows.append_column(field, known.get(field.name, pa.nulls(len(rows), field.type)))
    return rows

"""A content that has much in common with another one is laid over it: only what differs is kept.

The other one, its base, is whole: each of its rows says its ``place``. The rows of an overlay are
those that the base has not, or has otherwise; a ``base_place`` is that of a row of the base that is
not in the content. A row without a hash has nothing but that: a place takes two bytes where a hash
takes twenty, which nothing compresses.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache

from snapshots.catalog.parquet import to_parquet
from snapshots.contents import ContentRows
from snapshots.tables import SPEC_ROWS, SPECS, Files, StoredFile, with_columns

# -- the files of contents

# A content that is laid over another has two files: that of its base, then its own. Each stands in
# the folder of the content that its rows belong to.

_FOLDER = "digest="


class Base(msgspec.Struct, frozen=True):
    """A whole content: its digest, and its file."""

    digest: str
    file: StoredFile


def folder_of(digest: str) -> str:
    """Return where the files with rows of a content are, below the table ``specs``."""
    return f"{_FOLDER}{digest}/"


def owner_of(file: StoredFile, digest: str) -> str:
    """Return which content a file has rows of: the one with that digest, or its base."""
    folder, slash, _ = file.path.partition("/")
    return folder.removeprefix(_FOLDER) if slash and folder.startswith(_FOLDER) else digest


def own_files(digest: str, files: Sequence[StoredFile]) -> tuple[StoredFile, ...]:
    """Return those of a content's files that have rows of its own."""
    return tuple(file for file in files if owner_of(file, digest) == digest)


def base_of(digest: str, files: Sequence[StoredFile]) -> Base | None:
    """Return what a content is laid over: itself where it is whole; None where it is not known."""
    if not files or len(files) - len(own_files(digest, files)) > 1:
        return None
    return Base(owner_of(files[0], digest), files[0])


def with_bases(files: Files) -> dict[str, Sequence[StoredFile]]:
    """Return the files of contents, and those of the bases that nothing else names."""
    known_files: dict[str, Sequence[StoredFile]] = dict(files)
    for digest, of_content in files.items():
        for file in of_content:
            if not known_files.get(owner := owner_of(file, digest)):
                known_files[owner] = (file,)
    return known_files


def by_owner(files: Files) -> dict[str, tuple[StoredFile, ...]]:
    """Return the files that contents have rows of their own in; so also of bases."""
    return {
        digest: own_files(digest, of_content) for digest, of_content in with_bases(files).items()
    }


# -- equal rows

# Rows are never made into objects: nested values are compared where they lie.

Mask = npt.NDArray[np.bool_]


def equal_rows(first: pa.Table, second: pa.Table) -> Mask:
    """Return a mask over the rows of two tables: those that are equal in all columns.

    Both have the same columns, and as many rows. Null equals null.
    """
    equal = np.ones(len(first), np.bool_)
    for name in first.column_names:
        if not equal.any():
            break
        equal &= _equal(first[name].combine_chunks(), second[name].combine_chunks())
    return equal


def _equal(first: pa.Array, second: pa.Array) -> Mask:
    if pa.types.is_list(first.type):
        equal = _equal_lists(first, second)
    elif pa.types.is_struct(first.type):
        equal = np.ones(len(first), np.bool_)
        for of_first, of_second in zip(first.flatten(), second.flatten(), strict=True):
            equal &= _equal(of_first, of_second)
    else:
        equal = _mask(pc.equal(first, second).fill_null(False))
    if not first.null_count and not second.null_count:
        return equal
    is_known, is_known_too = _mask(first.is_valid()), _mask(second.is_valid())
    return np.where(is_known & is_known_too, equal, is_known == is_known_too)


def _equal_lists(first: pa.ListArray, second: pa.ListArray) -> Mask:
    lengths = _lengths(first)
    equal: Mask = lengths == _lengths(second)
    if not equal.all():
        # Of those that are as long the items stand side by side.
        rows = pa.array(equal)
        equal[equal] = _equal_lists(first.filter(rows), second.filter(rows))
        return equal
    items = _equal(first.flatten(), second.flatten())
    unequal_before = np.concatenate(([0], np.cumsum(~items)))
    ends = np.cumsum(lengths)
    result: Mask = unequal_before[ends] == unequal_before[ends - lengths]
    return result


def _lengths(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    return np.asarray(pc.list_value_length(lists).fill_null(0), np.int64)


def _mask(values: pa.BooleanArray) -> Mask:
    mask: Mask = np.asarray(values, np.bool_)
    return mask


# -- overlays

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
    places_in_base = np.asarray(pc.index_in(rows["hash"], hashes).fill_null(-1), np.int64)
    is_known = places_in_base >= 0
    common = places_in_base[is_known]
    stays = equal_rows(
        rows.filter(pa.array(is_known)), base.select(rows.column_names).take(pa.array(common))
    )
    is_own = ~is_known
    is_own[is_known] = ~stays
    is_gone = np.ones(len(base), np.bool_)
    is_gone[common] = False
    places = base["place"].combine_chunks()
    in_stead = places_in_base[is_own]
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
        [base.select(columns).filter(stays), own.select(columns).filter(pc.is_valid(own["hash"]))]
    )


def whole_rows(rows: pa.Table) -> pa.Table:
    """Return those that are laid over nothing, each once: two imports may have written the same."""
    rows = rows.filter(pc.is_null(rows["base"]))
    _, first = np.unique(np.asarray(rows["place"].fill_null(-1)), return_index=True)
    return rows if rows["place"].null_count or len(first) == len(rows) else rows.take(first)


def _is_unique(hashes: pa.ChunkedArray | pa.Array) -> bool:
    is_unique: bool = pc.count_distinct(hashes).as_py() == len(hashes)
    return is_unique


def _with_layers(rows: pa.Table, **values: pa.Array) -> pa.Table:
    for field in _LAYERS:
        rows = rows.append_column(field, values.get(field.name, pa.nulls(len(rows), field.type)))
    return rows


# -- what is written of a content

# The base is the whole content that the one before in the series is, or is laid over. It is given
# up where one more overlay takes more than the contents over that base take on average: overlays
# grow as time goes on, and the average would from then on.

# A dictionary of hashes is as long as the hashes. Those of dependencies repeat.
_ENCODINGS = {
    "hash": "DELTA_BYTE_ARRAY",
    "size": "PLAIN",
    "place": "DELTA_BINARY_PACKED",
    "base_place": "DELTA_BINARY_PACKED",
}

LEAST_BYTES = 1 << 16
"""What is smaller is kept whole: a second file costs more than it spares."""

MOST_SHARE = 0.5
"""An overlay takes at most this share of what the content takes whole.

Two files are read as fast as one where the second is small.
"""

_KEPT_BYTES = 128 << 20


class Packed(msgspec.Struct, frozen=True):
    """The rows that are kept, the bytes of their file, and what they are laid over, if anything."""

    rows: pa.Table
    data: pa.Buffer
    base: Base | None = None


class Bases:
    """The whole contents of a catalog, while one import goes on.

    ``files`` are those of the contents that are known. ``read`` returns the rows of a base, or None
    where it cannot be one; the rows that were used last are kept.
    """

    def __init__(self, files: Files, read: Callable[[Base], ContentRows | None]) -> None:
        self._read = read
        self._rows = LRUCache[str, ContentRows](_KEPT_BYTES, lambda rows: rows.table.nbytes)
        self._bases: dict[str, Base] = {}
        self._sizes: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """The bytes of each content that is or is laid over a base, by its digest."""

        for digest, of_content in files.items():
            self.take(digest, of_content)

    def take(
        self, digest: str, files: Sequence[StoredFile], rows: ContentRows | None = None
    ) -> None:
        """Know a content; ``rows`` are those of a whole one, where they are at hand."""
        if (base := base_of(digest, files)) is not None:
            self._bases[digest] = base
            self._sizes[base.digest] |= {base.digest: base.file.size, digest: files[-1].size}
            if base.digest == digest and rows is not None:
                self._keep(base, rows)

    def packed(self, content: ContentRows, before: str | None) -> Packed:
        """Return what is kept of a content that follows on another one: what differs, or all."""
        base = self._bases.get(before) if before else None
        below = None
        if base is not None and base.file.size >= LEAST_BYTES:
            below = self._rows_of(base)
        if base is not None and below is not None:
            whole_bytes = base.file.size * len(content.table) // max(1, len(below.table))
            if whole_bytes >= LEAST_BYTES:
                own = overlay(base.digest, below.unlike(content), content.unlike(below))
                if own is not None:
                    data = to_parquet(own, encodings=_ENCODINGS)
                    if data.size <= most_bytes(whole_bytes, self._sizes[base.digest].values()):
                        return Packed(own, data, base)
        kept = whole(content.table)
        return Packed(kept, to_parquet(kept, encodings=_ENCODINGS))

    def _rows_of(self, base: Base) -> ContentRows | None:
        rows = self._rows.get(base.file.path)
        if rows is None:
            rows = self._read(base)
            if rows is not None:
                self._keep(base, rows)
        return rows

    def _keep(self, base: Base, rows: ContentRows) -> None:
        if rows.table.nbytes <= _KEPT_BYTES:
            self._rows[base.file.path] = rows


def most_bytes(whole_bytes: int, sizes: Collection[int]) -> float:
    """Return how many bytes an overlay may take of a content that would take so many whole.

    ``sizes`` are those of the base and of what is laid over it.
    """
    return min(whole_bytes * MOST_SHARE, sum(sizes) / len(sizes))

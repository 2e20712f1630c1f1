"""Overlays: contents that are stored as differences from another content, their base.

The base is whole: each of its rows has a ``place``. The rows of an overlay are those that the base
lacks or has with other values. A ``base_place`` is the place of a row of the base that is not in
the content. Rows of removed specs contain only that and no hash, because a place takes two bytes,
but a hash takes twenty and cannot be compressed.
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

# An overlay has two files: that of its base, then its own. Each is in the folder of the content
# that its rows belong to.

_FOLDER = "digest="


class Base(msgspec.Struct, frozen=True):
    """A whole content: its digest and its file."""

    digest: str
    file: StoredFile


def folder_of(digest: str) -> str:
    """Return the folder of the files with a content's own rows, relative to the table ``specs``."""
    return f"{_FOLDER}{digest}/"


def owner_of(file: StoredFile, digest: str) -> str:
    """Return the content whose rows a file has: that of the digest, or its base."""
    folder, slash, _ = file.path.partition("/")
    return folder.removeprefix(_FOLDER) if slash and folder.startswith(_FOLDER) else digest


def own_files(digest: str, files: Sequence[StoredFile]) -> tuple[StoredFile, ...]:
    """Return the files that have a content's own rows."""
    return tuple(file for file in files if owner_of(file, digest) == digest)


def base_of(digest: str, files: Sequence[StoredFile]) -> Base | None:
    """Return the base of a content, itself if it is whole; None if the base is unknown."""
    if not files or len(files) - len(own_files(digest, files)) > 1:
        return None
    return Base(owner_of(files[0], digest), files[0])


def with_bases(files: Files) -> dict[str, Sequence[StoredFile]]:
    """Return the files of contents, and those of bases that have no entry."""
    known_files: dict[str, Sequence[StoredFile]] = dict(files)
    for digest, of_content in files.items():
        for file in of_content:
            if not known_files.get(owner := owner_of(file, digest)):
                known_files[owner] = (file,)
    return known_files


def by_owner(files: Files) -> dict[str, tuple[StoredFile, ...]]:
    """Return the files with the own rows of contents, bases included."""
    return {
        digest: own_files(digest, of_content) for digest, of_content in with_bases(files).items()
    }


# -- equal rows

# Rows are never converted to objects: nested values are compared in their arrays.

Mask = npt.NDArray[np.bool_]


def equal_rows(first: pa.Table, second: pa.Table) -> Mask:
    """Return a mask that selects the rows with equal values in all columns of two tables.

    Both tables have the same columns and the same number of rows. Null equals null.
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
        # The items of lists of equal length are aligned.
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
"""The columns that link a base and its overlays: those of the base, those of an overlay."""

_LAYERS = [field for field in SPECS if field.name not in ("digest", *SPEC_ROWS.names)]


def whole(rows: pa.Table) -> pa.Table:
    """Return the rows of a content as they are stored without a base."""
    return _with_layers(rows.select(SPEC_ROWS.names), place=pa.array(np.arange(len(rows))))


def overlay(digest: str, base: pa.Table, rows: pa.Table) -> pa.Table | None:
    """Return the stored rows of a content with a given base, which is whole.

    None if that is impossible: one of the two contains a hash twice, or the base was written before
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


def overlaid(base: pa.Table, own: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return columns of an overlay's content, rows in any order.

    ``base`` has these columns and ``place``; ``own`` has them, ``hash`` and ``base_place``.
    """
    stays = pc.invert(pc.is_in(base["place"], own["base_place"].combine_chunks()))
    return pa.concat_tables(
        [base.select(columns).filter(stays), own.select(columns).filter(pc.is_valid(own["hash"]))]
    )


def rows_without_base(rows: pa.Table) -> pa.Table:
    """Return the rows without a base, each once: two imports may have written the same content."""
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


# -- the stored form of contents

# The base of a content is the previous content in the series, or its base. A base is abandoned if
# the next overlay would be larger than the average content over that base, because overlays grow
# with time, and the average would then grow too.

# A dictionary of hashes is as large as the hashes. Hashes of dependencies repeat.
_ENCODINGS = {
    "hash": "DELTA_BYTE_ARRAY",
    "size": "PLAIN",
    "place": "DELTA_BINARY_PACKED",
    "base_place": "DELTA_BINARY_PACKED",
}

LEAST_BYTES = 1 << 16
"""Smaller contents are stored whole: a second file costs more than it saves."""

MAX_SHARE = 0.5
"""The maximum size of an overlay, relative to the size of the whole content.

Two files are read as fast as one if the second is small.
"""

_MAX_CACHED_BYTES = 128 << 20


class PackedRows(msgspec.Struct, frozen=True):
    """The rows to store, the bytes of their file, and their base, if any."""

    rows: pa.Table
    data: pa.Buffer
    base: Base | None = None


class Bases:
    """The whole contents of a catalog, during an import.

    ``files`` are those of the known contents. ``read`` returns the rows of a base, or None if the
    content cannot serve as one. The most recently used rows are cached.
    """

    def __init__(self, files: Files, read: Callable[[Base], ContentRows | None]) -> None:
        self._read = read
        self._rows = LRUCache[str, ContentRows](_MAX_CACHED_BYTES, lambda rows: rows.table.nbytes)
        self._bases: dict[str, Base] = {}
        self._sizes: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """The sizes in bytes of each base and the contents over it, by digest."""

        for digest, of_content in files.items():
            self.take(digest, of_content)

    def take(
        self, digest: str, files: Sequence[StoredFile], rows: ContentRows | None = None
    ) -> None:
        """Register a content; ``rows`` are those of a whole one, if they are available."""
        if (base := base_of(digest, files)) is not None:
            self._bases[digest] = base
            self._sizes[base.digest] |= {base.digest: base.file.size, digest: files[-1].size}
            if base.digest == digest and rows is not None:
                self._keep(base, rows)

    def packed(self, content: ContentRows, before: str | None) -> PackedRows:
        """Return the stored form of a content that follows another: a difference, or whole."""
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
                        return PackedRows(own, data, base)
        rows = whole(content.table)
        return PackedRows(rows, to_parquet(rows, encodings=_ENCODINGS))

    def _rows_of(self, base: Base) -> ContentRows | None:
        rows = self._rows.get(base.file.path)
        if rows is None:
            rows = self._read(base)
            if rows is not None:
                self._keep(base, rows)
        return rows

    def _keep(self, base: Base, rows: ContentRows) -> None:
        if rows.table.nbytes <= _MAX_CACHED_BYTES:
            self._rows[base.file.path] = rows


def most_bytes(whole_bytes: int, sizes: Collection[int]) -> float:
    """Return the maximum size of an overlay in bytes; the whole content would take ``whole_bytes``.

    ``sizes`` are those of the base and the contents over it.
    """
    return min(whole_bytes * MAX_SHARE, sum(sizes) / len(sizes))

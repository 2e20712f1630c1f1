"""Which content the next one is laid over.

It is the whole one that the content before it in its series is, or is laid over. A base is given up
where one more overlay takes more than what the contents over it take on the average, the base among
them. Where each differs from the one before by as much, that is the least for all of them together:
with ``b`` bytes for a whole content, and ``s`` more for each step away from it, about the root of
``2bs`` for each.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
from cachetools import LRUCache

from snapshots.catalog.contents.files import Base, base_of
from snapshots.tables import Files, StoredFile

LEAST_BYTES = 1 << 16
"""What is smaller is kept whole: a second file costs more than it spares."""

_KEPT_BYTES = 128 << 20


class _Use(msgspec.Struct):
    """How many contents a base bears, itself among them, and the bytes of all their files."""

    contents: int
    num_bytes: int


class Below(NamedTuple):
    """What a content is laid over: the base, its rows, and how many bytes that may take."""

    base: Base
    rows: pa.Table
    most_bytes: int


class Bases:
    """The whole contents of a catalog, while one import goes on.

    ``files`` are those of the contents that are known. ``read`` returns the rows of a base, or None
    where it cannot be one; the rows that were used last are kept.
    """

    def __init__(self, files: Files, read: Callable[[Base], pa.Table | None]) -> None:
        self._read = read
        self._rows: LRUCache[str, pa.Table] = LRUCache(_KEPT_BYTES, lambda rows: rows.nbytes)
        self._known: dict[str, Base] = {}
        self._uses: dict[str, _Use] = {}
        for digest, of_content in files.items():
            self.take(digest, of_content)

    def take(self, digest: str, files: Sequence[StoredFile], rows: pa.Table | None = None) -> None:
        """Know a content; ``rows`` are those of a whole one, where they are at hand."""
        base = base_of(digest, files)
        if base is None:
            return
        self._known[digest] = base
        use = self._uses.setdefault(base.file.path, _Use(1, base.file.size))
        if base.digest != digest:
            use.contents += 1
            use.num_bytes += sum(file.size for file in files[1:])
        elif rows is not None:
            self._keep(base, rows)

    def below(self, before: str | None, num_rows: int) -> Below | None:
        """Return what a content of so many rows that follows on another is laid over, if it is."""
        base = self._known.get(before) if before else None
        if base is None or base.file.size < LEAST_BYTES:
            return None
        rows = self._rows_of(base)
        if rows is None:
            return None
        whole_bytes = base.file.size * num_rows // max(1, len(rows))
        if whole_bytes < LEAST_BYTES:
            return None
        use = self._uses[base.file.path]
        return Below(base, rows, most_bytes(whole_bytes, use.num_bytes // use.contents))

    def _rows_of(self, base: Base) -> pa.Table | None:
        rows = self._rows.get(base.file.path)
        if rows is None:
            rows = self._read(base)
            if rows is not None:
                self._keep(base, rows)
        return rows

    def _keep(self, base: Base, rows: pa.Table) -> None:
        if rows.nbytes <= _KEPT_BYTES:
            self._rows[base.file.path] = rows


def most_bytes(whole_bytes: int, average: int) -> int:
    """Return how many bytes an overlay may take, that would take so many as a whole content.

    ``average`` is what each of those over the same base takes until now. Two files are read as fast
    as one where the second is small.
    """
    return min(whole_bytes // 2, average)

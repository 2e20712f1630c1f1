"""The tables of the history forget pairs of revisions that are neighbours no more.

A server that has not looked lately may still believe that a pair is kept. So its row goes from
``comparisons`` first; those in ``changes`` and ``hashes`` follow when the files of ``comparisons``
that had it are deleted, after the time of grace. Each file is rewritten by itself: what is in
memory at once is one of them, and eight bytes for each hash.
"""

from collections.abc import Collection, Iterator
from time import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.keeping.dropping import Goes, Write, drop_rows, rows_of, written
from snapshots.catalog.pairs.history_tables import HOW_TO_MEND
from snapshots.catalog.pairs.texts import are_of, texts_in, texts_of
from snapshots.catalog.store.storage import Storage
from snapshots.catalog.tables.delta import Table
from snapshots.catalog.tables.listed_files import sizes_of
from snapshots.catalog.tables.log import Mark
from snapshots.catalog.tables.sorted_table import rewritten
from snapshots.changes.kept_changes import Numbers, numbers_of
from snapshots.history import Pair
from snapshots.sources.reports import Progress
from snapshots.tables import CHANGES, COMPARISONS, HASHES


class OldChanges:
    """The history in a storage. ``hours`` is the time of grace.

    With ``dry_run`` what would be done is counted. Errors are those of the store, and CatalogError.
    """

    def __init__(self, storage: Storage, hours: int, progress: Progress, *, dry_run: bool) -> None:
        self._storage = storage
        self._hours = hours
        self._until = time() - hours * 3_600
        self._progress = progress
        self._dry_run = dry_run
        self._comparisons = Table(storage, "comparisons", COMPARISONS, advice=HOW_TO_MEND)
        self._changes = Table(storage, "changes", CHANGES, advice=HOW_TO_MEND)
        self._hashes = Table(storage, "hashes", HASHES, advice=HOW_TO_MEND)
        self.tables = (self._comparisons, self._changes, self._hashes)

    def forget(self, pairs: Collection[Pair]) -> int:
        """Drop all but some pairs from ``comparisons``; return how many they were."""
        asked = texts_of(pairs)
        return self._drop(self._comparisons, lambda rows: pc.invert(are_of(rows, asked)))

    def drop(self, pairs: Collection[Pair]) -> int:
        """Drop the rows of pairs that nobody can believe in any more; return how many they were."""
        believed = pa.array({*texts_of(pairs).to_pylist(), *self._lately_kept()}, pa.string())
        dropped = self._drop(
            self._changes, lambda rows: pc.invert(are_of(rows, believed)), rewritten
        )
        return dropped + self._drop_hashes(believed) if dropped else 0

    def _drop_hashes(self, believed: pa.Array) -> int:
        # Listed before the changes are read: who keeps a pair meanwhile adds to both.
        self._hashes.current()
        seen = self._hashes.mark()
        needed = self._hashes_of(believed)

        def is_needless(rows: pa.Table) -> pa.ChunkedArray:
            return pa.chunked_array([~np.isin(numbers_of(rows["hash"]), needed)])

        return self._drop(self._hashes, is_needless, rewritten, seen)

    def _hashes_of(self, believed: pa.Array) -> Numbers:
        keys = [np.empty(0, np.uint64)]
        for rows in self._parts(self._changes):
            rows = rows.filter(are_of(rows, believed))
            keys.append(np.unique(numbers_of(rows["hash"])))
        return np.unique(np.concatenate(keys))

    def _lately_kept(self) -> Iterator[str]:
        """Yield the text of each pair that ``comparisons`` has, or had within the time of grace."""
        name = self._comparisons.name
        gone = set(self._comparisons.out_of_use(self._hours))
        for path, found in self._storage.find(name).items():
            if path.endswith(".parquet") and not path.startswith("_") and path not in gone:
                rows = rows_of(self._storage, f"{name}/{path}", found.size)
                yield from texts_in(rows).to_pylist()

    def _parts(self, table: Table) -> Iterator[pa.Table]:
        table.current()
        sizes = sizes_of(table.files())
        for number, (path, size) in enumerate(sizes.items()):
            self._progress(f"reading {table.name}", number, len(sizes))
            yield rows_of(self._storage, f"{table.name}/{path}", size)
        self._progress(f"reading {table.name}", len(sizes), len(sizes))

    def _drop(
        self, table: Table, goes: Goes, write: Write = written, seen: Mark | None = None
    ) -> int:
        # What was written lately may be of an import that has not published yet.
        try:
            return drop_rows(
                self._storage,
                table,
                goes,
                write=write,
                added_before=self._until,
                seen=seen,
                dry_run=self._dry_run,
            )
        except TableNotFoundError:
            return 0

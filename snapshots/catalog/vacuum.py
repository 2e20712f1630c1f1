"""Deletion of files that no row names and that have been out of use for the grace period.

The grace period protects imports that started, and servers that last refreshed, before a file went
out of use: in each table from the commit that unlists it; for a file that no commit ever listed,
left by a failed import, from its modification time.

Files that are already out of use are deleted before any file is written, so that a vacuum can free
a full disk.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import time

import msgspec
import pyarrow.compute as pc

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import Actions, CatalogTable, TableFile, remove_action
from snapshots.catalog.history_tables import HistoryTables, are_of, texts_of
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import FileStat, translated
from snapshots.history import Pair
from snapshots.sources.reports import Progress, Report
from snapshots.tables import TABLES

_DELETERS = 8
_WRITTEN, _UNFINISHED = ".parquet", ".tmp"
"""The suffixes of the files that cachelog writes; other files are never deleted."""


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """The actual effect of a vacuum, or with a dry run the expected one.

    - files: The deleted files, by table.
    - num_bytes: Their sizes, by table.
    - struck_off: The contents that no row names and whose grace period starts now.
    - num_pairs: The number of removed pairs that are no longer neighbours.
    - num_rows: The number of removed rows of changes of pairs that were removed earlier.
    """

    files: Mapping[str, tuple[str, ...]]
    num_bytes: Mapping[str, int]
    struck_off: tuple[str, ...]
    num_pairs: int
    num_rows: int


def vacuum(
    catalog: Catalog,
    *,
    older_than: timedelta,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Vacuumed:
    """Delete files that have been out of use for ``older_than``; raises CatalogError.

    Running imports and servers may still need what was removed within an hour. After seven days, a
    table's log may no longer state when a file was unlisted.
    """
    catalog.refresh()
    with translated(catalog.location):
        return _Vacuum(catalog, older_than, progress or Report().progress, dry_run).run()


class _Vacuum:
    def __init__(
        self, catalog: Catalog, older_than: timedelta, progress: Progress, dry_run: bool
    ) -> None:
        self._catalog = catalog
        self._rows = RevisionsTable(catalog.storage)
        self._specs = SpecsTable(catalog.storage)
        self._history = HistoryTables(catalog.storage)
        self._hours = older_than // timedelta(hours=1)
        self._until = time() - older_than.total_seconds()
        self._progress = progress
        self._dry_run = dry_run

    def run(self) -> Vacuumed:
        deleted = self._delete_unused()
        struck = self._strike_off()
        if not self._dry_run:
            self._specs.list_again(self._digests_of_rows())
        # A server that has not refreshed may still consider a pair stored. Therefore a vacuum only
        # removes the pair; its rows in `changes` are removed by the next vacuum. Those in `hashes`
        # remain: they only say where to look.
        self._history.refresh()
        num_rows = self._drop_others(self._history.changes, self._history.counts)
        self._catalog.refresh()
        num_pairs = self._drop_others(self._history.table, self._catalog.history.pairs)
        if not self._dry_run:
            self._history.merge()
        return Vacuumed(
            files={name: tuple(sorted(files)) for name, files in deleted.items()},
            num_bytes={
                name: sum(file.size for file in files.values()) for name, files in deleted.items()
            },
            struck_off=tuple(sorted(struck)),
            num_pairs=num_pairs,
            num_rows=num_rows,
        )

    # A content is needed if a row names it. Others are first unlisted in the table's log, which
    # starts their grace period. Their files remain until a vacuum after that, for imports and
    # servers that still know the rows.

    def _strike_off(self) -> Set[str]:
        """Unlist the contents that no row names, and return them.

        Recent ones may belong to an import that has not named them yet. One that an import names at
        this moment is listed again, by that import or below.
        """
        struck: set[str] = set()

        def plan(files: Sequence[TableFile]) -> Actions:
            named = self._digests_of_rows()
            gone = [
                file
                for file in files
                if file.partition not in named and file.added_at < self._until
            ]
            struck.clear()
            struck.update(file.partition or "" for file in gone)
            return () if self._dry_run else [remove_action(file, "digest") for file in gone]

        self._specs.table.change(plan)
        return struck

    def _digests_of_rows(self) -> Set[str]:
        self._rows.refresh()
        return self._rows.digests

    def _drop_others(self, table: CatalogTable, pairs: Iterable[Pair]) -> int:
        """Remove the rows of other pairs, except recent ones: their import may still be running."""
        texts = texts_of(pairs)
        return table.drop_rows(
            lambda rows: pc.invert(are_of(rows, texts)),
            added_before=self._until,
            dry_run=self._dry_run,
        )

    def _delete_unused(self) -> dict[str, dict[str, FileStat]]:
        """Delete the files that have been out of use for long enough, and return them by table."""
        tables = [CatalogTable(self._catalog.storage, *table) for table in TABLES.items()]
        deleted = {}
        for number, table in enumerate(tables):
            self._progress("looking for files", number, len(tables))
            deleted[table.name] = self._deletable(table)
            self._delete(table.name, deleted[table.name])
        self._progress("looking for files", len(tables), len(tables))
        return deleted

    def _deletable(self, table: CatalogTable) -> dict[str, FileStat]:
        """Return the files in a table's folder that have been out of use for long enough."""
        existing = self._catalog.storage.find(table.name)
        unused = table.out_of_use(self._hours)
        # Read last, so that contents that rows name by now are preserved.
        self._specs.refresh()
        missing = {f"digest={it}" for it in self._digests_of_rows() - self._specs.files.keys()}
        return {
            path: file
            for path, file in existing.items()
            if (
                path in unused and path.endswith(_WRITTEN) and path.partition("/")[0] not in missing
            )
            or (path.endswith(_UNFINISHED) and file.written_at < self._until)
        }

    def _delete(self, table: str, files: Mapping[str, FileStat]) -> None:
        if self._dry_run:
            return
        paths = [f"{table}/{path}" for path in files]
        with ThreadPoolExecutor(_DELETERS) as pool:
            for number, _ in enumerate(pool.map(self._catalog.storage.remove, paths), 1):
                self._progress(f"deleting files of {table}", number, len(paths))

"""Deletion of files that no row names and that have been out of use for the grace period.

The grace period protects imports that started, and servers that last refreshed, before a file went
out of use. In each table a file is out of use from the commit that unlists it; a file that no
commit ever listed, from its modification time. Such leftovers of failed imports could only be
needed by a running import, which keeps writing files: if none was written for an hour, they can be
deleted.

Files that are already out of use are deleted before any file is written, so that a vacuum can free
a full disk.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import time

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import CatalogTable, TableFile
from snapshots.catalog.removal import Contents, OldChanges, unnamed
from snapshots.catalog.storage import FileStat, translated
from snapshots.errors import InvalidArgument
from snapshots.sources.reports import Progress, Report

MIN_AGE = timedelta(hours=1)
MAX_AGE = timedelta(days=7)
"""After this time a table's log may no longer state when a file was unlisted."""

_HOURS_OF_LEFTOVERS = MIN_AGE // timedelta(hours=1)
_DELETERS = 8
_WRITTEN, _UNFINISHED = ".parquet", ".tmp"
"""The suffixes of the files that cachelog writes; other files are never deleted."""


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """The actual effect of a vacuum, or with a dry run the expected one.

    ``files`` and ``num_bytes`` are the deleted files, by table. ``struck_off`` are contents that no
    row names and whose grace period starts now. ``relisted`` are contents that rows name and that
    were missing from the table's log. ``num_pairs`` is the number of removed pairs that are no
    longer neighbours, and ``num_rows`` the number of removed rows of changes and hashes of pairs
    that were removed earlier.
    """

    files: Mapping[str, tuple[str, ...]]
    num_bytes: Mapping[str, int]
    struck_off: tuple[str, ...]
    relisted: tuple[str, ...]
    num_pairs: int
    num_rows: int


def check_grace(older_than: timedelta, *, nothing_runs: bool) -> timedelta:
    """Return the grace period in whole hours; raises InvalidArgument if it is unsafe."""
    if nothing_runs and not older_than:
        return older_than
    if not MIN_AGE <= older_than <= MAX_AGE:
        reason = "must be from 1h to 7d"
        if older_than < MIN_AGE:
            reason += (
                ": running imports and servers may still need what was just removed. If none is "
                "running, confirm this with --nothing-runs"
            )
        raise InvalidArgument("older-than", reason)
    return timedelta(hours=older_than // MIN_AGE)


def vacuum(
    catalog: Catalog,
    *,
    older_than: timedelta,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Vacuumed:
    """Delete files that have been out of use for ``older_than``; raises CatalogError."""
    catalog.refresh()
    with translated(catalog.location):
        return _Vacuum(catalog, older_than, progress or Report().progress, dry_run).run()


class _Vacuum:
    def __init__(
        self, catalog: Catalog, older_than: timedelta, progress: Progress, dry_run: bool
    ) -> None:
        self._catalog = catalog
        self._contents = Contents(catalog.location)
        self._storage = self._contents.storage
        self._hours = older_than // timedelta(hours=1)
        self._until = time() - older_than.total_seconds()
        self._unfinished_until = time() - min(older_than, MIN_AGE).total_seconds()
        self._progress = progress
        self._dry_run = dry_run
        self._old = OldChanges(self._storage, self._hours, progress, dry_run=dry_run)
        self._files: dict[str, dict[str, FileStat]] = {}

    def run(self) -> Vacuumed:
        self._delete_unused()
        struck_off = self._struck_off()
        relisted = () if self._dry_run else tuple(self._contents.relist())
        self._catalog.refresh()
        pairs = set(self._catalog.history.pairs)
        num_pairs, num_rows = self._old.forget(pairs), self._old.drop(pairs)
        if not self._hours:  # in this case files that just went out of use are deleted too
            self._delete_unused()
        return Vacuumed(
            files={name: tuple(sorted(files)) for name, files in self._files.items()},
            num_bytes={
                name: sum(file.size for file in files.values())
                for name, files in self._files.items()
            },
            struck_off=struck_off,
            relisted=relisted,
            num_pairs=num_pairs,
            num_rows=num_rows,
        )

    def _delete_unused(self) -> None:
        tables = [self._contents.revisions, self._contents.specs, *self._old.tables]
        for number, table in enumerate(tables):
            self._progress("looking for files", number, len(tables))
            unused = self._deletable(table)
            self._files.setdefault(table.name, {}).update(unused)
            self._delete(table.name, unused)
        self._progress("looking for files", len(tables), len(tables))

    def _deletable(self, table: CatalogTable) -> dict[str, FileStat]:
        """Return the files in a table's folder that have been out of use for long enough."""
        existing = self._storage.find(table.name)
        unused = table.out_of_use(self._hours)
        hours = min(self._hours, _HOURS_OF_LEFTOVERS)
        leftovers = table.out_of_use(hours) - table.out_of_use(hours, with_others=False)
        if leftovers and not self._is_written_to(table, existing):
            unused |= leftovers
        # Read last, so that files that rows name by now are preserved.
        named = self._contents.named_files()
        return {
            path: file
            for path, file in existing.items()
            if (path in unused and path not in named and path.endswith(_WRITTEN))
            or (path.endswith(_UNFINISHED) and file.written_at < self._unfinished_until)
        }

    def _is_written_to(self, table: CatalogTable, existing: Mapping[str, FileStat]) -> bool:
        """Return whether an import may be writing files that it has not listed yet."""
        table.current()
        listed = {file.path for file in table.files()}
        return any(
            file.written_at >= self._unfinished_until
            and path.endswith(_WRITTEN)
            and not path.startswith("_")
            and path not in listed
            for path, file in existing.items()
        )

    def _delete(self, table: str, files: Mapping[str, FileStat]) -> None:
        if self._dry_run:
            return
        paths = [f"{table}/{path}" for path in files]
        with ThreadPoolExecutor(_DELETERS) as pool:
            for number, _ in enumerate(pool.map(self._storage.remove, paths), 1):
                self._progress(f"deleting files of {table}", number, len(paths))

    def _struck_off(self) -> tuple[str, ...]:
        # Recent files may belong to an import that has not named them yet.
        def is_old(file: TableFile) -> bool:
            return file.added_at < self._until

        if self._dry_run:
            struck = list(filter(is_old, unnamed(self._contents.listed(), self._contents.named())))
        else:
            struck = self._contents.strike_off(is_old)
        return tuple(sorted({file.partition or "" for file in struck}))

"""Consistent copies of a catalog to another location, while imports continue.

The files of a table follow from its log, and files are immutable. Therefore the logs are read
first, that of ``revisions`` before the others, because its rows refer to theirs. Then the files
that the target lacks are copied. Then the logs are written, that of ``revisions`` last. An
interrupted copy leaves the previous revisions, and can be repeated.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pyarrow as pa
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.delta import CatalogTable, TableLog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.catalog.locations import parse_location
from snapshots.catalog.recipes_tables import RECIPES_TABLES
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.storage import FileStat, Storage, translated
from snapshots.errors import CatalogError, InvalidArgument, NoCatalog
from snapshots.sources.reports import Progress, Report
from snapshots.tables import REVISIONS

_TABLES = ("revisions", *RECIPES_TABLES, *HISTORY_TABLES, "specs")
"""Each table precedes those that its rows refer to."""

_COPIERS = 8

_RESTORING = "_restoring"
"""A file next to the tables during a restore; while it exists, the restore can be repeated."""

Logs = Mapping[str, Mapping[str, pa.Buffer]]
"""The log files of each table, by name."""


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of a copy.

    ``num_files`` of ``num_bytes`` were copied, because the target lacked them, and ``num_removed``
    were removed from the target, because the source no longer has them. ``num_revisions`` is the
    number of rows of revisions in the target.
    """

    num_revisions: int
    num_files: int
    num_bytes: int
    num_removed: int


def backup(catalog: str, target: str, *, progress: Progress | None = None) -> Copied:
    """Copy a catalog to an empty location, or to one with an earlier copy of it.

    Raises InvalidArgument for an invalid location, NoCatalog, and CatalogError if a store fails, or
    if the target has commits that the catalog lacks.
    """
    return _copied(catalog, target, progress)


def restore(copy: str, catalog: str, *, progress: Progress | None = None) -> Copied:
    """Copy a backup to a location without a catalog, or with an interrupted restore.

    Raises the same errors as ``backup``.
    """
    with translated(catalog):
        target = Storage(parse_location(catalog))
        if target.sizes("revisions/_delta_log") and not target.exists(_RESTORING):
            reason = "there is a catalog already; move it away, or name another place by --catalog"
            raise CatalogError(catalog, reason)
    return _copied(copy, catalog, progress, is_restored=True)


def _copied(
    source: str, target: str, progress: Progress | None, *, is_restored: bool = False
) -> Copied:
    read, written = Storage(parse_location(source)), Storage(parse_location(target))
    if read.location.root == written.location.root:
        raise InvalidArgument("target", f"{target} is where the catalog is")
    copy = _Copy(read, written, progress or Report().progress)
    with translated(source):
        try:
            RevisionsTable(read).refresh()  # rejects other data and newer catalogs
        except TableNotFoundError:
            raise NoCatalog(source) from None
        logs = {name: TableLog(read, name).files() for name in _TABLES}
        data_files = {name: read.data_files(name) for name in _TABLES}
    with translated(target):
        written.location.require_writable()
        if is_restored:
            written.write(_RESTORING, pa.py_buffer(source.encode()))
        copied = copy.run(logs, data_files)
        written.remove(_RESTORING)
        return copied


class _Copy:
    def __init__(self, source: Storage, target: Storage, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._progress = progress

    def run(self, logs: Logs, data_files: Mapping[str, Mapping[str, FileStat]]) -> Copied:
        before = {name: TableLog(self._target, name).files() for name in _TABLES}
        self._require_earlier(before["revisions"], logs["revisions"])
        copied = {name: self._target.data_files(name) for name in _TABLES}
        missing = {
            f"{name}/{path}": file.size
            for name in _TABLES
            for path, file in data_files[name].items()
            if path not in copied[name] or copied[name][path].size != file.size
        }
        with ThreadPoolExecutor(_COPIERS) as pool:
            for number, _ in enumerate(pool.map(self._copy, missing, missing.values())):
                self._progress("copying files", number, len(missing))
        self._progress("copying files", len(missing), len(missing))
        for name in reversed(_TABLES):
            self._write_log(name, before[name], logs[name])
        num_revisions = self._num_revisions()
        gone = [
            f"{name}/{path}" for name in _TABLES for path in copied[name].keys() - data_files[name]
        ]
        for path in gone:
            self._target.remove(path)
        return Copied(
            num_revisions=num_revisions,
            num_files=len(missing),
            num_bytes=sum(missing.values()),
            num_removed=len(gone),
        )

    def _require_earlier(
        self, before: Mapping[str, pa.Buffer], log: Mapping[str, pa.Buffer]
    ) -> None:
        """Raise CatalogError if the target's revisions are not an earlier state of the source's.

        The other tables can be overwritten, because these revisions determine their rows.
        """
        both = before.keys() & log
        if before and (
            max(before) > max(log)
            or any(not before[name].equals(log[name]) for name in both)
            or not (both or _id_of(self._source) == _id_of(self._target))
        ):
            raise self._target.error(
                f"its revisions are not earlier ones of {self._source.location.text}; name an "
                "empty place, or that of an earlier copy"
            )

    def _copy(self, path: str, size: int) -> None:
        try:
            data = self._source.read(path, size)
        except FileNotFoundError:  # deleted meanwhile, so the logs that were read do not need it
            return
        self._target.write(path, data)

    def _write_log(
        self, name: str, before: Mapping[str, pa.Buffer], log: Mapping[str, pa.Buffer]
    ) -> None:
        folder = TableLog(self._target, name).folder
        self._target.sync()
        for file, data in log.items():
            if file not in before or not before[file].equals(data):
                self._target.write(f"{folder}/{file}", data)
        self._target.sync()
        for file in sorted(before.keys() - log):
            self._target.remove(f"{folder}/{file}")

    def _num_revisions(self) -> int:
        """Read the copy's rows; raises CatalogError if a file that they name is missing."""
        rows = RevisionsTable(self._target)
        rows.refresh()
        existing = self._target.find("specs")
        if missing := len(rows.named_files - existing.keys()):
            raise self._target.error(
                f"{missing:,} files that its revisions name were not there to copy; copy again, "
                f"and see 'cachelog verify --catalog {self._source.location.text}'"
            )
        return len(rows.revisions)


def _id_of(storage: Storage) -> str:
    return str(CatalogTable(storage, "revisions", REVISIONS).current().metadata().id)

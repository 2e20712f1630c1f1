"""Consistent copies of a catalog to another location, while imports continue.

The files in use follow from the logs of the tables; files are immutable, and their names end with
the checksum of their bytes. Therefore the logs are read first, that of
``revisions`` before the others, because its rows refer to theirs. Then the files that the target
lacks are copied, each after its bytes were checked. Then the logs are written, that of
``revisions`` last. An interrupted copy leaves the previous revisions, and can be repeated.

A file in use that is damaged in the source is an error, after everything else was copied. Then
nothing is removed from the target, which may have the only good copy.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog.delta import TableLog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import check_bytes
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.storage import Storage, reason_of, translated
from snapshots.errors import InvalidArgument, NoCatalog
from snapshots.sources.reports import Progress, Report
from snapshots.tables import TABLES
from snapshots.texts import few

_COPIED = tuple(name for name in TABLES if name != "runs")  # a copy records its own
_COPIERS = 8
_SHOWN = 3


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of a copy.

    - num_revisions: the number of rows of revisions in the target
    - num_files: the number of files that were copied, because the target lacked them
    - num_bytes: the size of these files
    - num_removed: the number of files that were removed from the target, because the source neither
      uses nor has them any longer
    """

    num_revisions: int
    num_files: int
    num_bytes: int
    num_removed: int


def backup(catalog: str, target: str, *, progress: Progress | None = None) -> Copied:
    """Copy a catalog to an empty location, or to one with an earlier copy of it.

    Raises InvalidArgument for an invalid location, NoCatalog, and CatalogError if a store fails, if
    the target has commits that the catalog lacks, or if a file of the catalog is damaged. In the
    last case, what is sound is copied, and nothing is removed from the target.
    """
    read, written = Storage(parse_location(catalog)), Storage(parse_location(target))
    if read.location.root == written.location.root:
        raise InvalidArgument("target", f"{target} is where the catalog is")
    copy = _Copy(read, written, progress or Report().progress)
    with translated(catalog):
        copy.read_source()
    with translated(target):
        written.location.require_writable()
        copy.read_target()
        return copy.run()


# -- logs


class _TableState(msgspec.Struct, frozen=True):
    """The state of a table according to its log.

    - log: the commits and checkpoints by name, in order
    - table_id: what Delta Lake identifies the table by; None if there is no table
    - sizes: the files that the table lists, by path relative to the table, in bytes
    """

    log: Mapping[str, pa.Buffer]
    table_id: str | None
    sizes: Mapping[str, int]


def _state_of(storage: Storage, table: str) -> _TableState:
    """Read the log of a table; raises CatalogError with the name of a broken file."""
    table_log = TableLog(storage, table)
    log = table_log.files()
    if not log:
        return _TableState(log, None, {})
    if path := table_log.broken_commit():  # the library would accept an empty commit
        raise storage.error(f"{path} is not a commit of a Delta table")
    # The files that are listed now may be others than those in the log that was read.
    with TemporaryDirectory() as folder:
        copy = Path(folder, "_delta_log")
        copy.mkdir()
        for name, data in log.items():
            (copy / name).write_bytes(data)
        try:
            opened = DeltaTable(folder)
            files = pa.table(opened.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
        except DeltaError as error:
            raise storage.error(f"the table {table}: {reason_of(error)}") from error
        sizes = {unquote(file["path"]): file["size_bytes"] for file in files}
        return _TableState(log, str(opened.metadata().id), sizes)


def _difference(table: str, before: _TableState, after: _TableState) -> str | None:
    """Return why the state of a copy is not an earlier one of the table; None if it is."""
    if before.table_id is None:
        return None
    if before.table_id != after.table_id:
        # Damaged tables of the history are removed and made again from the others.
        return None if table in HISTORY_TABLES else f"its table {table} is another one"
    for name, data in before.log.items():
        if name in after.log and not data.equals(after.log[name]):
            return f"both have {table}/_delta_log/{name}, with other bytes"
    if max(before.log) > max(after.log):
        return f"only the copy has {table}/_delta_log/{max(before.log)}"
    return None


# -- copying


class _Copy:
    def __init__(self, source: Storage, target: Storage, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._states: dict[str, _TableState] = {}
        self._in_use: dict[str, int] = {}
        self._existing: dict[str, int] = {}
        self._earlier: dict[str, _TableState] = {}
        self._damaged: dict[str, str] = {}

    def read_source(self) -> None:
        """Read what is to be copied; raises NoCatalog, and CatalogError for a broken log."""
        rows = RevisionsTable(self._source)
        try:
            rows.refresh()  # rejects other data and newer catalogs
        except TableNotFoundError:
            raise NoCatalog(self._source.location.text) from None
        self._states = {name: _state_of(self._source, name) for name in _COPIED}
        self._existing = _file_sizes(self._source)
        for name, state in self._states.items():
            self._in_use |= {f"{name}/{path}": size for path, size in state.sizes.items()}

    def read_target(self) -> None:
        """Read the state of the target; raises CatalogError if it is no earlier one."""
        self._earlier = {name: _state_of(self._target, name) for name in _COPIED}
        for name in _COPIED:
            if reason := _difference(name, self._earlier[name], self._states[name]):
                raise self._target.error(
                    f"its revisions are not earlier ones of {self._source.location.text} "
                    f"({reason}); name an empty place, or that of an earlier copy"
                )

    def run(self) -> Copied:
        """Copy files, then logs; raises CatalogError that names the damaged files."""
        copied = _file_sizes(self._target)
        missing = [path for path, size in self._in_use.items() if copied.get(path) != size]
        for path in self._in_use.keys() - missing:
            self._check_size(path, self._existing.get(path))
        num_bytes = 0
        with ThreadPoolExecutor(_COPIERS) as pool:
            for number, size in enumerate(pool.map(self._copy, missing)):
                self._progress("copying files", number, len(missing))
                num_bytes += size
        self._progress("copying files", len(missing), len(missing))
        for name in reversed(_COPIED):
            self._write_log(name)
        if self._damaged:
            raise self._source.error(self._report())
        rows = RevisionsTable(self._target)
        rows.refresh()
        # Readers of the target may still use what the source has not deleted yet.
        gone = copied.keys() - self._in_use.keys() - self._existing.keys()
        for path in gone:
            self._target.remove(path)
        return Copied(
            num_revisions=len(rows.revisions),
            num_files=len(missing),
            num_bytes=num_bytes,
            num_removed=len(gone),
        )

    def _copy(self, path: str) -> int:
        """Copy a file if it is sound; return the number of copied bytes."""
        size = self._in_use[path]
        try:
            data = self._source.read(path, size)
            check_bytes(path, data)
        except FileNotFoundError:
            self._check_size(path, None)
        except pa.ArrowInvalid as error:
            self._damaged[path] = str(error)
        else:
            if self._check_size(path, self._existing.get(path, data.size)):
                self._target.write(path, data)
                return size
        return 0

    def _check_size(self, path: str, size: int | None) -> bool:
        """Return whether a file of the source has the size that the log states."""
        if size is None:
            self._damaged[path] = f"{path} is missing"
        elif size != self._in_use[path]:
            self._damaged[path] = f"{path} has {size:,} bytes instead of {self._in_use[path]:,}"
        return path not in self._damaged

    def _write_log(self, name: str) -> None:
        folder = f"{name}/_delta_log"
        earlier, state = self._earlier[name], self._states[name]
        before = earlier.log
        self._target.sync()
        if earlier.table_id != state.table_id:
            for file in sorted(before, reverse=True):  # what remains is an earlier state
                self._target.remove(f"{folder}/{file}")
            before = {}
        for file, data in state.log.items():
            if file not in before:
                self._target.write(f"{folder}/{file}", data)
        self._target.sync()
        for file in sorted(before.keys() - state.log):
            self._target.remove(f"{folder}/{file}")

    def _report(self) -> str:
        damaged = few([self._damaged[path] for path in sorted(self._damaged)], _SHOWN, "; ")
        return (
            f"{damaged}; all other files are copied, and none is removed from "
            f"{self._target.location.text}; see 'cachelog verify --catalog "
            f"{self._source.location.text}'"
        )


def _file_sizes(storage: Storage) -> dict[str, int]:
    return {
        f"{name}/{path}": file.size
        for name in _COPIED
        for path, file in storage.data_files(name).items()
    }

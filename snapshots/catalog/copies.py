"""Consistent copies of a catalog to another location, while imports continue.

The files in use follow from the logs of the tables; files are immutable, and their names end with
the checksum of their bytes. Therefore the logs are read first, that of
``revisions`` before the others, because its rows refer to theirs. Then the files that the target
lacks are copied, each after its bytes were checked. Then the logs are written, that of
``revisions`` last. An interrupted copy leaves the previous revisions, and can be repeated.

A file in use that is damaged in the source is an error, after everything else was copied. Then
nothing is removed from the target, which may have the only good copy.
"""

from collections.abc import Mapping, Set
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
    with translated(catalog):
        try:
            RevisionsTable(read).refresh()  # rejects other data and newer catalogs
        except TableNotFoundError:
            raise NoCatalog(catalog) from None
        copy = _Copy(read, written, progress or Report().progress)
    with translated(target):
        written.location.require_writable()
        return copy.run()


# -- logs


class _TableState(msgspec.Struct, frozen=True):
    """The state of a table according to its log.

    - log: the commits and checkpoints by name, in order
    - table_id: what Delta Lake identifies the table by; None if there is no table
    - files: the files that the table lists, by path relative to the catalog
    """

    log: Mapping[str, pa.Buffer]
    table_id: str | None = None
    files: Set[str] = frozenset()


def _state_of(storage: Storage, table: str) -> _TableState:
    """Read the log of a table; raises CatalogError with the name of a broken table."""
    log = TableLog(storage, table).files()
    if not log:
        return _TableState(log)
    # The files that are listed now may be others than those in the log that was read.
    with TemporaryDirectory() as folder:
        copy = Path(folder, "_delta_log")
        copy.mkdir()
        for name, data in log.items():
            (copy / name).write_bytes(data)
        try:
            opened = DeltaTable(folder)
            paths = pa.table(opened.get_add_actions())["path"].to_pylist()
        except DeltaError as error:
            raise storage.error(f"the table {table}: {reason_of(error)}") from error
        return _TableState(
            log, str(opened.metadata().id), {f"{table}/{unquote(path)}" for path in paths}
        )


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
    """A copy of the tables in ``source``, whose logs were read, to ``target``."""

    def __init__(self, source: Storage, target: Storage, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._states = {name: _state_of(source, name) for name in _COPIED}
        self._existing = _sizes(source)

    def run(self) -> Copied:
        """Copy files, then logs; raises CatalogError that names the damaged files."""
        earlier = {name: _state_of(self._target, name) for name in _COPIED}
        for name, state in self._states.items():
            if reason := _difference(name, earlier[name], state):
                raise self._target.error(
                    f"its revisions are not earlier ones of {self._source.location.text} "
                    f"({reason}); name an empty place, or that of an earlier copy"
                )
        in_use = {path for state in self._states.values() for path in state.files}
        copied = _sizes(self._target)
        damaged = {path: f"{path} is missing" for path in in_use - self._existing.keys()}
        missing = [
            path
            for path, size in self._existing.items()
            if path in in_use and copied.get(path) != size
        ]
        num_bytes = 0
        with ThreadPoolExecutor(_COPIERS) as pool:
            copies = pool.map(self._copy, missing)
            for number, (path, size) in enumerate(zip(missing, copies, strict=True)):
                self._progress("copying files", number, len(missing))
                if isinstance(size, str):
                    damaged[path] = size
                else:
                    num_bytes += size
        self._progress("copying files", len(missing), len(missing))
        for name in reversed(_COPIED):
            self._write_log(name, earlier[name])
        if damaged:
            raise self._source.error(
                f"{few([damaged[path] for path in sorted(damaged)], _SHOWN, '; ')}; all other "
                f"files are copied, and none is removed from {self._target.location.text}; see "
                f"'cachelog verify --catalog {self._source.location.text}'"
            )
        rows = RevisionsTable(self._target)
        rows.refresh()
        # Readers of the target may still use what the source has not deleted yet.
        gone = copied.keys() - in_use - self._existing.keys()
        for path in gone:
            self._target.remove(path)
        return Copied(
            num_revisions=len(rows.revisions),
            num_files=len(missing),
            num_bytes=num_bytes,
            num_removed=len(gone),
        )

    def _copy(self, path: str) -> int | str:
        """Copy a file if it is sound; return its size, or what is wrong with it."""
        try:
            data = self._source.read(path)
            check_bytes(path, data)
        except (FileNotFoundError, pa.ArrowInvalid) as error:
            return reason_of(error)
        self._target.write(path, data)
        return int(data.size)

    def _write_log(self, name: str, earlier: _TableState) -> None:
        folder, state = f"{name}/_delta_log", self._states[name]
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


def _sizes(storage: Storage) -> dict[str, int]:
    """Return the sizes of the data files in bytes, by path relative to the catalog."""
    return {
        f"{name}/{path}": file.size
        for name in _COPIED
        for path, file in storage.data_files(name).items()
    }

"""A Delta table that is opened, updated and committed to at a cost independent of its age."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import time
from typing import Any, TypeVar
from urllib.parse import unquote
from uuid import uuid4

import msgspec
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
)

from snapshots.catalog.parquet import Range
from snapshots.catalog.storage import RESTORE, Storage, checksum, reason_of
from snapshots.errors import CatalogError
from snapshots.tables import StoredFile

# -- files of a table


class TableFile(msgspec.Struct, frozen=True):
    """A file that a table lists: its path relative to the table, and its size in bytes.

    ``added_at`` is in seconds since 1970. ``partition`` is the file's value of the partition
    column. ``range`` is that of a given column, None if the log does not have it.
    """

    path: str
    size: int
    added_at: float = 0.0
    partition: str | None = None
    num_rows: int = 0
    range: Range | None = None


# -- actions of a commit

Ranges = Mapping[str, tuple[str, str]]
"""The smallest and the largest value of each column."""


def add_action(
    file: StoredFile,
    num_rows: int,
    partition: Mapping[str, str],
    *,
    is_new: bool = True,
    ranges: Ranges | None = None,
) -> AddAction:
    """Return the action that adds a file; ``is_new`` is whether its rows are new to the table.

    ``ranges`` are those of columns without nulls; readers use them to skip files.
    """
    stats: dict[str, Any] = {"numRecords": num_rows}
    if ranges:
        stats["minValues"] = {name: low for name, (low, _) in ranges.items()}
        stats["maxValues"] = {name: high for name, (_, high) in ranges.items()}
        stats["nullCount"] = dict.fromkeys(ranges, 0)
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict(partition),
        modification_time=int(time() * 1_000),
        data_change=is_new,
        stats=orjson.dumps(stats).decode(),
    )


def remove_action(
    file: TableFile, partition_by: str | None = None, *, is_lost: bool = True
) -> RemoveAction:
    """Return the action that removes a file from its table.

    ``is_lost`` is whether its rows are removed as well, and not contained in another file.
    """
    partition = {} if partition_by is None else {partition_by: file.partition}
    return RemoveAction(file.path, is_lost, int(time() * 1_000), file.size, partition)


# -- rows cast to a schema


def missing_columns(table: DeltaTable, names: Iterable[str]) -> list[str]:
    """Return the columns that a table lacks."""
    columns = {field.name for field in table.schema().fields}
    return [name for name in names if name not in columns]


def of_schema(path: str, rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema, cast to its types.

    Raises ArrowInvalid with the path if a column is missing or cannot be cast.
    """
    if rows.schema.equals(schema):
        return rows
    if missing := [name for name in schema.names if name not in rows.column_names]:
        raise pa.ArrowInvalid(f"{path} has no column {', '.join(missing)}")
    try:
        return rows.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        raise pa.ArrowInvalid(f"{path} has a column of another type ({error})") from None


def with_plain_texts(rows: pa.Table) -> pa.Table:
    """Return rows with all text columns in the type that cachelog writes."""
    others = pa.string_view(), pa.large_string()
    fields = [it.with_type(pa.string()) if it.type in others else it for it in rows.schema]
    return rows.cast(pa.schema(fields))


# -- conflicts with other processes

_ATTEMPTS = 8

Answer = TypeVar("Answer")


def _repeated(action: Callable[[], Answer], error: type[Exception]) -> Answer:
    """Return the result of an action, which is tried ``_ATTEMPTS`` times if it raises ``error``.

    The last error is raised; TableNotFoundError is raised immediately.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return action()
        except TableNotFoundError:
            raise
        except error:
            continue
    return action()


# -- the log

_FOLDER = "_delta_log"
# Commits are named 00000000000000000007.json; names of checkpoint files also start with a version.
_VERSIONED = re.compile(r"(\d{20})\.(?:json|checkpoint\..*parquet)")


def _versions_of(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of the names that are commits or checkpoints, in order."""
    return {it[0]: int(it[1]) for it in map(_VERSIONED.fullmatch, sorted(names)) if it}


class Mark(msgspec.Struct, frozen=True):
    """A state of a table: its version, and the checksum and size of the commit that created it.

    A table that replaces another has other marks, even at the same version.
    """

    version: int
    checksum: str
    size: int


class TableLog:
    """The log of one table in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage, table: str) -> None:
        self._storage = storage
        self.folder = f"{table}/{_FOLDER}"

    def has(self, version: int) -> bool:
        """Return whether the commit of a version exists."""
        return self._storage.exists(self._path(version))

    def mark(self, version: int) -> Mark | None:
        """Return the mark of a version; None if its commit does not exist."""
        try:
            data = self._storage.read(self._path(version))
        except FileNotFoundError:
            return None
        return Mark(version, checksum(data), data.size)

    def contains(self, mark: Mark) -> bool:
        """Return whether the log still contains the commit of a state, byte by byte."""
        try:
            data = self._storage.read(self._path(mark.version), mark.size)
        except (FileNotFoundError, pa.ArrowInvalid):
            return False
        return checksum(data) == mark.checksum

    def files(self) -> dict[str, pa.Buffer]:
        """Return all commits and checkpoints by name, consistent with each other."""
        return _repeated(self._files, FileNotFoundError)  # other processes may trim the log

    def _files(self) -> dict[str, pa.Buffer]:
        sizes = self._storage.sizes(self.folder)
        names = _versions_of(sizes)
        paths = {f"{self.folder}/{name}": sizes[name] for name in names}
        return dict(zip(names, self._storage.read_all(paths), strict=True))

    def empty_commit(self) -> str | None:
        """Return the path of an empty commit, if one exists; the library would accept it."""
        for name, size in sorted(self._storage.sizes(self.folder).items()):
            if not size and name.endswith(".json"):
                return f"{self.folder}/{name}"
        return None

    def is_lost(self) -> bool:
        """Return whether the table has data files but an empty log, which no import leaves."""
        table = self.folder.removesuffix(f"/{_FOLDER}")
        has_rows = any(name.endswith(".parquet") for name in self._storage.sizes(table))
        return has_rows and not self._storage.sizes(self.folder)

    def sync(self, since: int) -> None:
        """Sync the commits and checkpoints after a version to disk."""
        if self._storage.location.is_folder:
            versions = _versions_of(self._storage.sizes(self.folder))
            later = (name for name, version in versions.items() if version > since)
            self._storage.sync(f"{self.folder}/{name}" for name in later)

    def trim(self, version: int) -> None:
        """Remove all files before a version; it, or a later one, must have a checkpoint.

        The oldest are removed first, so that an interruption leaves no gap.
        """
        for name, own_version in _versions_of(self._storage.sizes(self.folder)).items():
            if own_version < version:
                self._storage.remove(f"{self.folder}/{name}")

    def _path(self, version: int) -> str:
        return f"{self.folder}/{version:020}.json"


# -- damage

DROP = "if the power was cut while it was written, 'cachelog verify --repair' drops it; else "
"""Advice for a file that ``droppable`` returns, followed by other advice."""


def what_is_broken(storage: Storage, table: str) -> str | None:
    """Return the broken file of a table's log, with the reason; None if all files are valid.

    Every commit is read, so this is only suitable after a failure. Raises the errors of the store.
    """
    folder, commits, checkpoints = _log_of(storage, table)
    for name in commits.values():
        if not _is_commit(bytes(storage.read(f"{folder}/{name}"))):
            return f"{folder}/{name} is not a commit of a Delta table"
    for name in checkpoints:
        if not _is_parquet(storage.read(f"{folder}/{name}")):
            return f"{folder}/{name} is not a checkpoint of a Delta table"
    if not checkpoints and 0 not in commits:
        return f"{folder} lacks its first commit, and has no checkpoint"
    if not commits:
        return None
    if gaps := sorted(set(range(min(commits), max(commits))) - commits.keys()):
        return f"{folder} lacks the commit {gaps[0]:020}.json"
    return None


def droppable(storage: Storage, table: str) -> str | None:
    """Return the path of the last file of a log if it is unreadable and nothing depends on it.

    This is the last commit, or the last checkpoint if all commits since the previous one exist.
    Raises the errors of the store.
    """
    folder, commits, checkpoints = _log_of(storage, table)
    last = max(commits, default=-1)
    newest = max(checkpoints.values(), default=-1)
    if newest < last and not _is_commit(bytes(storage.read(f"{folder}/{commits[last]}"))):
        return f"{folder}/{commits[last]}"
    older = max((version for version in checkpoints.values() if version < newest), default=-1)
    for name, version in checkpoints.items():
        if (
            version == newest
            and set(range(older + 1, newest + 1)) <= commits.keys()
            and not _is_parquet(storage.read(f"{folder}/{name}"))
        ):
            return f"{folder}/{name}"
    return None


def what_to_do(storage: Storage, table: str, reason: str, advice: str) -> str:
    """Return advice for a reason that starts with a path, preceded by ``DROP`` if that helps."""
    path = droppable(storage, table)
    return DROP + advice if path and reason.startswith(path) else advice


def drop(storage: Storage, path: str) -> None:
    """Remove a file that ``droppable`` returned; raises the errors of the store."""
    if not path.endswith(".json"):
        # `_last_checkpoint` names the checkpoint, and readers trust it. Without it they search for
        # the last checkpoint.
        storage.remove(f"{path.rpartition('/')[0]}/_last_checkpoint")
    storage.remove(path)


def _log_of(storage: Storage, table: str) -> tuple[str, dict[int, str], dict[str, int]]:
    """Return a log's folder, its commits by version, and the versions of its checkpoint files."""
    folder = f"{table}/_delta_log"
    versions = _versions_of(storage.sizes(folder))
    commits = {version: name for name, version in versions.items() if name.endswith(".json")}
    return folder, commits, {it: versions[it] for it in versions if it not in commits.values()}


def _is_parquet(data: pa.Buffer) -> bool:
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            file.read()
    except (pa.ArrowException, OSError):
        return False
    return True


def _is_commit(data: bytes) -> bool:
    try:
        actions = [orjson.loads(line) for line in data.splitlines() if line.strip()]
    except orjson.JSONDecodeError:
        return False
    return bool(actions) and all(isinstance(action, dict) for action in actions)


# -- tables


def query_table(
    uri: str, query: Callable[[DeltaTable], Answer], options: Mapping[str, str] | None = None
) -> Answer:
    """Open a table, with the ``options`` of its store, and return the result of a query.

    A commit can be removed after the log was listed and before it is read. A newer checkpoint
    exists then, so the query is retried; damage persists. Raises DeltaError.
    """
    own = None if options is None else {**options}
    return _repeated(lambda: query(DeltaTable(uri, storage_options=own)), DeltaError)


_CHECKPOINT_EVERY = 25
_HOURS_OF_MERGED = 24
# Opening, updating and committing all list the log. cachelog never reads old versions of a table,
# so old commits are removed by number. The library's removal by age is for other tools that write
# to the table.
_PROPERTIES = {
    "delta.checkpointInterval": str(_CHECKPOINT_EVERY),
    "delta.logRetentionDuration": "interval 1 days",
}
# Otherwise the library would search for expired commits after each commit.
_NO_HOUSEKEEPING = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
# A merge that is retried after a concurrent commit would not notice that both merged the same
# files.
_NO_RETRIES = CommitProperties(max_commit_retries=0)


class _Open(msgspec.Struct):
    """An open table, and its state."""

    table: DeltaTable
    mark: Mark


class CatalogTable:
    """A table of the catalog. Errors are those of the store.

    For a broken table, CatalogError names the broken file. TableNotFoundError means that the table
    does not exist, or no longer. ``advice`` is appended to reports of damage. ``properties`` are
    the table's, in addition to the library's own.

    In a folder, a commit is on disk when a method returns, and the files that it names were before.
    """

    def __init__(
        self,
        storage: Storage,
        name: str,
        schema: pa.Schema,
        partition: str | None = None,
        *,
        advice: str = RESTORE,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._storage = storage
        self._uri = storage.location.uri(name)
        self._advice = advice
        self._log = TableLog(storage, name)
        self._schema = schema
        self._partition = partition
        self._properties = _PROPERTIES | dict(properties or {})
        self._open: _Open | None = None
        self._lock = threading.RLock()

    def current(self) -> DeltaTable:
        """Return the table in its current state."""
        with self._lock:
            return self._refreshed().table

    def mark(self) -> Mark:
        """Return the state that the last ``current`` or ``commit`` found."""
        with self._lock:
            return (self._open or self._refreshed()).mark

    def has_further_commit(self) -> bool:
        """Return, by one request, whether there is a commit after the last known state."""
        opened = self._open
        return self._log.has(0 if opened is None else opened.mark.version + 1)

    def is_replaced(self) -> bool:
        """Return, by one request, whether the commit of the last known state no longer exists."""
        opened = self._open
        return opened is not None and not self._log.contains(opened.mark)

    def _refreshed(self) -> _Open:
        """Return the open table, opened again if there was a commit, or if it was replaced.

        To apply the new commits takes as long, and an open table that is used for many commits
        becomes slower with each.
        """
        opened, self._open = self._open, None
        if (
            opened is None
            or self._log.has(opened.mark.version + 1)
            or not self._log.contains(opened.mark)
        ):
            with self._damage_reported():
                table = query_table(self._uri, lambda new_table: new_table, self._storage.options)
            if path := self._log.empty_commit():
                raise self._storage.error(self._with_advice(f"{path} is empty"))
            self._storage.connect(self.name, table)
            version = table.version()
            mark = self._log.mark(version) or Mark(version, str(table.metadata().id), 0)
            opened = _Open(table, mark)
        self._open = opened
        return opened

    def files(self, ranges_of: str = "") -> list[TableFile]:
        """Return the files, as of the last ``current``, with the ranges of a text column.

        Raises CatalogError for a table with other partitions.
        """
        with self._lock:
            opened = self._open or self._refreshed()
            actions = pa.table(opened.table.get_add_actions(flatten=True))
        partition = self._partition and f"partition.{self._partition}"
        if partition and len(actions) and partition not in actions.column_names:
            reason = f"the table {self.name} is not partitioned by {self._partition}"
            raise self._storage.error(reason)
        low, high = f"min.{ranges_of}", f"max.{ranges_of}"
        names = {"path", "size_bytes", "modification_time", "num_records", partition, low, high}
        rows = actions.select([name for name in actions.column_names if name in names])
        return [
            TableFile(
                path=unquote(row["path"]),
                size=row["size_bytes"],
                added_at=row["modification_time"] / 1_000,
                partition=row.get(partition),
                num_rows=row.get("num_records") or 0,
                range=None if None in (row.get(low), row.get(high)) else (row[low], row[high]),
            )
            for row in rows.to_pylist()
        ]

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of the table, as of the last ``current``; empty if it does not exist."""
        with self._lock:
            return {} if self._open is None else self._open.table.metadata().configuration

    def remember(self, properties: Mapping[str, str]) -> None:
        """Set properties of the table, or of the one that ``prepare`` will create."""
        with self._lock:
            self._properties |= properties
            if self._open is not None:
                self.prepare()

    def prepare(self) -> None:
        """Create the table if it does not exist, and add missing columns and properties."""
        with self._lock:
            try:
                _repeated(self._alter, CommitFailedError)  # another import may do the same
            except TableNotFoundError:
                self._create()

    def _alter(self) -> None:
        table = self.current()
        columns = {field.name for field in table.schema().fields}
        if missing := [field for field in self._schema if field.name not in columns]:
            fields = Schema.from_arrow(pa.schema(missing)).fields
            with self._synced():
                table.alter.add_columns(
                    [Field(field.name, field.type, metadata=field.metadata) for field in fields]
                )
            table = self.current()
        if not self._properties.items() <= table.metadata().configuration.items():
            with self._synced():
                table.alter.set_table_properties(self._properties, raise_if_not_exists=False)
            self.current()

    @contextmanager
    def _synced(self) -> Iterator[None]:
        """Sync the files that a commit names before the commit, then the commit itself.

        The preceding commit is synced too, because its process may not have done so yet.
        """
        self._storage.sync()
        before = -1 if self._open is None else self._open.mark.version
        yield
        self._log.sync(before - 1)

    def commit(self, actions: Sequence[AddAction], replacing: Sequence[str] | None = None) -> None:
        """Add files in one commit; ``replacing`` lists partitions whose files they replace.

        If another import commits in between, the commit is repeated a limited number of times.
        """
        filters = [(self._partition, "in", list(replacing or ()))] if self._partition else []

        def commit() -> None:
            with self._lock:
                # A commit that only adds files is compatible with concurrent commits.
                table = self.current()
                with self._synced():
                    table.create_write_transaction(
                        list(actions),
                        "append" if replacing is None else "overwrite",
                        self._schema,
                        self._partition,
                        None if replacing is None else filters,
                        post_commithook_properties=_NO_HOUSEKEEPING,
                    )
                self._after_commit()

        try:
            _repeated(commit, CommitFailedError)
        except CommitFailedError:
            raise
        except (DeltaError, OSError) as error:
            raise self._storage.error(f"{self._log.folder}: {reason_of(error)}") from error

    def merge(
        self, files: Sequence[TableFile], merged: Sequence[AddAction], seen: Mark | None = None
    ) -> bool:
        """Replace files by others with the same rows; returns False like ``exchange``.

        Files of earlier merges that were unlisted a day ago are deleted, because otherwise they
        would soon exceed the listed ones.
        """
        removed = [remove_action(file, is_lost=False) for file in files]
        if not self.exchange(removed, merged, seen):
            return False
        self.tidy()
        return True

    def tidy(self) -> None:
        """Delete files that were unlisted a day ago; if that fails, the next call does it."""
        with suppress(DeltaError, OSError):  # a vacuum deletes them too
            for path in self.out_of_use(_HOURS_OF_MERGED):
                self._storage.remove(f"{self.name}/{path}")

    def out_of_use(self, hours: int, *, with_others: bool = True) -> set[str]:
        """Return the paths of files that were unlisted at least ``hours`` ago.

        Files that no commit ever listed are included ``with_others`` if they were written before.
        """

        def unused(opened: DeltaTable) -> list[str]:
            return opened.vacuum(
                hours, dry_run=True, enforce_retention_duration=False, full=with_others
            )

        try:
            return {*map(unquote, query_table(self._uri, unused, self._storage.options))}
        except TableNotFoundError:
            return set()

    def exchange(
        self, removed: Sequence[RemoveAction], added: Sequence[AddAction], seen: Mark | None = None
    ) -> bool:
        """Replace files by others; return False if another commit followed ``seen``."""
        with self._lock:
            opened = self._open or self._refreshed()
            if seen not in (None, opened.mark):
                return False
            try:
                with self._synced():
                    opened.table.create_write_transaction(
                        [*removed, *added],
                        "append",
                        self._schema,
                        self._partition,
                        commit_properties=_NO_RETRIES,
                        post_commithook_properties=_NO_HOUSEKEEPING,
                    )
            except CommitFailedError:
                return False
            self._after_commit()
            return True

    def _after_commit(self) -> None:
        """Read the commit that was just made; after every 25th, trim the log."""
        # The commit is valid even if this fails; it is tried again 25 commits later.
        with suppress(CatalogError, DeltaError, OSError):
            table = self.current()
            if table.version() % _CHECKPOINT_EVERY:
                return
            table.create_checkpoint()
            self._log.sync(table.version() - 1)
            # The previous checkpoint remains usable, for concurrent readers.
            self._log.trim(table.version() - _CHECKPOINT_EVERY)

    def _create(self) -> None:
        try:
            with self._synced():
                DeltaTable.create(
                    self._uri,
                    self._schema,
                    partition_by=self._partition,
                    configuration=self._properties,
                    storage_options=self._storage.options,
                    raise_if_key_not_exists=False,
                )
        except (DeltaError, OSError) as error:
            # If two imports create the table, the second one finds it, or its creation fails.
            if not self._log.has(0):
                raise self._storage.error(f"{self._log.folder}: {reason_of(error)}") from error
        self.current()

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except TableNotFoundError:
            if self._log.is_lost():
                raise self._storage.error(f"{self._log.folder} is empty; {self._advice}") from None
            raise
        except DeltaError as error:
            reason = what_is_broken(self._storage, self.name)
            reason = reason or f"the table {self.name}: {reason_of(error)}"
            raise self._storage.error(self._with_advice(reason)) from error

    def _with_advice(self, reason: str) -> str:
        return f"{reason}; {what_to_do(self._storage, self.name, reason, self._advice)}"


def refuses_to_overwrite(storage: Storage) -> bool:
    """Return whether a store refuses to replace a commit by another one of the same version.

    The first commit of a temporary table below the location is written twice. The library checks
    whether a table exists before it requests the rows; if the table is created while rows are
    requested, the library must notice the conflict when it writes, and create the second commit.
    The table is removed at the end. Raises the errors of the store.
    """
    name = f"_probe-{uuid4().hex}"
    uri, schema = storage.location.uri(name), pa.schema([("value", pa.string())])

    def rows() -> Iterator[pa.RecordBatch]:
        # In a separate thread, because calls of the library cannot be nested.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(DeltaTable.create, uri, schema, storage_options=storage.options).result()
        yield pa.record_batch([pa.array([], pa.string())], schema)

    try:
        batches = pa.RecordBatchReader.from_batches(schema, rows())
        write_deltalake(uri, batches, storage_options=storage.options)
        return TableLog(storage, name).has(1)
    finally:
        for path in storage.find(name):
            storage.remove(f"{name}/{path}")

"""A Delta table of the catalog: opened, queried and committed to at a cost independent of its age.

delta-rs keeps the log, skips files by their statistics and evaluates SQL. Its own writers and
``optimize`` are not used: they do not flush data files to disk before a commit names them, so that
a power cut could lose published rows. Sorting six million rows with ``z_order`` also takes five
times as long as with Arrow.
"""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from math import inf
from random import random
from time import sleep, time
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Field, QueryBuilder, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
)

from snapshots.catalog.parquet import check_bytes, from_parquet, new_path, to_parquet
from snapshots.catalog.storage import RESTORE, Storage, checksum, reason_of, translated
from snapshots.errors import CatalogError

# -- files of a table


class TableFile(msgspec.Struct, frozen=True):
    """A file that a table lists.

    - path: Relative to the table.
    - size: In bytes.
    - added_at: In seconds since 1970.
    - partition: The file's value of the partition column.
    - num_rows: The number of rows.
    """

    path: str
    size: int
    added_at: float = 0.0
    partition: str | None = None
    num_rows: int = 0


Ranges = Mapping[str, tuple[str, str]]
"""The smallest and the largest value of each column."""


def add_action(
    path: str,
    size: int,
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
        path=path,
        size=size,
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


MIN_FILES = 8
"""The number of files at which a table is merged."""

RATIO = 2
"""A file that has at most so many times the rows of all smaller files together is merged with them.

As in geometric partitioning (Lester, Moffat and Zobel, 2005), the number of files, and of writes
per row, therefore grows logarithmically with the number of rows.
"""

_LARGE = 64 << 20
"""Files of at least so many bytes are not merged, to limit the memory for a merge to about 1 GB."""


def files_to_merge(files: Iterable[TableFile]) -> Sequence[TableFile]:
    """Return the files that ought to become one file; empty if there are few."""
    small = sorted(
        (file for file in files if file.size < _LARGE), key=lambda it: it.num_rows, reverse=True
    )
    if len(small) < MIN_FILES:
        return ()
    smaller = [*accumulate((file.num_rows for file in small[:0:-1]), initial=0)][::-1]
    rows = enumerate(zip(small, smaller, strict=True))
    places = (place for place, (it, sum_) in rows if it.num_rows <= RATIO * sum_)
    return small[next(places, len(small)) :]


# -- conflicts with other processes

_ATTEMPTS = 20
_WAIT_SECONDS = 0.05

Answer = TypeVar("Answer")


def repeated(action: Callable[[], Answer], error: type[Exception]) -> Answer:
    """Return the result of an action, which is tried ``_ATTEMPTS`` times if it raises ``error``.

    Pauses grow with each failure. The last error is raised; TableNotFoundError is raised
    immediately.
    """
    for attempt in range(_ATTEMPTS - 1):
        try:
            return action()
        except TableNotFoundError:
            raise
        except error:
            sleep(_WAIT_SECONDS * attempt * random())  # noqa: S311 - avoids lockstep
    return action()


# -- the log

_FOLDER = "_delta_log"
# Commits are named 00000000000000000007.json; names of checkpoint files also start with a version.
_VERSIONED = re.compile(r"(\d{20})\.(?:json|checkpoint\..*parquet)")


def _versions_of(names: Iterable[str]) -> dict[str, int]:
    """Return the versions of the names that are commits or checkpoints, in order."""
    return {it[0]: int(it[1]) for it in map(_VERSIONED.fullmatch, sorted(names)) if it}


class Mark(msgspec.Struct, frozen=True):
    """A state of a table: its version, and the checksum of the commit that created it.

    A table that replaces another has other marks, even at the same version.
    """

    version: int
    checksum: str


class TableLog:
    """The log of one table in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage, table: str) -> None:
        self._storage = storage
        self.folder = f"{table}/{_FOLDER}"

    def has(self, version: int) -> bool:
        """Return whether the commit of a version exists."""
        return self._storage.exists(self._path(version))

    def mark(self, version: int) -> Mark:
        """Return the mark of a version."""
        try:
            return Mark(version, checksum(self._storage.read(self._path(version))))
        except FileNotFoundError:
            return Mark(version, "")

    def files(self) -> dict[str, pa.Buffer]:
        """Return all commits and checkpoints by name, consistent with each other."""
        return repeated(self._files, FileNotFoundError)  # other processes may trim the log

    def _files(self) -> dict[str, pa.Buffer]:
        names = _versions_of(self._storage.sizes(self.folder))
        paths = [f"{self.folder}/{name}" for name in names]
        return dict(zip(names, self._storage.side_by_side(self._storage.read, paths), strict=True))

    def empty_commit(self) -> str | None:
        """Return the path of an empty commit in a folder, which the library reads as no change."""
        if not self._storage.location.is_folder:
            return None
        sizes = self._storage.sizes(self.folder)
        empty = (name for name in _versions_of(sizes) if not sizes[name])
        return next((f"{self.folder}/{name}" for name in empty), None)

    def is_lost(self) -> bool:
        """Return whether the table has data files but an empty log, which no import leaves."""
        table = self.folder.removesuffix(f"/{_FOLDER}")
        return not self._storage.sizes(self.folder) and bool(self._storage.data_files(table))

    def sync(self, since: int) -> None:
        """Sync the commits and checkpoints after a version to disk."""
        if self._storage.location.is_folder:
            versions = _versions_of(self._storage.sizes(self.folder))
            later = (name for name, version in versions.items() if version > since)
            self._storage.sync(f"{self.folder}/{name}" for name in later)

    def _path(self, version: int) -> str:
        return f"{self.folder}/{version:020}.json"


# -- tables


CHECKPOINT_EVERY = 25
_PROPERTIES = {
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
    "delta.logRetentionDuration": "interval 1 days",
}
# Otherwise the library would search for expired commits after each commit, and write checkpoints
# that are not on disk yet.
_NO_HOUSEKEEPING = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
# A retry after a concurrent commit would not notice that both replaced the same files.
_NO_RETRIES = CommitProperties(max_commit_retries=0)
Actions = Sequence[AddAction | RemoveAction]

Goes = Callable[[pa.Table], pa.ChunkedArray]
"""Returns a mask that selects the rows to remove."""


class CatalogTable:
    """A table of the catalog. Errors are those of the store.

    For a broken table, CatalogError names what is broken. TableNotFoundError means that the table
    does not exist, or no longer. In a folder, a commit is on disk when a method returns, and the
    files that it names were before.

    - partition: The partition column, if the table has one.
    - sorted_by: The columns, without nulls, that the rows of each file are sorted by.
    - rows_at_once: The number of rows in each part of a file that can be read separately.
    - advice: Appended to reports of damage.
    - properties: Those of the table, in addition to delta-rs's own.
    - mark: The state that the last ``current`` or commit found.
    """

    def __init__(
        self,
        storage: Storage,
        name: str,
        schema: pa.Schema,
        partition: str | None = None,
        *,
        sorted_by: Sequence[str] = (),
        rows_at_once: int | None = None,
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
        self._sorted_by = sorted_by
        self._rows_at_once = rows_at_once
        self._properties = _PROPERTIES | dict(properties or {})
        self.mark = Mark(-1, "")
        self._table: DeltaTable | None = None
        self._lock = threading.RLock()

    # -- its state

    def current(self) -> DeltaTable:
        """Return the table in its current state.

        It is opened again if there was a commit, or if it was replaced. To apply the new commits
        takes as long, and an open table that is used for many commits becomes slower with each.
        """
        with self._lock:
            table, self._table = self._table, None
            if (
                table is None
                or self._log.has(self.mark.version + 1)
                or self._log.mark(self.mark.version) != self.mark
            ):
                table = self._opened()
                self.mark = self._log.mark(table.version())
            self._table = table
            return table

    def _opened(self) -> DeltaTable:
        """Open the table.

        A commit can be removed after the log was listed and before it is read. A newer checkpoint
        exists then, so opening is tried again; damage persists.
        """
        options = None if self._storage.options is None else {**self._storage.options}
        try:
            table = repeated(lambda: DeltaTable(self._uri, storage_options=options), DeltaError)
        except TableNotFoundError:
            if self._log.is_lost():
                raise self._storage.error(f"{self._log.folder} is empty; {self._advice}") from None
            raise
        except DeltaError as error:
            reason = f"the log of the table {self.name} cannot be read: {reason_of(error)}"
            raise self._storage.error(f"{reason}; {self._advice}") from error
        if path := self._log.empty_commit():
            advice = "if it is the last one, and the power was cut meanwhile, delete it; else "
            raise self._storage.error(f"{path} is empty; {advice}{self._advice}")
        return table

    def files(self) -> list[TableFile]:
        """Return the files, as of the last ``current``."""
        with self._lock:
            table = self._table or self.current()
            actions = pa.table(table.get_add_actions(flatten=True))
        return [
            TableFile(
                path=unquote(row["path"]),
                size=row["size_bytes"],
                added_at=row["modification_time"] / 1_000,
                partition=row.get(f"partition.{self._partition}"),
                num_rows=row.get("num_records") or 0,
            )
            for row in actions.to_pylist()
        ]

    def out_of_use(self, hours: int) -> set[str]:
        """Return the paths of files that have been unlisted, or never listed, for some hours."""
        try:
            table = self.current()
        except TableNotFoundError:
            return set()
        paths = table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        return {*map(unquote, paths)}

    # -- reading

    def select(self, columns: Sequence[str], where: str = "") -> pa.Table:
        """Return columns of the rows that meet a condition of SQL."""
        builder = QueryBuilder()
        builder.register(self.name, self.current())
        text = f"SELECT {', '.join(columns)} FROM {self.name}{where and ' WHERE '}{where}"  # noqa: S608
        try:
            # Arrow reads the result, because it lets other threads run meanwhile.
            rows = pa.RecordBatchReader.from_stream(builder.execute(text)).read_all()
            return rows.cast(pa.schema(map(self._schema.field, columns)))
        except Exception as error:
            raise self._damaged(reason_of(error)) from error

    def read(self) -> pa.Table:
        """Return all rows of a small table."""
        self.current()
        tables = self._storage.side_by_side(self._rows_of, self.files())
        return pa.concat_tables([self._schema.empty_table(), *tables])

    def _rows_of(self, file: TableFile, coded: Sequence[str] = ()) -> pa.Table:
        """Read a file whole, some columns as codes; columns that it lacks are null."""
        path = f"{self.name}/{file.path}"
        try:
            rows = from_parquet(path, self.bytes_of(file), coded=coded)
            return of_schema(path, rows, with_codes(self._schema, coded))
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise self._damaged(reason_of(error)) from error

    def bytes_of(self, file: TableFile) -> pa.Buffer:
        """Read a file. Raises FileNotFoundError, and ArrowInvalid for other bytes than written."""
        path = f"{self.name}/{file.path}"
        data = self._storage.read(path)
        check_bytes(path, data)
        return data

    def check(self) -> None:
        """Raise CatalogError unless the files that cachelog wrote have the bytes it wrote."""
        self.current()
        for file in self.files():
            try:
                self.bytes_of(file)
            except (pa.ArrowInvalid, FileNotFoundError) as error:
                raise self._damaged(reason_of(error)) from error

    def _damaged(self, reason: str) -> CatalogError:
        return self._storage.error(
            f"the table {self.name} cannot be read: {reason}; {self._advice}"
        )

    # -- writing

    def prepare(self) -> None:
        """Create the table if it does not exist, and add missing columns."""
        with self._lock:
            try:
                repeated(self._add_columns, CommitFailedError)  # another import may do the same
            except TableNotFoundError:
                self._create()

    def append(self, rows: pa.Table) -> None:
        """Add rows in one commit; creates the table if it does not exist."""
        self.prepare()
        if len(rows):
            added = self._written(rows, is_new=True)
            self.change(lambda files: [] if added.path in {it.path for it in files} else [added])

    def change(self, plan: Callable[[Sequence[TableFile]], Actions]) -> None:
        """Commit what ``plan`` returns for the files of the table.

        After a concurrent commit it is called again, so that what others add is never lost. Files
        that it wrote before are left to vacuum: a commit to object storage that was sent again can
        conflict with itself, and name them. A missing table has no files. Raises CatalogError if
        concurrent commits do not end.
        """

        def attempt() -> None:
            try:
                self.current()
            except TableNotFoundError:
                if plan(()):
                    raise
                return
            mark = self.mark
            if actions := plan(self.files()):
                self._commit(actions, mark)

        try:
            repeated(attempt, CommitFailedError)
        except CommitFailedError:
            reason = f"other processes kept writing to the table {self.name}"
            raise self._storage.error(f"{reason}; nothing was changed, try again") from None

    def _commit(self, actions: Actions, seen: Mark) -> None:
        """Add and remove files; raises CommitFailedError if another commit followed ``seen``."""
        with self._lock, self._synced(seen) as table:
            table.create_write_transaction(
                list(actions),
                "append",
                self._schema,
                self._partition,
                commit_properties=_NO_RETRIES,
                post_commithook_properties=_NO_HOUSEKEEPING,
            )

    def drop_rows(
        self,
        goes: Goes,
        *,
        added_before: float = inf,
        dry_run: bool = False,
    ) -> int:
        """Remove the rows that ``goes`` selects in one commit, and return their number.

        Files without such rows remain unchanged, and so do those that were not ``added_before`` a
        moment, in seconds since 1970. Raises like ``change``.
        """
        num_dropped = 0

        def plan(files: Sequence[TableFile]) -> Actions:
            nonlocal num_dropped
            num_dropped, actions = 0, list[RemoveAction | AddAction]()
            for file in files:
                if file.added_at >= added_before:
                    continue
                rows = self._rows_of(file)
                remaining = rows.filter(pc.invert(goes(rows)))
                if len(remaining) == len(rows):
                    continue
                num_dropped += len(rows) - len(remaining)
                actions.append(remove_action(file))
                if len(remaining) and not dry_run:
                    actions.append(self._written(remaining, is_new=False))
            return () if dry_run else actions

        self.change(plan)
        return num_dropped

    def merge(self) -> None:
        """Merge files if there are many, unless another process commits first."""
        self.current()
        mark, files = self.mark, files_to_merge(self.files())
        if not files:
            return
        # Codes of repeated texts take a third of the memory of the texts.
        coded = [it.name for it in self._schema if it.type == pa.string()]
        coded = [name for name in coded if name not in self._sorted_by]
        rows = pa.concat_tables([self._rows_of(file, coded) for file in files])
        merged = self._written(rows.unify_dictionaries(), is_new=False)
        replaced = [remove_action(file, is_lost=False) for file in files]
        with suppress(CommitFailedError):
            self._commit([*replaced, merged], mark)

    def _written(self, rows: pa.Table, *, is_new: bool) -> AddAction:
        """Write sorted rows as a file, and return the action that adds it."""
        if self._sorted_by:
            order = pc.sort_indices(rows, [(name, "ascending") for name in self._sorted_by])
            rows = rows.take(order)
        data = to_parquet(rows, self._rows_at_once)
        path = new_path("", data)
        self._storage.write(f"{self.name}/{path}", data)
        return add_action(path, data.size, len(rows), {}, is_new=is_new, ranges=_ranges(rows))

    def _add_columns(self) -> None:
        columns = {field.name for field in self.current().schema().fields}
        if missing := [field for field in self._schema if field.name not in columns]:
            fields = Schema.from_arrow(pa.schema(missing)).fields
            with self._synced() as table:
                table.alter.add_columns(
                    [Field(field.name, field.type, metadata=field.metadata) for field in fields]
                )

    def _create(self) -> None:
        self._storage.sync()
        try:
            DeltaTable.create(
                self._uri,
                self._schema,
                partition_by=self._partition,
                configuration=self._properties,
                storage_options=self._storage.options,
                raise_if_key_not_exists=False,
            )
        except DeltaError:
            # If two imports create the table, the second one finds it, or its creation fails.
            if not self._log.has(0):
                raise
        self._log.sync(-1)
        self.current()

    @contextmanager
    def _synced(self, seen: Mark | None = None) -> Iterator[DeltaTable]:
        """Yield the current table for a commit, whose files are synced before.

        Raises CommitFailedError if there was a commit after ``seen``.

        The commit itself is synced after it, and so is the preceding one, because its process may
        not have done so yet. Then the commit is read, and after every 25th the log is trimmed. The
        commit is valid even if any of this fails; then the next commit does it.
        """
        table = self.current()
        if seen not in (None, self.mark):
            raise CommitFailedError
        version = self.mark.version
        self._storage.sync()
        yield table
        with suppress(CatalogError, DeltaError, OSError):
            self._log.sync(version - 1)
            table = self.current()
            if table.version() % CHECKPOINT_EVERY == 0:
                table.create_checkpoint()
                self._log.sync(table.version() - 1)
                table.cleanup_metadata()


def _ranges(rows: pa.Table) -> Ranges:
    """Return the ranges of all columns if all are texts without nulls, else none.

    Arrow takes the missing range of one column, beside those of others, for an empty one.
    """
    ranges = {}
    for name in rows.column_names:
        column = rows[name]
        if pa.types.is_dictionary(column.type):
            column = pa.chunked_array([chunk.dictionary for chunk in column.chunks], pa.string())
        if column.type != pa.string() or column.null_count or not len(column):
            return {}
        ends = pc.min_max(column).as_py()
        ranges[name] = ends["min"], ends["max"]
    return ranges


def of_schema(path: str, rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema, cast to its types; missing ones are null.

    Raises ArrowInvalid with the path if a column cannot be cast.
    """
    if rows.schema.equals(schema):
        return rows
    columns = [
        rows[it.name] if it.name in rows.column_names else pa.nulls(len(rows), it.type)
        for it in schema
    ]
    try:
        return pa.table(columns, schema.names).cast(schema)
    except pa.ArrowException as error:
        raise pa.ArrowInvalid(f"{path} has a column of another type ({error})") from None


def with_codes(schema: pa.Schema, coded: Sequence[str]) -> pa.Schema:
    """Return a schema in which some text columns are codes into their distinct values."""
    codes = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([it.with_type(codes) if it.name in coded else it for it in schema])


def sql_list(texts: Iterable[str]) -> str:
    """Return texts as a list of SQL: ('a', 'b')."""
    return f"({', '.join(map(sql_text, texts))})"


def sql_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


# -- what is read from a table


class TableView(ABC):
    """What was read from a table, as of the last ``refresh``.

    If the store fails or the table is damaged, the error is kept until a later call succeeds.
    """

    def __init__(self, table: CatalogTable, location: str) -> None:
        self.table = table
        self._location = location
        self._mark: Mark | None = None
        self._problem: CatalogError | None = None

    def refresh(self) -> bool:
        """Read what is new; return whether any row was added or removed.

        A missing table has no rows.
        """
        before, problem = self._mark, self._problem
        try:
            with translated(self._location):
                self._update()
            self._problem = None
        except CatalogError as error:
            self._mark, self._problem = None, error
            return problem is None
        return self._mark != before or problem is not None

    def _update(self) -> None:
        """Read the rows, unless the mark is that of the table."""
        try:
            self.table.current()
            mark = self.table.mark
        except TableNotFoundError:
            mark = None
        if mark is None or mark != self._mark:
            self._read(exists=mark is not None)
            self._mark = mark

    def _require_sound(self) -> None:
        """Raise the error of the last ``refresh``, if there was one."""
        if self._problem is not None:
            raise self._problem

    @abstractmethod
    def _read(self, *, exists: bool) -> None:
        """Read the rows of the table, if it exists."""

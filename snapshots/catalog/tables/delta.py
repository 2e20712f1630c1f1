"""A Delta table that is opened, brought up to date and committed to at a cost that stays flat."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from urllib.parse import unquote
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
)

from snapshots.catalog.store.failures import reason_of
from snapshots.catalog.store.storage import RESTORE, Storage
from snapshots.catalog.tables.actions import remove_action
from snapshots.catalog.tables.damage import what_is_broken, what_to_do
from snapshots.catalog.tables.log import Log, Mark
from snapshots.catalog.tables.opening import ask_anew
from snapshots.errors import CatalogError

_ATTEMPTS = 8
_REOPEN_AFTER = 10
_CHECKPOINT_EVERY = 25
_HOURS_OF_MERGED = 24
# To open a table, to bring it up to date and to commit all list the log. Old commits are of no use
# to cachelog, which never asks for the past of a table; so they are removed by their number. What
# the library removes by their age is for other tools that write into the table.
_PROPERTIES = {
    "delta.checkpointInterval": str(_CHECKPOINT_EVERY),
    "delta.logRetentionDuration": "interval 1 days",
}
# The library would look for commits that are too old after each commit.
_NO_HOUSEKEEPING = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
# Tried again behind a commit made meanwhile, a merge would not notice that it merged the same.
_AT_ONCE_OR_NOT = CommitProperties(max_commit_retries=0)


class _Open(msgspec.Struct):
    """An open table, its version when it was opened, and its state as of now."""

    table: DeltaTable
    opened_at: int
    mark: Mark


class Table:
    """One of the catalog's tables. Errors are those of the store.

    Of a broken table CatalogError names the broken file; TableNotFoundError means that there is
    none (any more). ``advice`` says what to do about damage. ``properties`` are those that it is
    to have beside the library's own.

    In a folder a commit is on the disk when a method returns, and what it names was there before.
    """

    def __init__(
        self,
        storage: Storage,
        name: str,
        schema: pa.Schema,
        partition: str = "",
        *,
        advice: str = RESTORE,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._storage = storage
        self._uri = storage.location.uri(name)
        self._advice = advice
        self._log = Log(storage, name)
        self._schema = schema
        self._partition_by = [partition] if partition else []
        self._properties = _PROPERTIES | dict(properties or {})
        self._open: _Open | None = None
        self._synced_to = -1
        self._lock = threading.RLock()

    def current(self) -> DeltaTable:
        """Return the table as it is now."""
        with self._lock:
            return self._brought_up_to_date().table

    def mark(self) -> Mark:
        """Return the state that ``current`` or ``commit`` found last."""
        with self._lock:
            return (self._open or self._brought_up_to_date()).mark

    def has_further_commit(self) -> bool:
        """Tell by one request whether there is a commit after what ``current`` found last."""
        found = self._open
        return self._log.has(0 if found is None else found.mark.version + 1)

    def is_replaced(self) -> bool:
        """Tell by one request whether what ``current`` found last is there no longer."""
        found = self._open
        return found is not None and not self._log.stands(found.mark)

    def _opened(self) -> DeltaTable:
        """Return the table as it was lately."""
        if self._open is None or self._is_worn(self._open) or not self._log.stands(self._open.mark):
            return self.current()
        return self._open.table

    def _brought_up_to_date(self) -> _Open:
        found, self._open = self._open, None
        if found is not None:
            # Where the commits since are not there any more, opening anew needs none of them.
            with suppress(DeltaError):
                if self._follow(found):
                    self._open = found
                    return found
        with self._damage_named():
            table = ask_anew(self._uri, lambda it: it, self._storage.options)
        self._refuse_empty_commits()
        self._storage.connect(self.name, table)
        self._open = _Open(table, table.version(), self._mark_of(table))
        self._synced_to = -1
        return self._open

    def _follow(self, found: _Open) -> bool:
        """Take in the commits since; False where the table must be opened anew."""
        before = found.mark
        # To ask for the next commit alone is cheap; to update lists the whole log.
        if self._log.has(before.version + 1):
            found.table.update_incremental()
            self._refuse_empty_commits()
            found.mark = self._mark_of(found.table)
        # Asked last: so what was taken in is known to be of the same table.
        return self._log.stands(before) and not self._is_worn(found)

    def _refuse_empty_commits(self) -> None:
        if path := self._log.empty_commit():
            raise self._error(self._with_advice(f"{path} is empty"))

    def _is_worn(self, found: _Open) -> bool:
        """Tell whether to open anew: what is kept of each commit makes the next ones slower."""
        return found.mark.version >= found.opened_at + _REOPEN_AFTER

    def _mark_of(self, table: DeltaTable) -> Mark:
        version = table.version()
        return self._log.mark(version) or Mark(version, str(table.metadata().id), 0)

    def files(self, ranges_of: Sequence[str] = ()) -> pa.Table:
        """Return a row of each file, as of the last ``current``: ``path``, ``size``, ``added_at``.

        Paths are below the table; times are in seconds since 1970. A partitioned table has the
        column ``partition`` too. With ``ranges_of`` some columns of the table, ``num_records`` and
        ``min.COLUMN`` and ``max.COLUMN`` hold what the log tells of the rows of a file: null where
        it does not.
        """
        with self._lock:
            found = self._open or self._brought_up_to_date()
            actions = pa.table(found.table.get_add_actions(flatten=True))
        columns = {
            "path": pa.array(map(unquote, actions["path"].to_pylist()), pa.string()),
            "size": actions["size_bytes"],
            "added_at": pc.divide(pc.cast(actions["modification_time"], pa.float64()), 1_000.0),
        }
        if ranges_of:
            told = ["num_records", *(f"{end}.{it}" for it in ranges_of for end in ("min", "max"))]
            nothing = pa.nulls(len(actions))
            columns |= {it: actions[it] if it in actions.column_names else nothing for it in told}
        for name in self._partition_by:
            column = f"partition.{name}"
            if column in actions.column_names:
                columns["partition"] = actions[column]
            elif len(actions):
                raise self._error(f"the table {self.name} is not partitioned by {name}")
            else:
                columns["partition"] = pa.nulls(0, pa.string())
        return pa.table(columns)

    @property
    def properties(self) -> Mapping[str, str]:
        """What the table says of itself, as of the last ``current``; nothing where it is not."""
        with self._lock:
            return {} if self._open is None else self._open.table.metadata().configuration

    def remember(self, properties: Mapping[str, str]) -> None:
        """Give properties to the table, or to the one that ``prepare`` makes."""
        with self._lock:
            self._properties |= properties
            if self._open is not None:
                self.prepare()

    def prepare(self) -> None:
        """Make the table where there is none, and add the columns and properties that it lacks."""
        with self._lock:
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    table = self._opened() if attempt == 1 else self.current()
                    self._alter(table)
                except TableNotFoundError:
                    self._create()
                    return
                except CommitFailedError:  # another import has done the same
                    if attempt == _ATTEMPTS:
                        raise
                else:
                    return

    def _alter(self, table: DeltaTable) -> None:
        known = {field.name for field in table.schema().fields}
        if missing := [field for field in self._schema if field.name not in known]:
            fields = Schema.from_arrow(pa.schema(missing)).fields
            with self._synced():
                table.alter.add_columns(
                    [Field(it.name, it.type, metadata=it.metadata) for it in fields]
                )
            table = self.current()
        if not self._properties.items() <= table.metadata().configuration.items():
            with self._synced():
                table.alter.set_table_properties(self._properties, raise_if_not_exists=False)
            self.current()

    @contextmanager
    def _synced(self) -> Iterator[None]:
        """Sync what a commit names before it is made, then the commit.

        With it comes the one that it follows on: whose process may not have come to that yet.
        """
        self._storage.sync()
        before = -1 if self._open is None else self._open.mark.version
        yield
        self._synced_to = self._log.sync(max(before - 1, self._synced_to))

    def commit(self, actions: Sequence[AddAction], replacing: Sequence[str] | None = None) -> None:
        """Add files in one commit; with ``replacing`` in the place of all in those partitions.

        Where another import commits in between it is done again, but not for ever.
        """
        filters = [(name, "in", list(replacing or ())) for name in self._partition_by]
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._lock:
                    # A commit that only adds files finds its place behind those made meanwhile.
                    table = self._opened() if attempt == 1 else self.current()
                    with self._synced():
                        table.create_write_transaction(
                            list(actions),
                            "append" if replacing is None else "overwrite",
                            self._schema,
                            self._partition_by,
                            None if replacing is None else filters,
                            post_commithook_properties=_NO_HOUSEKEEPING,
                        )
                    self._after_commit(table)
            except CommitFailedError:
                if attempt == _ATTEMPTS:
                    raise
            except (DeltaError, OSError) as error:
                raise self._error(f"{self._log.folder}: {reason_of(error)}") from error
            else:
                return

    def merge(
        self, sizes: Mapping[str, int], merged: Sequence[AddAction], seen: Mark | None = None
    ) -> bool:
        """Put files in the place of others with the same rows; False as ``exchange``.

        Those of earlier merges, out of use for a day, are deleted: else they come to more than what
        is listed.
        """
        removed = [remove_action(path, size, is_lost=False) for path, size in sizes.items()]
        if not self.exchange(removed, merged, seen):
            return False
        with suppress(DeltaError, OSError):  # as a vacuum does, too
            for path in self.out_of_use(_HOURS_OF_MERGED):
                self._storage.remove(f"{self.name}/{path}")
        return True

    def out_of_use(self, hours: int) -> list[str]:
        """Return the paths of files that were struck off so many hours ago or earlier.

        With them come those that no commit ever named, where they were written before that.
        """
        return self._unused(hours, with_others=True)

    def never_listed(self, hours: int) -> set[str]:
        """Return the paths of files that no commit ever named, and that are so many hours old."""
        struck_off = self._unused(hours, with_others=False)
        return {*self._unused(hours, with_others=True)}.difference(struck_off)

    def _unused(self, hours: int, *, with_others: bool) -> list[str]:
        def ask(opened: DeltaTable) -> list[str]:
            return opened.vacuum(
                hours, dry_run=True, enforce_retention_duration=False, full=with_others
            )

        try:
            return list(map(unquote, ask_anew(self._uri, ask, self._storage.options)))
        except TableNotFoundError:
            return []

    def exchange(
        self,
        removed: Sequence[RemoveAction],
        added: Sequence[AddAction],
        seen: Mark | None = None,
    ) -> bool:
        """Put files in the place of others; False where there was another commit since ``seen``."""
        with self._lock:
            found = self._open or self._brought_up_to_date()
            if seen not in (None, found.mark):
                return False
            try:
                with self._synced():
                    found.table.create_write_transaction(
                        [*removed, *added],
                        "append",
                        self._schema,
                        self._partition_by,
                        commit_properties=_AT_ONCE_OR_NOT,
                        post_commithook_properties=_NO_HOUSEKEEPING,
                    )
            except CommitFailedError:
                return False
            self._after_commit(found.table)
            return True

    def _after_commit(self, table: DeltaTable) -> None:
        """Take in the commit that was just made; each time that they are many, tidy the log."""
        try:
            table.update_incremental()
        except DeltaError:  # others have made so many since that some are not there any more
            self._open = None
            return
        if self._open is not None:
            self._open.mark = self._mark_of(table)
        if table.version() % _CHECKPOINT_EVERY:
            return
        # The commit stands, whatever becomes of this; 25 commits later it is tried again.
        with suppress(DeltaError, OSError):
            table.create_checkpoint()
            self._log.sync(table.version() - 1)
            # One checkpoint back stays whole, for those who are just reading it.
            self._log.trim(table.version() - _CHECKPOINT_EVERY)

    def _create(self) -> None:
        try:
            with self._synced():
                DeltaTable.create(
                    self._uri,
                    self._schema,
                    partition_by=self._partition_by,
                    configuration=self._properties,
                    storage_options=self._storage.options,
                    raise_if_key_not_exists=False,
                )
        except (DeltaError, OSError) as error:
            # Two imports that both make the table: the second finds it there, or loses the race.
            if not self._log.has(0):
                raise self._error(f"{self._log.folder}: {reason_of(error)}") from error
        self.current()

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except TableNotFoundError:
            if self._log.is_lost():
                raise self._error(f"{self._log.folder} is empty; {self._advice}") from None
            raise
        except DeltaError as error:
            reason = what_is_broken(self._storage, self.name)
            reason = reason or f"the table {self.name}: {reason_of(error)}"
            raise self._error(self._with_advice(reason)) from error

    def _with_advice(self, reason: str) -> str:
        return f"{reason}; {what_to_do(self._storage, self.name, reason, self._advice)}"

    def _error(self, reason: str) -> CatalogError:
        return CatalogError(self._storage.location.text, reason)


def keeps_the_first_commit(storage: Storage) -> bool:
    """Tell whether a store refuses to replace a commit by another one of the same version.

    The first commit of a table is written twice, below the location, and removed again. The library
    looks for a table before it asks for the rows, so what is made meanwhile is in its way: it has
    to find so by its write, and to make the second commit. Raises what the store raises.
    """
    name = f"_probe-{uuid4().hex}"
    uri, schema = storage.location.uri(name), pa.schema([("value", pa.string())])

    def rows() -> Iterator[pa.RecordBatch]:
        # In a thread of its own: the library's calls do not stand within each other.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(DeltaTable.create, uri, schema, storage_options=storage.options).result()
        yield pa.record_batch([pa.array([], pa.string())], schema)

    try:
        batches = pa.RecordBatchReader.from_batches(schema, rows())
        write_deltalake(uri, batches, storage_options=storage.options)
        return Log(storage, name).has(1)
    finally:
        for path in storage.find(name):
            storage.remove(f"{name}/{path}")

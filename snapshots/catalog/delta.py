"""A Delta table that is opened, brought up to date and committed to at a cost that stays flat."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog.damage import what_is_broken
from snapshots.catalog.failures import reason_of
from snapshots.catalog.storage import RESTORE, Storage
from snapshots.errors import CatalogError
from snapshots.tables import StoredFile

_ATTEMPTS = 8
_REOPEN_AFTER = 10
# To open a table is to read its newest checkpoint and the commits since, and to list the log. Old
# commits are of no use to cachelog, which never asks for the past of a table.
_PROPERTIES = {
    "delta.checkpointInterval": "25",
    "delta.logRetentionDuration": "interval 1 days",
}


class Table:
    """One of the catalog's tables. Errors are those of the store.

    Of a broken table CatalogError names the broken file; TableNotFoundError means that there is
    no table, or no longer.
    """

    def __init__(self, storage: Storage, name: str, schema: pa.Schema, partition: str = "") -> None:
        self.name = name
        self._storage = storage
        self._schema = schema
        self._partition_by = [partition] if partition else []
        self._table: DeltaTable | None = None
        self._opened_at = 0
        self._lock = threading.RLock()

    def current(self) -> DeltaTable:
        """Return the table as it is now."""
        with self._lock:
            return self._brought_up_to_date()

    def _opened(self) -> DeltaTable:
        """Return the table as it was lately: to bring it up to date lists its whole log."""
        with self._lock:
            table = self._table
            if table is None or table.version() >= self._opened_at + _REOPEN_AFTER:
                return self.current()
            if self._is_gone():
                self._table = None
                raise TableNotFoundError
            return table

    def _brought_up_to_date(self) -> DeltaTable:
        table, self._table = self._table, None
        if table is not None:
            if self._is_gone():
                raise TableNotFoundError
            # Where the commits since are not there any more, opening anew needs none of them.
            with suppress(DeltaError):
                table.update_incremental()
                # What an open table keeps of each commit makes the next ones slower.
                if table.version() < self._opened_at + _REOPEN_AFTER:
                    self._table = table
                    return table
        with self._damage_named():
            table = DeltaTable(self._storage.location.uri(self.name))
        self._table, self._opened_at = table, table.version()
        return table

    def files(self) -> pa.Table:
        """Return the columns ``path`` and ``size`` of all files, as of the last ``current``.

        Paths are below the table. A partitioned table has the column ``partition`` too.
        """
        actions = pa.table((self._table or self.current()).get_add_actions(flatten=True))
        columns = {
            "path": pa.array(map(unquote, actions["path"].to_pylist()), pa.string()),
            "size": actions["size_bytes"],
        }
        for name in self._partition_by:
            column = f"partition.{name}"
            if column in actions.column_names:
                columns["partition"] = actions[column]
            elif len(actions):
                raise self._error(f"the table {self.name} is not partitioned by {name}")
            else:
                columns["partition"] = pa.nulls(0, pa.string())
        return pa.table(columns)

    def prepare(self) -> None:
        """Make the table where there is none, and add the columns that it lacks."""
        try:
            table = self._opened()
        except TableNotFoundError:
            self._create()
            return
        known = {field.name for field in table.schema().fields}
        if missing := [field for field in self._schema if field.name not in known]:
            fields = Schema.from_arrow(pa.schema(missing)).fields
            table.alter.add_columns(
                [Field(it.name, it.type, metadata=it.metadata) for it in fields]
            )
        if not _PROPERTIES.items() <= table.metadata().configuration.items():
            table.alter.set_table_properties(_PROPERTIES)

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
                    table.create_write_transaction(
                        list(actions),
                        "append" if replacing is None else "overwrite",
                        self._schema,
                        self._partition_by,
                        None if replacing is None else filters,
                    )
            except CommitFailedError:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _create(self) -> None:
        try:
            DeltaTable.create(
                self._storage.location.uri(self.name),
                self._schema,
                partition_by=self._partition_by,
                configuration=_PROPERTIES,
            )
        except DeltaError:
            # Two imports that both make the table: the second finds it there, or loses the race.
            if self._is_gone():
                raise
        self.current()

    def _is_gone(self) -> bool:
        """Tell whether the log is gone, which a table that is open does not notice."""
        uri = self._storage.location.uri(self.name)
        if self._storage.location.is_folder:
            return not Path(uri, "_delta_log").is_dir()
        return not DeltaTable.is_deltatable(uri)

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except TableNotFoundError:
            raise
        except DeltaError as error:
            reason = what_is_broken(self._storage, self.name)
            reason = reason or f"the table {self.name}: {reason_of(error)}"
            raise self._error(f"{reason}; {RESTORE}") from error

    def _error(self, reason: str) -> CatalogError:
        return CatalogError(self._storage.location.text, reason)


def add_action(file: StoredFile, num_rows: int, partition: Mapping[str, str]) -> AddAction:
    """Return what a commit says of a new file."""
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict(partition),
        modification_time=int(time() * 1_000),
        data_change=True,
        stats=f'{{"numRecords":{num_rows}}}',
    )

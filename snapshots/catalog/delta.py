"""Opening Delta tables and committing to them, so that both stay fast as their logs grow."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time

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
# To open a table is to read its newest checkpoint and the commits since. The commits that a
# checkpoint covers are of no use to cachelog, which never asks for the past of a table.
_PROPERTIES = {
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 7 days",
}


def open_table(storage: Storage, name: str) -> DeltaTable:
    """Return a table as it is now.

    Raises TableNotFoundError, and CatalogError that names the broken file of a broken table.
    """
    with _damage_named(storage, name):
        return DeltaTable(storage.location.uri(name))


def update(table: DeltaTable, storage: Storage, name: str) -> None:
    """Bring an open table up to date; raises as ``open_table`` does."""
    with _damage_named(storage, name):
        table.update_incremental()


@contextmanager
def _damage_named(storage: Storage, name: str) -> Iterator[None]:
    try:
        yield
    except TableNotFoundError:
        raise
    except DeltaError as error:
        reason = what_is_broken(storage, name) or f"the table {name}: {reason_of(error)}"
        raise CatalogError(storage.location.text, f"{reason}; {RESTORE}") from error


def open_for_writing(
    storage: Storage, name: str, schema: pa.Schema, partition_by: Sequence[str] = ()
) -> DeltaTable:
    """Return a table as it is now, made where there is none, with all columns of the schema."""
    uri = storage.location.uri(name)
    try:
        table = open_table(storage, name)
    except TableNotFoundError:
        return _create(uri, schema, partition_by)
    known = {field.name for field in table.schema().fields}
    if missing := [field for field in schema if field.name not in known]:
        fields = Schema.from_arrow(pa.schema(missing)).fields
        table.alter.add_columns([Field(it.name, it.type, metadata=it.metadata) for it in fields])
    if not _PROPERTIES.items() <= table.metadata().configuration.items():
        table.alter.set_table_properties(_PROPERTIES)
    return table


def _create(uri: str, schema: pa.Schema, partition_by: Sequence[str]) -> DeltaTable:
    try:
        return DeltaTable.create(
            uri, schema, partition_by=list(partition_by), configuration=_PROPERTIES
        )
    except DeltaError as error:
        # Two imports that both make the table: the second finds it there.
        if "already exists" not in str(error):
            raise
        return DeltaTable(uri)


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


def commit(
    table: DeltaTable,
    actions: Sequence[AddAction],
    schema: pa.Schema,
    partition_by: Sequence[str] = (),
    replacing: Sequence[tuple[str, str, Sequence[str]]] | None = None,
) -> None:
    """Add files to a table in one commit, with ``replacing`` instead of all files it selects.

    Where another import commits in between it is done again, but not for ever.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            table.create_write_transaction(
                list(actions),
                "append" if replacing is None else "overwrite",
                schema,
                list(partition_by),
                None if replacing is None else list(replacing),
            )
        except CommitFailedError:
            if attempt == _ATTEMPTS:
                raise
            table.update_incremental()
        else:
            return

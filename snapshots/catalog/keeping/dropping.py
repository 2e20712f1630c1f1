"""Rows are dropped from a Delta table in one commit, while others may write into it."""

from collections.abc import Callable
from random import random
from time import sleep
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.transaction import AddAction, RemoveAction

from snapshots.catalog.actions import add_action, remove_action
from snapshots.catalog.delta import Table
from snapshots.catalog.failures import reason_of
from snapshots.catalog.storage import RESTORE, Storage, from_parquet, named_by_bytes, to_parquet
from snapshots.errors import CatalogError

_ATTEMPTS = 12
_WAIT_SECONDS = 0.05

Goes = Callable[[pa.Table], pa.ChunkedArray]
"""Returns a mask over rows: those that are to go."""


def drop_rows(storage: Storage, table: Table, goes: Goes) -> int:
    """Drop the rows that ``goes`` masks, and return how many they were.

    Files without such a row stay as they are. Where others commit meanwhile all is looked at anew,
    so a row that is appended at the same time is never lost. Raises CatalogError where that goes
    on for ever, and TableNotFoundError where there is no table.
    """
    for attempt in range(_ATTEMPTS):
        table.current()
        seen = table.mark()
        dropped, removed, added = _without(storage, table, goes)
        if not dropped or table.exchange(removed, added, seen):
            return dropped
        for action in added:
            storage.remove(f"{table.name}/{action.path}")
        sleep(_WAIT_SECONDS * (attempt + random()))  # noqa: S311 - so that two do not keep pace
    raise CatalogError(
        storage.location.text,
        f"others wrote into the table {table.name} all the time; nothing was dropped, try again",
    )


def _without(
    storage: Storage, table: Table, goes: Goes
) -> tuple[int, list[RemoveAction], list[AddAction]]:
    dropped = 0
    removed: list[RemoveAction] = []
    added: list[AddAction] = []
    files = table.files()
    for path, size in zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True):
        rows = _rows(storage, f"{table.name}/{path}", size)
        stays = pc.invert(goes(rows))
        left = rows.filter(stays)
        if len(left) == len(rows):
            continue
        dropped += len(rows) - len(left)
        removed.append(remove_action(path, size))
        if len(left):
            data = to_parquet(left)
            file = named_by_bytes(f"{uuid4()}-", data)
            storage.write(f"{table.name}/{file.path}", data)
            added.append(add_action(file, len(left), {}, is_new=False))
    return dropped, removed, added


def _rows(storage: Storage, path: str, size: int) -> pa.Table:
    try:
        return from_parquet(path, storage.read(path, size))
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise CatalogError(storage.location.text, f"{reason_of(error)}; {RESTORE}") from None

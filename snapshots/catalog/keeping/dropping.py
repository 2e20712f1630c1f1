"""Rows are dropped from a Delta table in one commit, while others may write into it."""

from collections.abc import Callable
from math import inf
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.transaction import AddAction, RemoveAction

from snapshots.catalog.keeping.attempts import attempts
from snapshots.catalog.store.failures import reason_of
from snapshots.catalog.store.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.store.storage import RESTORE, Storage
from snapshots.catalog.tables.actions import add_action, remove_action
from snapshots.catalog.tables.delta import Table
from snapshots.catalog.tables.listed_files import sizes_of, with_plain_texts
from snapshots.catalog.tables.log import Mark
from snapshots.errors import CatalogError

Goes = Callable[[pa.Table], pa.ChunkedArray]
"""Returns a mask over rows: those that are to go."""


Write = Callable[[str, pa.Table], tuple[pa.Buffer, AddAction]]
"""Returns the bytes of what is left of a file, and what a commit says of them."""


def written(_path: str, rows: pa.Table) -> tuple[pa.Buffer, AddAction]:
    """Return rows as a file of any table that is in no order."""
    data = to_parquet(rows)
    return data, add_action(named_by_bytes(f"{uuid4()}-", data), len(rows), {}, is_new=False)


def drop_rows(
    storage: Storage,
    table: Table,
    goes: Goes,
    *,
    write: Write = written,
    added_before: float = inf,
    seen: Mark | None = None,
    dry_run: bool = False,
) -> int:
    """Drop the rows that ``goes`` masks, and return how many they were.

    Files without such a row stay as they are, and so do those that were not ``added_before`` a
    moment, in seconds since 1970. Where others commit meanwhile all is looked at anew, so a row
    that is appended at the same time is never lost; but where they did so since ``seen``, nothing
    is dropped. Raises CatalogError where others never cease, and TableNotFoundError.
    """
    for _ in attempts():
        table.current()
        mark = table.mark()
        if seen not in (None, mark):
            return 0
        rewriting = _Rewriting(storage, table.name, write, dry_run=dry_run)
        files = table.files()
        old_enough = pc.less(files["added_at"], added_before)
        for path, size in sizes_of(files.filter(old_enough)).items():
            rewriting.take(path, size, goes)
        if (
            dry_run
            or not rewriting.num_dropped
            or table.exchange(rewriting.removed, rewriting.added, mark)
        ):
            return rewriting.num_dropped
        rewriting.undo()
    raise CatalogError(
        storage.location.text,
        f"others wrote into the table {table.name} all the time; nothing was dropped, try again",
    )


class _Rewriting:
    """Files of a table without the rows that go; nothing is seen of it until it is committed."""

    def __init__(self, storage: Storage, name: str, write: Write, *, dry_run: bool) -> None:
        self._storage = storage
        self._name = name
        self._write = write
        self._dry_run = dry_run
        self.num_dropped = 0
        self.removed: list[RemoveAction] = []
        self.added: list[AddAction] = []

    def take(self, path: str, size: int, goes: Goes) -> None:
        rows = rows_of(self._storage, f"{self._name}/{path}", size)
        left = rows.filter(pc.invert(goes(rows)))
        if len(left) == len(rows):
            return
        self.num_dropped += len(rows) - len(left)
        if self._dry_run:
            return
        self.removed.append(remove_action(path, size))
        if len(left):
            data, action = self._write(path, left)
            self._storage.write(f"{self._name}/{action.path}", data)
            self.added.append(action)

    def undo(self) -> None:
        for action in self.added:
            self._storage.remove(f"{self._name}/{action.path}")


def rows_of(storage: Storage, path: str, size: int) -> pa.Table:
    """Read a file of a table whole; raises CatalogError where it is damaged."""
    try:
        return with_plain_texts(from_parquet(path, storage.read(path, size)))
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise CatalogError(storage.location.text, f"{reason_of(error)}; {RESTORE}") from None

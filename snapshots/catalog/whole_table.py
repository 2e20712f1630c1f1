"""A table whose rows are cached in memory, except large columns; a refresh reads only new files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog import parquet
from snapshots.catalog.delta import CatalogTable, Mark, add_action, missing_columns
from snapshots.catalog.storage import RESTORE, Storage, reason_of
from snapshots.tables import StoredFile

_MAX_FILES = 32
_LARGE = 8 << 20
"""Files of at least this size are not merged, so that the cost of a merge does not grow."""

_READ_AT_ONCE = 16 << 20

Rows = TypeVar("Rows")


class WholeTable(Generic[Rows]):
    """The rows of a table in a storage, as of the last ``refresh``. Errors are those of the store.

    ``decode`` converts some ``columns`` of a file, by default all, to the cached form of its rows.
    ``on_demand`` are large columns that are not among those, and are not read with them.
    ``required`` are the columns that the table must have; other missing columns are null.
    ``advice`` is appended to reports of damage.
    """

    def __init__(
        self,
        storage: Storage,
        name: str,
        schema: pa.Schema,
        decode: Callable[[pa.Table], Rows],
        *,
        required: Collection[str],
        columns: Sequence[str] | None = None,
        on_demand: Collection[str] = (),
        advice: str = RESTORE,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._storage = storage
        self._name = name
        self._schema = schema
        self._decode = decode
        self._required = required
        self._columns = columns
        self._on_demand = on_demand
        self._advice = advice
        self.table = CatalogTable(storage, name, schema, advice=advice, properties=properties)
        self._read: dict[str, tuple[int, Rows]] = {}
        self._mark: Mark | None = None

    def refresh(self, *, missing_ok: bool = False) -> bool:
        """Read new rows; return whether any were added or removed.

        Raises TableNotFoundError if there is no table, except with ``missing_ok``, and CatalogError
        for a table that is not cachelog's.
        """
        try:
            table = self.table.current()
        except TableNotFoundError:
            was_there = self._mark is not None
            self._read, self._mark = {}, None
            if missing_ok:
                return was_there
            raise
        self._check(table)
        return self._read_new()

    @property
    def rows(self) -> Sequence[Rows]:
        """The cached form of the rows, one item per file, in any order."""
        return [rows for _, rows in self._read.values()]

    def _read_new(self) -> bool:
        mark = self.table.mark()
        if mark == self._mark:
            return False
        listed = {f"{self._name}/{file.path}": file.size for file in self.table.files()}
        new = {path: size for path, size in listed.items() if path not in self._read}
        read = {path: (new[path], self._decode(table)) for path, table in self._cached_columns(new)}
        unchanged = {path: rows for path, rows in self._read.items() if path in listed}
        self._read, self._mark = unchanged | read, mark
        return True

    def select(
        self, columns: Sequence[str], has: Callable[[Rows], bool], coded: Sequence[str] = ()
    ) -> Iterator[pa.Table]:
        """Yield columns of the files whose cached rows satisfy ``has``.

        Texts in the columns ``coded`` are returned as codes if the file stores them as such. Files
        that were merged since the last ``refresh`` still exist, because they are kept for a day.
        Raises CatalogError if a file is damaged or missing, or lacks a column.
        """
        sizes = {path: size for path, (size, rows) in self._read.items() if has(rows)}
        read = self._tables(sizes, lambda path: self._read_whole(path, sizes[path], columns, coded))
        for path, table in read:
            yield self._checked(path, table, columns)

    def _checked(self, path: str, table: pa.Table, columns: Sequence[str]) -> pa.Table:
        missing = set(columns).difference(table.column_names)
        if lost := missing.intersection(self._required):
            names = ", ".join(sorted(lost))
            raise self._storage.error(f"{path} has no column {names}; {self._advice}")
        for name in missing:
            field = self._schema.field(name)
            table = table.append_column(field, pa.nulls(len(table), field.type))
        return table.select(columns)

    def _cached_columns(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, pa.Table]]:
        """Read the columns that are decoded and cached, from the tail of a file if it has one."""

        def read(path: str) -> pa.Table:
            data = parquet.read_tail(self._storage, path, sizes[path])
            if data is None:
                return self._read_whole(path, sizes[path], self._columns)
            return parquet.from_parquet(path, data, self._columns, is_checked=True)

        return self._tables(
            {path: size - parquet.tail_start(path) for path, size in sizes.items()}, read
        )

    def _tables(
        self, num_bytes: Mapping[str, int], read: Callable[[str], pa.Table]
    ) -> Iterator[tuple[str, pa.Table]]:
        """Read files, concurrently up to a limit of bytes at a time."""
        try:
            for some in _in_pieces(num_bytes, _READ_AT_ONCE):
                yield from zip(some, self._storage.side_by_side(read, [*some]), strict=True)
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise self._storage.error(f"{reason_of(error)}; {self._advice}") from None

    def _read_whole(
        self, path: str, size: int, columns: Sequence[str] | None = None, coded: Sequence[str] = ()
    ) -> pa.Table:
        return parquet.from_parquet(path, self._storage.read(path, size), columns, coded=coded)

    def _check(self, table: DeltaTable) -> None:
        """Raise CatalogError for a table that is not cachelog's, before any rows are read."""
        if missing := missing_columns(table, self._required):
            raise self._storage.error(
                f"the table {self._name} is not cachelog's: it has no column "
                f"{', '.join(missing)}; {self._advice}"
            )

    def append(self, rows: pa.Table) -> None:
        """Add rows in one commit, and read them."""
        self._commit(rows)

    def replace(self, rows: pa.Table) -> None:
        """Replace all rows of the table in one commit, and read them."""
        self._commit(rows, replacing=())
        self.table.tidy()

    def _commit(self, rows: pa.Table, replacing: Sequence[str] | None = None) -> None:
        data, file = self._packed(rows)
        # Created first, because data files without a log are reported as a lost log.
        self.table.prepare()
        self._storage.write(f"{self._name}/{file.path}", data)
        self.table.commit([add_action(file, len(rows), {})], replacing)
        self._read_new()

    def _packed(self, rows: pa.Table) -> tuple[pa.Buffer, StoredFile]:
        data = parquet.to_parquet(parquet.with_first(rows, self._on_demand))
        return data, parquet.named_with_tail(f"{uuid4()}-", data, self._on_demand)

    def compact(self) -> None:
        """Merge small files if there are many, so that opening remains fast."""
        files = {f"{self._name}/{file.path}": file for file in self.table.files()}
        small = {path: file.size for path, file in files.items() if file.size < _LARGE}
        if len(small) < _MAX_FILES:
            return
        sizes = next(_in_pieces(small, 2 * _LARGE))
        read = self._tables(sizes, lambda path: self._read_whole(path, sizes[path]))
        tables = [table for _, table in read]
        rows = pa.concat_tables(tables, promote_options="default")
        data, file = self._packed(rows)
        merged = add_action(file, len(rows), {}, is_new=False)
        # The published rows are valid even if this fails.
        with suppress(DeltaError, OSError):
            self._storage.write(f"{self._name}/{file.path}", data)
            if self.table.merge([files[path] for path in sizes], [merged]):
                self._read_new()
            else:
                self._storage.remove(f"{self._name}/{file.path}")


def plain(rows: pa.Table) -> pa.Table:
    """Return rows unchanged."""
    return rows


def _in_pieces(sizes: Mapping[str, int], most: int) -> Iterator[dict[str, int]]:
    """Yield groups of files of at most ``most`` bytes; a larger file is a separate group."""
    piece: dict[str, int] = {}
    for path, size in sizes.items():
        if piece and sum(piece.values()) + size > most:
            yield piece
            piece = {}
        piece[path] = size
    if piece:
        yield piece

"""The table ``revisions``: each row a tag in a state, and the commit point of its content."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from uuid import uuid4

import msgspec
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog.delta import Mark, Table, add_action
from snapshots.catalog.failures import reason_of
from snapshots.catalog.storage import RESTORE, Storage, from_parquet, named_by_bytes, to_parquet
from snapshots.errors import CatalogError
from snapshots.models import RevisionInfo
from snapshots.tables import REVISIONS, Files, StoredFile, files_of, revisions_of, revisions_table

_TABLE = "revisions"
_MAX_FILES = 32
_REQUIRED = [name for name in REVISIONS.names if name != "files"]


class _Rows(msgspec.Struct, frozen=True):
    """What one file of the table holds."""

    revisions: list[RevisionInfo]
    files: dict[str, tuple[StoredFile, ...]]


class RevisionsTable:
    """The rows in a storage as of the last ``refresh``. Errors are those of the store.

    A file is read once: a refresh costs what is new.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._table = Table(storage, _TABLE, REVISIONS)
        self._read: dict[str, _Rows] = {}
        self._mark: Mark | None = None

    def refresh(self) -> bool:
        """Read what is new, and tell whether anything is.

        Raises TableNotFoundError where there is no table, also where there is one no longer, and
        CatalogError for a table that is not cachelog's.
        """
        try:
            self._check_columns(self._table.current())
        except TableNotFoundError:
            self._read, self._mark = {}, None
            raise
        return self._read_new()

    @property
    def revisions(self) -> list[RevisionInfo]:
        """All rows, in no order."""
        return list(chain.from_iterable(rows.revisions for rows in self._read.values()))

    @property
    def files(self) -> dict[str, tuple[StoredFile, ...]]:
        """The files of contents, by digest, of those contents whose files are known."""
        found: dict[str, tuple[StoredFile, ...]] = {}
        for rows in self._read.values():
            found |= rows.files
        return found

    def _read_new(self) -> bool:
        mark = self._table.mark()
        if mark == self._mark:
            return False
        listed = self._sizes()
        new = {path: size for path, size in listed.items() if path not in self._read}
        read = {path: _Rows(revisions_of(it), files_of(it)) for path, it in self._tables(new)}
        kept = {path: rows for path, rows in self._read.items() if path in listed}
        self._read, self._mark = kept | read, mark
        return True

    def _sizes(self) -> dict[str, int]:
        files = self._table.files()
        paths = [f"{_TABLE}/{path}" for path in files["path"].to_pylist()]
        return dict(zip(paths, files["size"].to_pylist(), strict=True))

    def _tables(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, pa.Table]]:
        try:
            for path, data in zip(sizes, self._storage.read_all(sizes), strict=True):
                yield path, from_parquet(path, data)
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise CatalogError(
                self._storage.location.text, f"{reason_of(error)}; {RESTORE}"
            ) from None

    def _check_columns(self, table: DeltaTable) -> None:
        known = {field.name for field in table.schema().fields}
        if missing := [name for name in _REQUIRED if name not in known]:
            raise CatalogError(
                self._storage.location.text,
                f"the table {_TABLE} is not cachelog's: it has no column {', '.join(missing)}",
            )

    def append(self, revisions: Sequence[RevisionInfo], files: Files) -> None:
        """Add rows in one commit, and read them: from then on readers see them."""
        data = to_parquet(revisions_table(revisions, files))
        file = named_by_bytes(f"{uuid4()}-", data)
        # Made first: rows without a log are rows that were lost.
        self._table.prepare()
        self._storage.write(f"{_TABLE}/{file.path}", data)
        self._table.commit([add_action(file, len(revisions), {})])
        self._read_new()

    def compact(self) -> None:
        """Merge the files where they are many, so that opening stays fast."""
        if len(self._read) < _MAX_FILES:
            return
        sizes = self._sizes()
        tables = [table for _, table in self._tables(sizes)]
        rows = pa.concat_tables(tables, promote_options="default")
        data = to_parquet(rows)
        file = named_by_bytes(f"{uuid4()}-", data)
        merged = add_action(file, len(rows), {}, is_new=False)
        # What was published stands, whatever becomes of this.
        with suppress(DeltaError, OSError):
            self._storage.write(f"{_TABLE}/{file.path}", data)
            if self._table.merge({path.partition("/")[2]: sizes[path] for path in sizes}, merged):
                self._read_new()
            else:
                self._storage.remove(f"{_TABLE}/{file.path}")

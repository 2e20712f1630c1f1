"""The table ``revisions``: each row a tag in a state, and the commit point of its content."""

from collections.abc import Sequence
from itertools import chain
from uuid import uuid4

import msgspec
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.delta import Mark, Table, add_action
from snapshots.catalog.storage import Storage, from_parquet, stored, to_parquet
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
        files = self._table.files()
        paths = [f"{_TABLE}/{path}" for path in files["path"].to_pylist()]
        listed = dict(zip(paths, files["size"].to_pylist(), strict=True))
        new = {path: size for path, size in listed.items() if path not in self._read}
        read = {}
        for path, data in zip(new, self._storage.read_all(new), strict=True):
            rows = from_parquet(path, data, REVISIONS.names)
            read[path] = _Rows(revisions_of(rows), files_of(rows))
        kept = {path: rows for path, rows in self._read.items() if path in listed}
        self._read, self._mark = kept | read, mark
        return True

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
        file = stored(f"{uuid4()}.zstd.parquet", data)
        self._storage.write(f"{_TABLE}/{file.path}", data)
        self._table.prepare()
        self._table.commit([add_action(file, len(revisions), {})])
        self._read_new()

    def compact(self) -> None:
        """Merge the files where they are many, so that opening stays fast."""
        if len(self._read) >= _MAX_FILES and self._table.compact():
            self._read_new()

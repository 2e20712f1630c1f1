"""The table ``specs``: the rows of every content, in files that the table ``revisions`` names.

A content is read from its files alone, whatever number of others there is: the table's log, which
lists the files of all contents, is only asked for a content whose files nothing names (in catalogs
of before) or which another tool has rewritten.
"""

from collections.abc import Iterable, Sequence
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.transaction import AddAction

from snapshots.catalog.delta import Table, add_action
from snapshots.catalog.storage import (
    RESTORE,
    Storage,
    checksum,
    from_parquet,
    stored,
    to_parquet,
)
from snapshots.errors import CatalogError
from snapshots.tables import SPECS, StoredFile, with_columns

_TABLE = "specs"
_UNREADABLE = {"deletionVectors", "columnMapping"}


class SpecsTable:
    """The contents in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._table = Table(storage, _TABLE, SPECS, "digest")

    # -- reading

    def read(
        self, digest: str, files: Sequence[StoredFile] | None, columns: Sequence[str]
    ) -> pa.Table | None:
        """Return columns of a content, null where its files are older than a column.

        None where the store does not have the content. Raises CatalogError where the bytes are
        not those that were written.
        """
        if files is not None:
            try:
                return _joined([self._read_file(digest, file, columns) for file in files], columns)
            except FileNotFoundError:
                pass  # another tool has compacted the table, which knows the new files
        sizes = self._listed_files(digest)
        read = zip(sizes, self._storage.read_all(sizes), strict=True)
        found = [from_parquet(path, data, columns) for path, data in read]
        return _joined(found, columns) if found else None

    def _read_file(self, digest: str, file: StoredFile, columns: Sequence[str]) -> pa.Table:
        path = f"{_TABLE}/{file.path}"
        data = self._storage.read(path, file.size)
        if data.size != file.size or checksum(data) != file.checksum:
            raise CatalogError(
                self._storage.location.text,
                f"the content {digest[:16]} is damaged: {path} does not have the bytes that were "
                f"written; {RESTORE}",
            )
        return from_parquet(path, data, columns)

    def _listed_files(self, digest: str) -> dict[str, int]:
        """Return the paths and sizes of a content's files, as the table's log has them."""
        features = set(self._table.current().protocol().reader_features or ())
        if unreadable := sorted(_UNREADABLE & features):
            raise CatalogError(
                self._storage.location.text,
                f"the table {_TABLE} has features that cachelog cannot read: "
                + ", ".join(unreadable),
            )
        files = self._table.files()
        own = files.filter(pc.equal(files["partition"], digest))
        paths = [f"{_TABLE}/{path}" for path in own["path"].to_pylist()]
        return dict(zip(paths, own["size"].to_pylist(), strict=True))

    # -- writing

    def write(self, contents: Iterable[tuple[str, pa.Table]]) -> dict[str, tuple[StoredFile, ...]]:
        """Write contents, each with its digest, in one commit; return their files by digest.

        The rows are asked for one content at a time, and kept no longer than it takes to write
        them. What the table has of the same contents already, left over from an import that was
        killed half way, is replaced.
        """
        self._table.prepare()
        added: list[AddAction] = []
        replacing: dict[str, AddAction] = {}
        files: dict[str, tuple[StoredFile, ...]] = {}
        for digest, rows in contents:
            data = to_parquet(rows.drop_columns(["digest"]))
            # Named by its bytes: two imports that write the same content at once write one file.
            file = stored(f"digest={digest}/{checksum(data)}.zstd.parquet", data)
            leftover = self._leftover(digest)
            if leftover and leftover != {file.path}:
                file = stored(f"digest={digest}/{uuid4()}.zstd.parquet", data)
                replacing[digest] = add_action(file, len(rows), {"digest": digest})
            elif not leftover:
                added.append(add_action(file, len(rows), {"digest": digest}))
            self._storage.write(f"{_TABLE}/{file.path}", data)
            files[digest] = (file,)
        if added:
            self._table.commit(added)
        if replacing:
            self._table.commit(list(replacing.values()), replacing=list(replacing))
        return files

    def _leftover(self, digest: str) -> set[str]:
        """Return the paths of the files that the table has of a content."""
        # A new content has no folder; to ask for that costs the same however many others there are.
        if not self._storage.names(f"{_TABLE}/digest={digest}"):
            return set()
        self._table.current()
        files = self._table.files()
        own = files.filter(pc.equal(files["partition"], digest))
        return set(own["path"].to_pylist())


def _joined(tables: Sequence[pa.Table], columns: Sequence[str]) -> pa.Table:
    return pa.concat_tables([with_columns(table, columns) for table in tables])

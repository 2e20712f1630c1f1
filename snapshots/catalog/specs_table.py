"""The table ``specs``: the rows of every content, in files that the table ``revisions`` names.

A content is read from its files alone, whatever number of others there is: the table's log, which
lists the files of all contents, is only asked for a content whose files nothing names (in catalogs
of before) or which another tool has rewritten.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from time import time
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog.actions import add_action
from snapshots.catalog.delta import Table
from snapshots.catalog.failures import reason_of
from snapshots.catalog.listed_files import sizes_of
from snapshots.catalog.storage import Found, Storage, from_parquet, named_by_bytes, to_parquet
from snapshots.errors import CatalogError
from snapshots.tables import SPECS, Files, StoredFile, with_columns

FRESH_SECONDS = 1_800
"""A file that was written less than this ago may be that of an import that still runs."""

_TABLE = "specs"
_UNREADABLE = {"deletionVectors", "columnMapping"}


class DamagedContent(CatalogError):
    """The store has a content no more, or not the bytes that were written."""


class SpecsTable:
    """The contents in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._table = Table(storage, _TABLE, SPECS, "digest")

    # -- reading

    def read(
        self, digest: str, files: Sequence[StoredFile] | None, columns: Sequence[str]
    ) -> pa.Table:
        """Return columns of a content, null where its files are older than a column.

        ``files`` are those that were written, where that is known. Raises DamagedContent where
        the store does not have the content, or other bytes than were written.
        """
        try:
            found = self._read_written(files, columns) if files is not None else None
            if found is None:
                sizes = self._listed_files(digest)
                read = zip(sizes, self._storage.read_all(sizes), strict=True)
                found = [from_parquet(path, data, columns) for path, data in read]
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise self._damaged(digest, f"is damaged: {reason_of(error)}") from None
        if not found:
            raise self._damaged(digest, "is missing")
        return pa.concat_tables([with_columns(table, columns) for table in found])

    def is_intact(self, digest: str, files: Sequence[StoredFile] | None) -> bool:
        """Tell whether a content can be read as it was written."""
        try:
            self.read(digest, files, ["hash"] if files else SPECS.names)
        except DamagedContent:
            return False
        return True

    def _read_written(
        self, files: Sequence[StoredFile], columns: Sequence[str]
    ) -> list[pa.Table] | None:
        found = []
        for file in files:
            path = f"{_TABLE}/{file.path}"
            try:
                data = self._storage.read(path, file.size)
            except FileNotFoundError:
                return None  # it was replaced, and the table knows the new files
            found.append(from_parquet(path, data, columns, file))
        return found

    def _damaged(self, digest: str, reason: str) -> DamagedContent:
        return DamagedContent(self._storage.location.text, f"the content {digest[:16]} {reason}")

    def _listed_files(self, digest: str) -> dict[str, int]:
        """Return the paths and sizes of a content's files, as the table's log has them."""
        try:
            features = set(self._table.current().protocol().reader_features or ())
        except TableNotFoundError:
            return {}
        if unreadable := sorted(_UNREADABLE & features):
            raise CatalogError(
                self._storage.location.text,
                f"the table {_TABLE} has features that cachelog cannot read: "
                + ", ".join(unreadable),
            )
        files = self._table.files()
        sizes = sizes_of(files.filter(pc.equal(files["partition"], digest)))
        return {f"{_TABLE}/{path}": size for path, size in sizes.items()}

    # -- writing

    def write(
        self, contents: Iterable[tuple[str, pa.Table]], recorded: Files
    ) -> dict[str, tuple[StoredFile, ...]]:
        """Write contents, each with its digest, in one commit; return their files by digest.

        The rows are asked for one content at a time, and kept no longer than it takes to write
        them. What the table has of the same contents already is replaced: left over from an
        import that was killed half way, or damaged. The files ``recorded`` of such a content are
        removed.
        """
        self._table.prepare()
        added: list[AddAction] = []
        replacing: dict[str, AddAction] = {}
        files: dict[str, tuple[StoredFile, ...]] = {}
        for digest, rows in contents:
            data = to_parquet(rows.drop_columns(["digest"]))
            folder = f"digest={digest}/"
            # Named by its bytes: two imports that write the same content at once write one file.
            file = named_by_bytes(folder, data)
            there = self._storage.find(f"{_TABLE}/{folder.rstrip('/')}")
            leftover = self._leftover(digest) if there or digest in recorded else set()
            if leftover and leftover != {file.path}:
                file = named_by_bytes(f"{folder}{uuid4()}-", data)
                replacing[digest] = add_action(file, len(rows), {"digest": digest})
            else:
                if not leftover:
                    file = _new_file(folder, data, there)
                # Also what the table lists already: a cleaning may be about to strike it off.
                added.append(add_action(file, len(rows), {"digest": digest}))
            self._storage.write(f"{_TABLE}/{file.path}", data)
            files[digest] = (file,)
        if added:
            self._table.commit(added)
        if replacing:
            self._table.commit(list(replacing.values()), replacing=list(replacing))
        new = {file.path for file in chain.from_iterable(files.values())}
        for file in chain.from_iterable(recorded.get(digest, ()) for digest in files):
            # Who looks for it finds by the table's log what stands in its place.
            if file.path not in new:
                self._storage.remove(f"{_TABLE}/{file.path}")
        return files

    def hold(self, contents: Files) -> None:
        """Let contents stay that no row names any more, but that are about to be named again.

        Raises CatalogError where one was deleted.
        """
        for digest, files in contents.items():
            if not self.is_intact(digest, files or None):
                raise CatalogError(
                    self._storage.location.text,
                    f"the content {digest[:16]} was removed while this import ran; import again",
                )
        self.list_again(contents)

    def list_again(self, missing: Files) -> list[str]:
        """List contents that are there, but not, or no longer, in the table's log; return which.

        So tools that read the log find them too. What cannot be read is left out.
        """
        added = [*self._adding(missing)]
        if added:
            self._table.prepare()
            self._table.commit(added)
        return sorted({str(it.partition_values["digest"]) for it in added})

    def _adding(self, missing: Files) -> Iterator[AddAction]:
        for digest, files in missing.items():
            try:
                read = self._read_written(files, ["hash"]) or ()
            except pa.ArrowInvalid:
                continue
            for file, rows in zip(files, read, strict=False):
                yield add_action(file, len(rows), {"digest": digest}, is_new=False)

    def _leftover(self, digest: str) -> set[str]:
        """Return the paths of the files that the table has of a content.

        That reads the table's log. A new content has no folder, and so is not asked for here.
        """
        self._table.current()
        files = self._table.files()
        own = files.filter(pc.equal(files["partition"], digest))
        return set(own["path"].to_pylist())


def _new_file(folder: str, data: pa.Buffer, there: Mapping[str, Found]) -> StoredFile:
    """Describe the file of a content that the table does not list.

    It is not the file of an old import that was killed, or of a content that nothing names any
    more: a cleaning may be about to delete that. Two imports at once find the same name all the
    same.
    """
    fresh_since = time() - FRESH_SECONDS
    for number in count():
        file = named_by_bytes(f"{folder}{number}-" if number else folder, data)
        known = there.get(file.path.removeprefix(folder))
        if known is None or known.written_at > fresh_since:
            break
    return file

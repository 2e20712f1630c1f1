"""The table ``specs``: the rows of every content, in files that the table ``revisions`` names.

A content is read from its files alone, whatever number of others there is: the table's log, which
lists the files of all contents, is only asked for a content whose files nothing names (in catalogs
of before) or which another tool has rewritten.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, count
from time import time
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog.contents.bases import Bases
from snapshots.catalog.contents.files import Base, folder_of, own_files, owner_of
from snapshots.catalog.contents.overlays import (
    OF_BASE,
    OF_OVERLAY,
    laid_over,
    whole_rows,
)
from snapshots.catalog.contents.packing import packed
from snapshots.catalog.contents.stored_content import (
    DamagedContent,
    ReadColumns,
    ReadFile,
    StoredContent,
    with_more,
)
from snapshots.catalog.contents.tails import has_all_of, with_tail
from snapshots.catalog.store.parquet import from_parquet, named_by_bytes
from snapshots.catalog.store.storage import Found, Storage
from snapshots.catalog.store.tails import read_tail
from snapshots.catalog.tables.actions import add_action
from snapshots.catalog.tables.delta import Table
from snapshots.catalog.tables.listed_files import sizes_of
from snapshots.errors import CatalogError
from snapshots.tables import SPEC_ROWS, SPECS, Files, StoredFile, with_columns
from snapshots.wording import short_digest

FRESH_SECONDS = 1_800
"""A file that was written less than this ago may be that of an import that still runs."""

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
    ) -> pa.Table:
        """Return columns of a content in no order, null where its files are older than a column.

        ``files`` are those that were written, where that is known. Raises DamagedContent where
        the store does not have the content, or other bytes than were written.
        """
        return self.opened(digest, files)(columns)

    def opened(
        self,
        digest: str,
        files: Sequence[StoredFile] | None,
        needed: Sequence[str] = SPECS.names,
    ) -> ReadColumns:
        """Return what reads the ``needed`` columns of a content; raises as ``read``.

        The bytes are read now: all, or those of the tails where these have the columns.
        """
        found = self._opened_written(digest, files, needed) if files else None
        return partial(self._read_listed, digest) if found is None else found

    def is_intact(self, digest: str, files: Sequence[StoredFile] | None) -> bool:
        """Tell whether a content can be read as it was written, all of it."""
        try:
            self.read(digest, files, ["hash"] if files else SPEC_ROWS.names)
        except DamagedContent:
            return False
        return True

    def _opened_written(
        self, digest: str, files: Sequence[StoredFile], needed: Sequence[str] = SPECS.names
    ) -> ReadColumns | None:
        """Open the files that were written; None where one was replaced, as the log then knows."""
        by_path = {f"{_TABLE}/{file.path}": file for file in files}

        def read(path: str) -> ReadFile:
            file = by_path[path]
            try:
                tail = self._tail(path, file) if has_all_of(needed) else None
                return tail or ReadFile(file, self._storage.read(path, file.size))
            except pa.ArrowInvalid as error:
                raise self._damaged(digest, error, owner_of(file, digest)) from None

        # Its own files first: where these were replaced, the base is not asked for.
        try:
            found = self._storage.side_by_side(read, [*by_path][::-1])
        except FileNotFoundError:
            return None
        location = self._storage.location.text
        return StoredContent(location, digest, found)

    def _tail(self, path: str, file: StoredFile) -> ReadFile | None:
        """Read the tail of a file; None where the whole must tell what is wrong, or has none."""
        data = file.tail and read_tail(self._storage, path, file.size, file.tail)
        return ReadFile(file, data, is_tail=True) if data else None

    def _read_listed(
        self, digest: str, columns: Sequence[str], _coded: Sequence[str] = ()
    ) -> pa.Table:
        """Read the files that the table's log has: of a content, and of what it is laid over."""
        wanted = with_more(columns, OF_OVERLAY + OF_BASE)
        own = self._read_partition(digest, digest, wanted)
        bases = pc.unique(own["base"]).to_pylist()
        if None in bases or not bases:
            return whole_rows(own).select(columns)
        base = whole_rows(self._read_partition(digest, bases[0], wanted))
        if not len(base):
            raise self._damaged(digest, None, bases[0])
        return laid_over(base, own.filter(pc.equal(own["base"], bases[0])), columns)

    def _read_partition(self, digest: str, owner: str, columns: Sequence[str]) -> pa.Table:
        try:
            sizes = self._listed_files(owner)
            read = zip(sizes, self._storage.read_all(sizes), strict=True)
            found = [from_parquet(path, data, columns) for path, data in read]
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise self._damaged(digest, error, owner) from None
        if not found:
            raise self._damaged(digest, None, owner)
        return pa.concat_tables([with_columns(table, columns) for table in found])

    def _damaged(self, digest: str, error: Exception | None, owner: str) -> DamagedContent:
        return DamagedContent.of(self._storage.location.text, digest, error, owner)

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
        return {f"{_TABLE}/{path}": size for path, size in self._sizes(digest).items()}

    def _sizes(self, digest: str) -> dict[str, int]:
        """Return the size of each file that the table had of a content when it was read last."""
        files = self._table.files()
        return sizes_of(files.filter(pc.equal(files["partition"], digest)))

    # -- writing

    def write(
        self,
        contents: Iterable[tuple[str, pa.Table]],
        recorded: Files,
        before: Callable[[str], str | None] = lambda _: None,
    ) -> dict[str, tuple[StoredFile, ...]]:
        """Write contents, each with its digest, in one commit; return their files by digest.

        The rows are asked for one content at a time, and kept no longer than it takes to write
        them. What the table has of the same contents already is replaced: left over from an
        import that was killed half way, or damaged. The files ``recorded`` of such a content are
        removed. A new content is laid over another where that spares space; ``before`` tells which
        one it follows on in its series.
        """
        self._table.prepare()
        added: list[AddAction] = []
        replacing: dict[str, AddAction] = {}
        files: dict[str, tuple[StoredFile, ...]] = {}
        bases = Bases(recorded, self._rows_of_base)
        for digest, rows in contents:
            # Others may be laid over one that is replaced, so it is whole.
            below = None if digest in recorded else bases.below(before(digest), len(rows))
            kept = packed(rows, below)
            folder = folder_of(digest)
            # Named by its bytes: two imports that write the same content at once write one file.
            file = named_by_bytes(folder, kept.data)
            there = self._storage.find(f"{_TABLE}/{folder.rstrip('/')}")
            leftover = self._leftover(digest) if there or digest in recorded else set()
            if leftover and leftover != {file.path}:
                file = named_by_bytes(f"{folder}{uuid4()}-", kept.data)
                replacing[digest] = add_action(file, len(kept.rows), {"digest": digest})
            else:
                if not leftover:
                    file = _new_file(folder, kept.data, there)
                # Also what the table lists already: a cleaning may be about to strike it off.
                added.append(add_action(file, len(kept.rows), {"digest": digest}))
            self._storage.write(f"{_TABLE}/{file.path}", kept.data)
            file = with_tail(file, kept.data)
            files[digest] = (file,) if kept.base is None else (kept.base.file, file)
            bases.take(digest, files[digest], kept.rows)
        if added:
            self._table.commit(added)
        if replacing:
            self._table.commit(list(replacing.values()), replacing=list(replacing))
        new = {file.path for file in chain.from_iterable(files.values())}
        for digest in files:
            for file in own_files(digest, recorded.get(digest, ())):
                # Who looks for it finds by the table's log what stands in its place.
                if file.path not in new:
                    self._storage.remove(f"{_TABLE}/{file.path}")
        return files

    def _rows_of_base(self, base: Base) -> pa.Table | None:
        """Read all of a content that another may be laid over; None where that cannot be."""
        try:
            read = self._opened_written(base.digest, [base.file])
            rows = read(with_more(SPEC_ROWS.names, OF_BASE)) if read else None
        except DamagedContent:
            return None
        return None if rows is None or rows["place"].null_count else rows

    def hold(self, contents: Files) -> None:
        """Let contents stay that no row names any more, but that are about to be named again.

        Raises CatalogError where one was deleted.
        """
        for digest, files in contents.items():
            if not self.is_intact(digest, files or None):
                raise CatalogError(
                    self._storage.location.text,
                    f"the content {short_digest(digest)} was removed while this import ran; "
                    "import again",
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
            for file in files:
                with suppress(DamagedContent):
                    if read := self._opened_written(digest, [file]):
                        num_rows = len(read(["hash"]))
                        yield add_action(file, num_rows, {"digest": digest}, is_new=False)

    def _leftover(self, digest: str) -> set[str]:
        """Return the paths of the files that the table has of a content.

        That reads the table's log. A new content has no folder, and so is not asked for here.
        """
        self._table.current()
        return set(self._sizes(digest))


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

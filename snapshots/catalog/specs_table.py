"""The table ``specs``: the rows of every content, one Parquet file each, which ``revisions`` names.

A content is read from its file alone, regardless of the number of other files. The table's log,
which lists the files of all contents, is only read for a content whose file is not there: another
tool has rewritten it, or an import has replaced it because it was damaged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from time import time
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog.delta import CatalogTable, add_action, of_schema, sql_text, with_codes
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.storage import RESTORE, FileStat, Storage, reason_of, translated
from snapshots.changes.sides import Side
from snapshots.contents import ContentRows
from snapshots.errors import CatalogError, StackNotFound
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import NOTHING, SPEC_FACTS, Encoding, source_kind, stack_of_content
from snapshots.tables import SPEC_ROWS, SPECS, Files, StoredFile, rows_of_stack, split_by_cache
from snapshots.texts import short_digest

ReadColumns = Callable[..., pa.Table]
"""Returns columns of a content; raises DamagedContent.

The columns in the second argument, ``coded``, are returned as codes into their distinct values.
"""


class DamagedContent(CatalogError):
    """The store lacks a content, or has other bytes than were written.

    ``damage`` describes it: by an ``error``, or as missing if that is None.
    """

    def __init__(self, location: str, digest: str, error: Exception | None) -> None:
        self.damage = "is missing" if error is None else f"is damaged: {reason_of(error)}"
        super().__init__(location, f"the content {short_digest(digest)} {self.damage}")


# -- the table

FRESH_SECONDS = 1_800
"""A file that was written more recently than this may belong to an import that is still running."""

_TABLE = "specs"


class SpecsTable:
    """The contents in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.table = CatalogTable(storage, _TABLE, SPECS, "digest")

    def __reduce__(self) -> tuple[object, ...]:
        """Open the table again in another process."""
        return SpecsTable, (self._storage,)

    # -- reading

    def opened(self, digest: str, file: StoredFile | None) -> ReadColumns:
        """Read a content's bytes; return a function that decodes columns, rows in any order.

        Columns newer than the file are null. Raises DamagedContent, also later, if the store lacks
        the content, or has other bytes than were written.
        """
        if file is not None:
            try:
                data = self._storage.read(f"{_TABLE}/{file.path}", file.size)
            except FileNotFoundError:
                pass
            except pa.ArrowInvalid as error:
                raise DamagedContent(self._storage.location.text, digest, error) from None
            else:
                return partial(self._decoded, digest, file, data)
        return partial(self._read_listed, digest)

    def is_intact(self, digest: str, file: StoredFile | None) -> bool:
        """Return whether a content can be read completely, as it was written."""
        try:
            self.opened(digest, file)(["hash"] if file else SPEC_ROWS.names)
        except DamagedContent:
            return False
        return True

    def _decoded(
        self,
        digest: str,
        file: StoredFile,
        data: pa.Buffer,
        columns: Sequence[str],
        coded: Sequence[str] = (),
    ) -> pa.Table:
        path = f"{_TABLE}/{file.path}"
        try:
            rows = from_parquet(path, data, columns, file, coded)
            return _coded(of_schema(path, rows, _schema(columns, coded)), coded)
        except pa.ArrowInvalid as error:
            raise DamagedContent(self._storage.location.text, digest, error) from None

    def _read_listed(
        self, digest: str, columns: Sequence[str], coded: Sequence[str] = ()
    ) -> pa.Table:
        """Read the files that the table's log lists."""
        existing = {it.name for it in self._current_fields()}
        names = ", ".join(name for name in {"hash", *columns} if name in existing)
        condition = f"WHERE digest = {sql_text(digest)}"
        try:
            rows = self.table.query(f"SELECT {names} FROM {_TABLE} {condition}")  # noqa: S608
        except TableNotFoundError:
            raise DamagedContent(self._storage.location.text, digest, None) from None
        except CatalogError as error:
            damage = pa.ArrowInvalid(error.reason.removesuffix(f"; {RESTORE}"))
            raise DamagedContent(self._storage.location.text, digest, damage) from None
        if not len(rows):
            raise DamagedContent(self._storage.location.text, digest, None)
        # Two imports at the same time may both have written the content.
        _, first = np.unique(np.asarray(rows["hash"], object), return_index=True)
        rows = of_schema(_TABLE, rows.take(first), _schema(columns))
        return _coded(rows, coded)

    def _current_fields(self) -> Sequence[pa.Field]:
        try:
            return [*pa.schema(self.table.current().schema().to_arrow())]
        except TableNotFoundError:
            return ()

    # -- writing

    def write(self, contents: Iterable[ContentRows], recorded: Files) -> dict[str, StoredFile]:
        """Write contents in one commit; return their files by digest.

        Contents are consumed one at a time, and released once they are written. Existing files of
        the same contents, left by a killed import or damaged, are replaced, and the ``recorded``
        ones are removed.
        """
        self.table.prepare()
        added: list[AddAction] = []
        replacing: dict[str, AddAction] = {}
        files: dict[str, StoredFile] = {}
        for content in contents:
            digest, data = content.digest, to_parquet(content.table)
            folder = f"digest={digest}/"
            # Named by its bytes, so that two imports of the same content write the same file.
            file = named_by_bytes(folder, data)
            existing = self._storage.find(f"{_TABLE}/{folder.rstrip('/')}")
            listed = self._listed(digest) if existing or digest in recorded else set()
            if listed and listed != {file.path}:
                file = named_by_bytes(f"{folder}{uuid4()}-", data)
                replacing[digest] = add_action(file, len(content.table), {"digest": digest})
            else:
                if not listed:
                    file = _new_file(folder, data, existing)
                # Files that the table already lists are added as well, because a vacuum may be
                # about to unlist them.
                added.append(add_action(file, len(content.table), {"digest": digest}))
            self._storage.write(f"{_TABLE}/{file.path}", data)
            files[digest] = file
        if added:
            self.table.commit(added)
        if replacing:
            self.table.commit(list(replacing.values()), replacing=list(replacing))
        for digest, file in files.items():
            # Readers that miss the removed file find its replacement by the table's log.
            if digest in recorded and recorded[digest].path != file.path:
                self._storage.remove(f"{_TABLE}/{recorded[digest].path}")
        return files

    def hold(self, contents: Files) -> None:
        """Retain contents that no row names at present, but that are about to be named again.

        Raises CatalogError if one was deleted.
        """
        for digest, file in contents.items():
            if not self.is_intact(digest, file):
                reason = f"the content {short_digest(digest)} was removed while this import ran"
                raise self._storage.error(f"{reason}; import again")
        self.list_again(contents)

    def list_again(self, missing: Files) -> list[str]:
        """List existing contents that are not, or no longer, in the table's log; return which.

        Tools that read the log then find them too. Unreadable contents are skipped.
        """
        added = []
        for digest, file in missing.items():
            if self._storage.exists(f"{_TABLE}/{file.path}") and self.is_intact(digest, file):
                num_rows = len(self.opened(digest, file)(["hash"]))
                added.append(add_action(file, num_rows, {"digest": digest}, is_new=False))
        if added:
            self.table.prepare()
            self.table.commit(added)
        return sorted(str(action.partition_values["digest"]) for action in added)

    def _listed(self, digest: str) -> set[str]:
        """Return the paths of the files that the table lists for a content.

        This reads the table's log. New contents have no folder, so they are not looked up here.
        """
        self.table.current()
        return {file.path for file in self.table.files() if file.partition == digest}


def _schema(columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Schema:
    return with_codes(pa.schema(map(SPEC_ROWS.field, columns)), coded)


def _coded(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return rows with the given columns as codes, including columns that were not in the file."""
    for name in columns:
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, rows[name].dictionary_encode())
    return rows


def _new_file(folder: str, data: pa.Buffer, in_folder: Mapping[str, FileStat]) -> StoredFile:
    """Describe the file of a content that the table does not list.

    The name differs from that of an old file, left by a killed import or of a content that no row
    names, because a vacuum may be about to delete that. Concurrent imports still find the same
    name.
    """
    fresh_since = time() - FRESH_SECONDS
    for number in count():
        file = named_by_bytes(f"{folder}{number}-" if number else folder, data)
        existing = in_folder.get(file.path.removeprefix(folder))
        if existing is None or existing.written_at > fresh_since:
            break
    return file


# -- reading contents into memory

_SAME = "import the same again to replace it"


def how_to_mend(history: History, digest: str) -> str:
    """Return how to replace the damaged content of a revision.

    Usually by the same import. An import of a git history continues after the commits in the
    catalog, so there the pages of the commit must be imported.
    """
    rows = [row for row in history.rows if row.digest == digest]
    if not rows or not all(source_kind(row.source.kind).goes_on for row in rows):
        return _SAME
    row = rows[-1]
    taken_at = row.taken_at.isoformat().replace("+00:00", "Z")
    return (
        f"to replace it, check out the commit {row.source.version} of {row.source.location}, and "
        f"import its folder of pages with --tag {row.tag} --taken-at {taken_at}"
    )


_FRAME_COLUMNS = [name for name in SPEC_ROWS.names if name != "dependencies"]
_CODED = [
    fact.name
    for fact in SPEC_FACTS.values()
    if fact.encoding is Encoding.CODES and fact.value_type is str
]
"""The columns that a frame stores as codes, and that files already contain as such."""


class ContentReader:
    """Reads contents of the table ``specs`` at a location.

    - files: Those of the contents.
    - history: Used for advice about damaged contents, which CatalogError includes.
    - held: The rows of contents that are in memory and need not be read. A pickled reader reads
      without them.
    """

    def __init__(
        self,
        location: str,
        specs: SpecsTable,
        files: Files,
        history: History,
        held: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self._held = held or {}
        self._location = location
        self._specs = specs
        self._files = files
        self._history = history

    def __reduce__(self) -> tuple[object, ...]:
        return ContentReader, (self._location, self._specs, self._files, self._history)

    def has(self, digest: str) -> bool:
        """Return whether a revision needs a content, and the store has it undamaged."""
        is_needed = digest in self._files or digest in self._history.digests
        return is_needed and (
            digest == NOTHING or self._specs.is_intact(digest, self._files.get(digest))
        )

    def side(self, digest: str) -> Side:
        """Read a content with its dependencies."""
        with self._opened(digest) as read:
            return _side(digest, read)

    def frame(self, digest: str) -> Frame:
        """Read a content."""
        with self._opened(digest) as read:
            return Frame(read(_FRAME_COLUMNS, _CODED), digest)

    def dependencies(self, digest: str) -> pa.Table:
        """Read the columns ``hash`` and ``dependencies``, and all columns of rows not in the cache.

        Those rows are few, and the dependency graph needs them.
        """
        with self._opened(digest) as read:
            return _dependencies(read)

    def columns(self, digest: str, columns: Sequence[str]) -> pa.Table:
        """Read columns of a content; the empty content need not be stored."""
        with self._opened(digest) as read:
            return read(columns)

    @contextmanager
    def _opened(self, digest: str) -> Iterator[ReadColumns]:
        """Yield a function that reads columns; raises CatalogError with advice about damage.

        Raises StackNotFound for a stack that the content does not have.
        """
        digest, stack = stack_of_content(digest)
        if stack is not None:
            with self._opened(digest) as read:
                yield _columns_of(_of_stack(read(SPEC_ROWS.names), digest, stack))
            return
        if digest == NOTHING:
            yield _columns_of(SPEC_ROWS.empty_table())
            return
        if (rows := self._held.get(digest)) is not None:
            yield _columns_of(rows)
            return
        with translated(self._location):
            try:
                yield self._specs.opened(digest, self._files.get(digest))
            except DamagedContent as error:
                advice = how_to_mend(self._history, digest)
                raise CatalogError(self._location, f"{error.reason}; {advice}") from None


def _columns_of(rows: pa.Table) -> ReadColumns:
    return lambda columns, coded=(): _coded(rows.select(columns), coded)


def _of_stack(rows: pa.Table, digest: str, stack: str) -> pa.Table:
    """Return the rows of a content's stack. Raises StackNotFound."""
    of_stack = rows_of_stack(rows, stack)
    if not len(of_stack):
        stacks = pc.unique(rows["stacks"].combine_chunks().flatten()).to_pylist()
        raise StackNotFound(short_digest(digest), stack, stacks)
    return of_stack


def _side(digest: str, read: ReadColumns) -> Side:
    frame = Frame(read(_FRAME_COLUMNS, _CODED), digest)
    return Side(frame, DependencyGraph(_dependencies(read), frame.hashes))


def _dependencies(read: ReadColumns) -> pa.Table:
    inside, outside = split_by_cache(read(["hash", "dependencies", "in_cache"]))
    if not len(outside):
        return inside
    _, outside = split_by_cache(read(SPEC_ROWS.names))
    return pa.concat_tables([inside, outside], promote_options="default")

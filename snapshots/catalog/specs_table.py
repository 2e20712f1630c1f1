"""The table ``specs``: the rows of every content, in files that the table ``revisions`` names.

A content is read from its files alone, regardless of the number of other files. The table's log,
which lists the files of all contents, is only read for a content whose files are not recorded (in
older catalogs), or were rewritten by another tool.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, count
from time import time
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog import overlays
from snapshots.catalog.delta import CatalogTable, add_action
from snapshots.catalog.parquet import from_parquet, named_by_bytes
from snapshots.catalog.recent_rows import RecentRows
from snapshots.catalog.storage import FileStat, Storage, reason_of, translated
from snapshots.changes.sides import Side
from snapshots.contents import ContentRows
from snapshots.errors import CatalogError, StackNotFound
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.history import History, Pair
from snapshots.models import NOTHING, SPEC_FACTS, Encoding, source_kind, stack_of_content
from snapshots.tables import (
    SPEC_ROWS,
    SPECS,
    Files,
    StoredFile,
    rows_of_stack,
    split_by_cache,
    with_columns,
)
from snapshots.texts import short_digest

# -- stored contents


ReadColumns = Callable[..., pa.Table]
"""Returns columns of a content; raises DamagedContent.

The columns in the second argument, ``coded``, are returned as codes into their distinct values.
"""


class DamagedContent(CatalogError):
    """The store lacks a content, or has other bytes than were written.

    ``damage`` describes it: by an ``error``, or as missing if that is None. ``owner`` is the
    content that the damaged rows belong to: the content itself, or its base.
    """

    def __init__(self, location: str, digest: str, owner: str, error: Exception | None) -> None:
        below = "" if owner == digest else f"is based on {short_digest(owner)}, which "
        damage = "is missing" if error is None else f"is damaged: {reason_of(error)}"
        self.damage = f"{below}{damage}"
        super().__init__(location, f"the content {short_digest(digest)} {self.damage}")


def stored_content(
    location: str, digest: str, files: Sequence[tuple[StoredFile, pa.Buffer]]
) -> ReadColumns:
    """Return a function that reads a content from the bytes of its own file, then its base's."""
    is_laid = any(overlays.owner_of(file, digest) != digest for file, _ in files)

    def decoded(
        file: StoredFile, data: pa.Buffer, columns: Sequence[str], coded: Sequence[str]
    ) -> pa.Table:
        owner = overlays.owner_of(file, digest)
        if is_laid:
            columns = with_more(
                columns, overlays.OF_OVERLAY if owner == digest else overlays.OF_BASE
            )
        try:
            rows = from_parquet(f"specs/{file.path}", data, columns, file, coded)
        except pa.ArrowInvalid as error:
            raise DamagedContent(location, digest, owner, error) from None
        return _coded(with_columns(rows, columns), coded)

    def read(columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
        tables = [decoded(*file, columns, coded) for file in files]
        if not is_laid:
            return pa.concat_tables(tables)
        own, base = tables
        return overlays.overlaid(base, own, columns)

    return read


def _coded(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return rows with the given columns as codes, including columns that were not in the file."""
    for name in columns:
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, rows[name].dictionary_encode())
    return rows


def with_more(columns: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return both lists of names without duplicates."""
    return [*dict.fromkeys([*columns, *more])]


# -- the table

FRESH_SECONDS = 1_800
"""A file that was written more recently than this may belong to an import that is still running."""

_TABLE = "specs"
_UNREADABLE = {"deletionVectors", "columnMapping"}


class SpecsTable:
    """The contents in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._table = CatalogTable(storage, _TABLE, SPECS, "digest")

    def __reduce__(self) -> tuple[object, ...]:
        """Open the table again in another process."""
        return SpecsTable, (self._storage,)

    # -- reading

    def opened(self, digest: str, files: Sequence[StoredFile] | None) -> ReadColumns:
        """Read a content's bytes; return a function that decodes columns, rows in any order.

        Columns newer than the files are null. ``files`` are those that were written, if they are
        recorded. Raises DamagedContent, also later, if the store lacks the content, or has other
        bytes than were written.
        """
        content = self._opened_written(digest, files) if files else None
        return partial(self._read_listed, digest) if content is None else content

    def is_intact(self, digest: str, files: Sequence[StoredFile] | None) -> bool:
        """Return whether a content can be read completely, as it was written."""
        try:
            self.opened(digest, files)(["hash"] if files else SPEC_ROWS.names)
        except DamagedContent:
            return False
        return True

    def _opened_written(self, digest: str, files: Sequence[StoredFile]) -> ReadColumns | None:
        """Open the recorded files; None if one was replaced, so that the log must be read."""
        by_path = {f"{_TABLE}/{file.path}": file for file in files}

        def read(path: str) -> tuple[StoredFile, pa.Buffer]:
            file = by_path[path]
            try:
                return file, self._storage.read(path, file.size)
            except pa.ArrowInvalid as error:
                raise self._damaged(digest, error, overlays.owner_of(file, digest)) from None

        # The content's own file comes first: if it was replaced, the base is not needed.
        try:
            contents = self._storage.side_by_side(read, [*by_path][::-1])
        except FileNotFoundError:
            return None
        return stored_content(self._storage.location.text, digest, contents)

    def _read_listed(
        self, digest: str, columns: Sequence[str], _coded: Sequence[str] = ()
    ) -> pa.Table:
        """Read the files that the table's log lists: those of a content, and of its base."""
        needed = with_more(columns, overlays.OF_OVERLAY + overlays.OF_BASE)
        own = self._read_partition(digest, digest, needed)
        bases = pc.unique(own["base"]).to_pylist()
        if None in bases or not bases:
            return overlays.rows_without_base(own).select(columns)
        base = overlays.rows_without_base(self._read_partition(digest, bases[0], needed))
        if not len(base):
            raise self._damaged(digest, None, bases[0])
        return overlays.overlaid(base, own.filter(pc.equal(own["base"], bases[0])), columns)

    def _read_partition(self, digest: str, owner: str, columns: Sequence[str]) -> pa.Table:
        try:
            sizes = self._listed_files(owner)
            read = zip(sizes, self._storage.read_all(sizes), strict=True)
            tables = [from_parquet(path, data, columns) for path, data in read]
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise self._damaged(digest, error, owner) from None
        if not tables:
            raise self._damaged(digest, None, owner)
        return pa.concat_tables([with_columns(table, columns) for table in tables])

    def _damaged(self, digest: str, error: Exception | None, owner: str) -> DamagedContent:
        return DamagedContent(self._storage.location.text, digest, owner, error)

    def _listed_files(self, digest: str) -> dict[str, int]:
        """Return the paths and sizes of a content's files according to the table's log."""
        try:
            features = set(self._table.current().protocol().reader_features or ())
        except TableNotFoundError:
            return {}
        if unreadable := sorted(_UNREADABLE & features):
            names = ", ".join(unreadable)
            reason = f"the table {_TABLE} has features that cachelog cannot read: {names}"
            raise self._storage.error(reason)
        return {f"{_TABLE}/{path}": size for path, size in self._sizes(digest).items()}

    def _sizes(self, digest: str) -> dict[str, int]:
        """Return the sizes of a content's files in the last known state of the table."""
        files = self._table.files()
        return {file.path: file.size for file in files if file.partition == digest}

    # -- writing

    def write(
        self,
        contents: Iterable[ContentRows],
        recorded: Files,
        before: Callable[[str], str | None] = lambda _: None,
    ) -> dict[str, tuple[StoredFile, ...]]:
        """Write contents in one commit; return their files by digest.

        Contents are consumed one at a time, and released once they are written. Existing files of
        the same contents, left by a killed import or damaged, are replaced, and the ``recorded``
        ones are removed. A new content is stored as a difference from another if that saves space;
        ``before`` returns the content that it follows in its series.
        """
        self._table.prepare()
        added: list[AddAction] = []
        replacing: dict[str, AddAction] = {}
        files: dict[str, tuple[StoredFile, ...]] = {}
        bases = overlays.Bases(recorded, self._rows_of_base)
        for content in contents:
            digest = content.digest
            # A replaced content may be the base of others, so it must be whole.
            packed = bases.packed(content, None if digest in recorded else before(digest))
            folder = overlays.folder_of(digest)
            # Named by its bytes, so that two imports of the same content write the same file.
            file = named_by_bytes(folder, packed.data)
            existing = self._storage.find(f"{_TABLE}/{folder.rstrip('/')}")
            leftover = self._leftover(digest) if existing or digest in recorded else set()
            if leftover and leftover != {file.path}:
                file = named_by_bytes(f"{folder}{uuid4()}-", packed.data)
                replacing[digest] = add_action(file, len(packed.rows), {"digest": digest})
            else:
                if not leftover:
                    file = _new_file(folder, packed.data, existing)
                # Files that the table already lists are added as well, because a vacuum may be
                # about to unlist them.
                added.append(add_action(file, len(packed.rows), {"digest": digest}))
            self._storage.write(f"{_TABLE}/{file.path}", packed.data)
            files[digest] = (file,) if packed.base is None else (packed.base.file, file)
            rows = ContentRows(digest, packed.rows, content.packages)
            bases.take(digest, files[digest], rows)
        if added:
            self._table.commit(added)
        if replacing:
            self._table.commit(list(replacing.values()), replacing=list(replacing))
        new = {file.path for file in chain.from_iterable(files.values())}
        for digest in files:
            for file in overlays.own_files(digest, recorded.get(digest, ())):
                # Readers that miss the removed file find its replacement by the table's log.
                if file.path not in new:
                    self._storage.remove(f"{_TABLE}/{file.path}")
        return files

    def _rows_of_base(self, base: overlays.Base) -> ContentRows | None:
        """Read the whole content of a base; None if it cannot serve as one."""
        try:
            read = self._opened_written(base.digest, [base.file])
            rows = read(with_more(SPEC_ROWS.names, overlays.OF_BASE)) if read else None
        except DamagedContent:
            return None
        if rows is None or rows["place"].null_count:
            return None
        return ContentRows(base.digest, rows)

    def hold(self, contents: Files) -> None:
        """Retain contents that no row names at present, but that are about to be named again.

        Raises CatalogError if one was deleted.
        """
        for digest, files in contents.items():
            if not self.is_intact(digest, files or None):
                reason = f"the content {short_digest(digest)} was removed while this import ran"
                raise self._storage.error(f"{reason}; import again")
        self.list_again(contents)

    def list_again(self, missing: Files) -> list[str]:
        """List existing contents that are not, or no longer, in the table's log; return which.

        Tools that read the log then find them too. Unreadable contents are skipped.
        """
        added = [*self._add_actions(missing)]
        if added:
            self._table.prepare()
            self._table.commit(added)
        return sorted({str(action.partition_values["digest"]) for action in added})

    def _add_actions(self, missing: Files) -> Iterator[AddAction]:
        for digest, files in missing.items():
            for file in files:
                with suppress(DamagedContent):
                    if read := self._opened_written(digest, [file]):
                        num_rows = len(read(["hash"]))
                        yield add_action(file, num_rows, {"digest": digest}, is_new=False)

    def _leftover(self, digest: str) -> set[str]:
        """Return the paths of the files that the table lists for a content.

        This reads the table's log. New contents have no folder, so they are not looked up here.
        """
        self._table.current()
        return set(self._sizes(digest))


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

    ``files`` are those of the contents whose files are recorded. ``history`` is used for advice
    about damaged contents, which CatalogError includes. ``recent`` are contents and pairs that are
    in memory and need not be read. A reader can be pickled; its copy reads without ``recent``.
    """

    def __init__(
        self,
        location: str,
        specs: SpecsTable,
        files: Files,
        history: History,
        recent: RecentRows | None = None,
    ) -> None:
        self._recent = recent or RecentRows()
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

    def narrow_sides(self, pair: Pair) -> tuple[Side, Side] | None:
        """Return the rows of two contents that determine their differences, if in memory."""
        tables = self._recent.pairs.get(pair)
        if tables is None:
            return None
        base, head = (_side(*one) for one in zip(pair, map(_columns_of, tables), strict=True))
        return base, head

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
        if (content := self._recent.contents.get(digest)) is not None:
            yield _columns_of(content.table)
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
    return pa.concat_tables([with_columns(inside, SPEC_ROWS.names), outside])

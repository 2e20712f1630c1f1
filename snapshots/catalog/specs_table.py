"""The table ``specs``: the rows of every content, one Parquet file each.

A content is read from its file alone, regardless of the number of other files. The table's log says
which file that is: the name ends with the checksum of its bytes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog.delta import (
    Actions,
    CatalogTable,
    Mark,
    TableFile,
    add_action,
    of_schema,
    remove_action,
    with_codes,
)
from snapshots.catalog.parquet import from_parquet, new_path, to_parquet
from snapshots.catalog.storage import Storage, reason_of, translated
from snapshots.changes.sides import Side
from snapshots.contents import ContentRows
from snapshots.errors import CatalogError, StackNotFound
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import NOTHING, SPEC_FACTS, Encoding, stack_of_content
from snapshots.tables import SPEC_ROWS, SPECS, rows_of_stack, split_by_cache
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
        reason = f"the content {short_digest(digest)} {self.damage}; {IMPORT_AGAIN}"
        super().__init__(location, reason)


IMPORT_AGAIN = "import the same again to replace it"
"""Advice for a damaged content; docs/tables.md has that for an import of a git history."""


# -- the table

_TABLE = "specs"


class SpecsTable:
    """The contents in a storage. Errors are those of the store.

    The table's log says which files a content has, as of the last look: it is read again if a
    content cannot be read.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.table = CatalogTable(storage, _TABLE, SPECS, "digest")
        self._lock = Lock()
        self._mark: Mark | None = None
        self._files: Mapping[str, Sequence[TableFile]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """Open the table again in another process."""
        return SpecsTable, (self._storage,)

    def refresh(self) -> bool:
        """Read the table's log; return whether it has changed."""
        with self._lock:
            try:
                self.table.current()
            except TableNotFoundError:
                before, self._mark, self._files = self._mark, None, {}
                return before is not None
            mark = self.table.mark
            if mark == self._mark:
                return False
            files: dict[str, list[TableFile]] = {}
            for file in self.table.files():
                files.setdefault(file.partition or "", []).append(file)
            self._mark, self._files = mark, files
            return True

    @property
    def files(self) -> Mapping[str, Sequence[TableFile]]:
        """The files of each listed content; one that cachelog wrote has one file."""
        return self._files

    # -- reading

    def opened(self, digest: str) -> ReadColumns:
        """Read a content's bytes; return a function that decodes columns, rows in any order.

        Columns newer than the file are null. Raises DamagedContent, also later, if the store lacks
        the content, or has other bytes than were written.
        """
        files = self._files.get(digest)
        try:
            return self._opened(digest)
        except DamagedContent:
            # An import may have written it, or replaced its file.
            self.refresh()
            if self._files.get(digest) == files:
                raise
            return self._opened(digest)

    def _opened(self, digest: str) -> ReadColumns:
        location = self._storage.location.text
        try:
            files = {file.path: self.table.bytes_of(file) for file in self._files[digest]}
        except (KeyError, FileNotFoundError):
            raise DamagedContent(location, digest, None) from None
        except pa.ArrowInvalid as error:
            raise DamagedContent(location, digest, error) from None

        def read(columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
            schema = with_codes(pa.schema(map(SPEC_ROWS.field, columns)), coded)
            try:
                return pa.concat_tables(
                    of_schema(path, from_parquet(path, data, columns, coded), schema)
                    for path, data in files.items()
                )
            except pa.ArrowInvalid as error:
                raise DamagedContent(location, digest, error) from None

        return read

    def is_intact(self, digest: str) -> bool:
        """Return whether a content can be read, as it was written."""
        try:
            self.opened(digest)(["hash"])
        except DamagedContent:
            return False
        return True

    # -- writing

    def write(self, contents: Iterable[ContentRows]) -> set[str]:
        """Write contents in one commit, and return their digests.

        Contents are consumed one at a time, and released once they are written. What the table
        lists for the same contents, of a killed import or damaged, is replaced.
        """
        added: dict[str, AddAction] = {}
        for content in contents:
            if not added:
                self.table.prepare()
            digest, data = content.digest, to_parquet(content.table)
            path = new_path(f"digest={digest}/", data)
            self._storage.write(f"{_TABLE}/{path}", data)
            added[digest] = add_action(path, data.size, len(content.table), {"digest": digest})
        self._list(added)
        return {*added}

    def list_again(self, digests: Set[str]) -> set[str]:
        """List those of some contents that a vacuum has unlisted, and return them.

        Contents whose file was deleted are skipped.
        """
        self.refresh()
        added = {}
        for digest in digests - self._files.keys():
            folder = f"digest={digest}"
            for name, size in self._storage.sizes(f"{_TABLE}/{folder}").items():
                path = f"{folder}/{name}"
                with suppress(pa.ArrowInvalid, FileNotFoundError):
                    data = self.table.bytes_of(TableFile(path, size))
                    num_rows = len(from_parquet(path, data, ["hash"]))
                    partition = {"digest": digest}
                    added[digest] = add_action(path, size, num_rows, partition, is_new=False)
        self._list(added)
        return {*added}

    def _list(self, added: Mapping[str, AddAction]) -> None:
        """List files as the only ones of their contents."""

        def plan(files: Sequence[TableFile]) -> Actions:
            listed = {file.path for file in files}
            new = {digest: it for digest, it in added.items() if it.path not in listed}
            replaced = [remove_action(it, "digest") for it in files if it.partition in new]
            return [*replaced, *new.values()]

        if added:
            self.table.change(plan)
            self.refresh()


# -- reading contents into memory

_FRAME_COLUMNS = [name for name in SPEC_ROWS.names if name != "dependencies"]
_CODED = [
    fact.name
    for fact in SPEC_FACTS.values()
    if fact.encoding is Encoding.CODES and fact.value_type is str
]
"""The columns that a frame stores as codes, and that files already contain as such."""


class ContentReader:
    """Reads contents of the table ``specs`` at a location.

    - history: Its contents are those that the store should have.
    - held: The rows of contents that are in memory and need not be read. A pickled reader reads
      without them.
    """

    def __init__(
        self,
        location: str,
        specs: SpecsTable,
        history: History,
        held: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self._held = held or {}
        self._location = location
        self._specs = specs
        self._history = history

    def __reduce__(self) -> tuple[object, ...]:
        return ContentReader, (self._location, self._specs, self._history)

    def has(self, digest: str) -> bool:
        """Return whether a revision needs a content, and the store has it undamaged."""
        is_needed = digest in self._history.digests
        return is_needed and (digest == NOTHING or self._specs.is_intact(digest))

    def side(self, digest: str) -> Side:
        """Read a content with its dependencies."""
        read = self._opened(digest)
        frame = Frame(read(_FRAME_COLUMNS, _CODED), digest)
        return Side(frame, DependencyGraph(_dependencies(read), frame.hashes))

    def frame(self, digest: str) -> Frame:
        """Read a content."""
        return Frame(self._opened(digest)(_FRAME_COLUMNS, _CODED), digest)

    def dependencies(self, digest: str) -> pa.Table:
        """Read the columns ``hash`` and ``dependencies``, and all columns of rows not in the cache.

        Those rows are few, and the dependency graph needs them.
        """
        return _dependencies(self._opened(digest))

    def columns(self, digest: str, columns: Sequence[str]) -> pa.Table:
        """Read columns of a content; the empty content need not be stored."""
        return self._opened(digest)(columns)

    def _opened(self, digest: str) -> ReadColumns:
        """Return a function that reads columns; raises CatalogError.

        Raises StackNotFound for a stack that the content does not have.
        """
        digest, stack = stack_of_content(digest)
        if stack is not None:
            return _columns_of(_of_stack(self._opened(digest)(SPEC_ROWS.names), digest, stack))
        if digest == NOTHING:
            return _columns_of(SPEC_ROWS.empty_table())
        if (rows := self._held.get(digest)) is not None:
            return _columns_of(rows)
        with translated(self._location):
            return self._specs.opened(digest)


def _columns_of(rows: pa.Table) -> ReadColumns:
    """Return a function that selects columns, as ``SpecsTable.opened`` does."""

    def read(columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
        selected = rows.select(columns)
        for place, name in enumerate(columns):
            if name in coded:
                selected = selected.set_column(place, name, rows[name].dictionary_encode())
        return selected

    return read


def _of_stack(rows: pa.Table, digest: str, stack: str) -> pa.Table:
    """Return the rows of a content's stack. Raises StackNotFound."""
    of_stack = rows_of_stack(rows, stack)
    if not len(of_stack):
        stacks = pc.unique(rows["stacks"].combine_chunks().flatten()).to_pylist()
        raise StackNotFound(short_digest(digest), stack, stacks)
    return of_stack


def _dependencies(read: ReadColumns) -> pa.Table:
    inside, outside = split_by_cache(read(["hash", "dependencies", "in_cache"]))
    if not len(outside):
        return inside
    # The dependencies of a content take longer to read than all else.
    others = [name for name in SPEC_ROWS.names if name not in inside.column_names]
    _, of_others = split_by_cache(read([*others, "in_cache"]))
    for name in others:
        outside = outside.append_column(of_others.schema.field(name), of_others[name])
    return pa.concat_tables([inside, outside], promote_options="default")

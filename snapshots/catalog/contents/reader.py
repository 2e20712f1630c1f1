"""Reading the contents of a catalog into memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from snapshots.catalog.contents.mending import how_to_mend
from snapshots.catalog.contents.specs_table import SpecsTable
from snapshots.catalog.contents.stored_content import DamagedContent, ReadColumns
from snapshots.catalog.store.failures import translated
from snapshots.catalog.store.locations import parse_location
from snapshots.catalog.store.storage import Storage
from snapshots.changes.sides import Side
from snapshots.errors import CatalogError
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import NOTHING, SPEC_FACTS, Kept
from snapshots.tables import SPEC_ROWS, Files, split_by_cache, with_columns

_FRAME_COLUMNS = [name for name in SPEC_ROWS.names if name != "dependencies"]
_CODED = [
    fact.name for fact in SPEC_FACTS.values() if fact.kept is Kept.CODES and fact.value_type is str
]
"""What a frame keeps as codes, and a file has as such already."""


class ContentReader:
    """Reads contents of the table ``specs`` at a location.

    ``files`` are those of the contents whose files are known. ``history`` is asked for what to do
    about a content that is damaged: CatalogError says so. In another process it reads there what
    it reads here.
    """

    def __init__(self, location: str, specs: SpecsTable, files: Files, history: History) -> None:
        self._location = location
        self._specs = specs
        self._files = files
        self._history = history

    def __reduce__(self) -> tuple[object, ...]:
        return _reader, (self._location, self._files, self._history)

    def has(self, digest: str) -> bool:
        """Tell whether some revision needs a content, and the store has it undamaged."""
        is_needed = digest in self._files or digest in self._history.digests
        return is_needed and (
            digest == NOTHING or self._specs.is_intact(digest, self._files.get(digest))
        )

    def side(self, digest: str) -> Side:
        """Read a content with its dependencies."""
        with self._opened(digest) as read:
            frame = Frame(read(_FRAME_COLUMNS, _CODED), digest)
            return Side(frame, DependencyGraph(_dependencies(read), frame.hashes))

    def frame(self, digest: str) -> Frame:
        """Read a content."""
        with self._opened(digest, _FRAME_COLUMNS) as read:
            return Frame(read(_FRAME_COLUMNS, _CODED), digest)

    def dependencies(self, digest: str) -> pa.Table:
        """Read the columns ``hash`` and ``dependencies``, and all of the rows outside the cache.

        Those are few, and the dependency graph is who asks for them.
        """
        with self._opened(digest) as read:
            return _dependencies(read)

    def columns(self, digest: str, columns: Sequence[str]) -> pa.Table:
        """Read columns of a content; the empty one need not be there."""
        with self._opened(digest, columns) as read:
            return read(columns)

    @contextmanager
    def _opened(
        self, digest: str, needed: Sequence[str] = SPEC_ROWS.names
    ) -> Iterator[ReadColumns]:
        """Have what reads the columns of a content that are ``needed``.

        Raises CatalogError, which says what to do, where that is damaged.
        """
        if digest == NOTHING:
            yield _read_nothing
            return
        with translated(self._location):
            try:
                yield self._specs.opened(digest, self._files.get(digest), needed)
            except DamagedContent as error:
                advice = how_to_mend(self._history, digest)
                raise CatalogError(self._location, f"{error.reason}; {advice}") from None


def _read_nothing(columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:  # noqa: ARG001
    return with_columns(pa.table({}), columns)


def _dependencies(read: ReadColumns) -> pa.Table:
    inside, outside = split_by_cache(read(["hash", "dependencies", "in_cache"]))
    if not len(outside):
        return inside
    _, outside = split_by_cache(read(SPEC_ROWS.names))
    return pa.concat_tables([with_columns(inside, SPEC_ROWS.names), outside])


def _reader(location: str, files: Files, history: History) -> ContentReader:
    return ContentReader(location, SpecsTable(Storage(parse_location(location))), files, history)

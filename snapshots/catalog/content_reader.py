"""Reading the contents of a catalog into memory."""

from collections.abc import Sequence

import pyarrow as pa

from snapshots.catalog.failures import translated
from snapshots.catalog.locations import parse_location
from snapshots.catalog.mending import how_to_mend
from snapshots.catalog.specs_table import DamagedContent, SpecsTable
from snapshots.catalog.storage import Storage
from snapshots.changes.sides import Side
from snapshots.errors import CatalogError
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import NOTHING
from snapshots.tables import SPEC_ROWS, Files, split_by_cache, with_columns

_FRAME_COLUMNS = [name for name in SPEC_ROWS.names if name != "dependencies"]


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
        return _opened, (self._location, self._files, self._history)

    def has(self, digest: str) -> bool:
        """Tell whether some revision needs a content, and the store has it undamaged."""
        is_needed = digest in self._files or digest in self._history.digests
        return is_needed and (
            digest == NOTHING or self._specs.is_intact(digest, self._files.get(digest))
        )

    def side(self, digest: str) -> Side:
        """Read a content with its dependencies."""
        frame = self.frame(digest)
        return Side(frame, DependencyGraph(self.dependencies(digest), frame.hashes))

    def frame(self, digest: str) -> Frame:
        """Read a content."""
        return Frame(self.columns(digest, _FRAME_COLUMNS), digest)

    def dependencies(self, digest: str) -> pa.Table:
        """Read the columns ``hash`` and ``dependencies``, and all of the rows outside the cache.

        Those are few, and the dependency graph is who asks for them.
        """
        table = self.columns(digest, ["hash", "dependencies", "in_cache"])
        inside, outside = split_by_cache(table)
        if not len(outside):
            return inside
        _, outside = split_by_cache(self.columns(digest, SPEC_ROWS.names))
        return pa.concat_tables([with_columns(inside, SPEC_ROWS.names), outside])

    def columns(self, digest: str, columns: Sequence[str]) -> pa.Table:
        """Read columns of a content; the empty one need not be there."""
        with translated(self._location):
            try:
                return self._specs.read(digest, self._files.get(digest), columns)
            except DamagedContent as error:
                if digest == NOTHING:
                    return with_columns(pa.table({}), columns)
                advice = how_to_mend(self._history, digest)
                raise CatalogError(self._location, f"{error.reason}; {advice}") from None


def _opened(location: str, files: Files, history: History) -> ContentReader:
    return ContentReader(location, SpecsTable(Storage(parse_location(location))), files, history)

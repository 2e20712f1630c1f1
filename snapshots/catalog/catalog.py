"""The catalog: published revisions in two Delta tables, in a folder or on object storage.

``specs`` holds the rows of every content, one partition a digest; ``revisions`` one row each time
that a tag was seen in a state. The row in ``revisions`` is the commit point: a content that no row
names does not exist, so an import that is killed at any moment leaves nothing visible behind.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.failures import translated
from snapshots.catalog.locations import parse_location
from snapshots.catalog.mending import how_to_mend
from snapshots.catalog.publishing import Planner, Publication
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.specs_table import DamagedContent, SpecsTable
from snapshots.catalog.storage import Storage
from snapshots.contents import Content, Snapshot, SuccessiveTables
from snapshots.errors import CatalogError, EmptyCatalog, NoCatalog
from snapshots.frames.frame import Frame
from snapshots.frames.hash_sets import HashSet
from snapshots.history import History
from snapshots.tables import SPECS, Files, split_by_cache, with_columns

_FRAME_COLUMNS = [name for name in SPECS.names if name not in ("digest", "dependencies")]
_OUTSIDE_COLUMNS = [name for name in SPECS.names if name != "digest"]

_EMPTY = Content({}).digest


class Catalog:
    """A catalog at a location: a folder, or a URL of object storage (s3://, gs://, az:// ...).

    Opening checks the form of the location alone, and raises InvalidArgument; it reads nothing.
    ``refresh`` looks for revisions that were published since; ``publish`` makes the catalog where
    there is none. All methods may be called from several threads. They raise CatalogError where
    the store fails.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._place = parse_location(location)
        storage = Storage(self._place)
        self._revisions = RevisionsTable(storage)
        self._specs = SpecsTable(storage)
        self._lock = threading.Lock()
        self._files: Files = {}
        self._history = History()
        self._generation = self._state = -1

    # -- reading

    @property
    def history(self) -> History:
        """The revisions as of the last ``refresh``."""
        return self._history

    @property
    def generation(self) -> int:
        """A number for the revisions as of the last ``refresh``; -1 while there is no catalog.

        Other revisions have another number, also those of a catalog in the place of this one.
        """
        return self._generation

    @property
    def state(self) -> int:
        """A number as ``generation``; it is another one also where a revision was confirmed."""
        return self._state if self._generation != -1 else -1

    def refresh(self, *, missing_ok: bool = False) -> bool:
        """Take in what was published since the last call, and tell whether anything was.

        Raises NoCatalog where there is no catalog, unless ``missing_ok``: then it is an empty one.
        Either way what was known of a catalog that has vanished is forgotten.
        """
        with self._lock, self._translated():
            try:
                if not self._revisions.refresh():
                    return False
            except TableNotFoundError:
                self._check_folder()
                was_there = self._generation != -1
                self._files, self._history, self._generation = {}, History(), -1
                if not missing_ok:
                    raise NoCatalog(self.location) from None
                return was_there
            self._take_over()
            return True

    def _take_over(self) -> None:
        """Show the rows that the table ``revisions`` has read."""
        self._files = self._revisions.files
        before, history = self._history, History(self._revisions.revisions)
        # In this order: who reads the generation first and then the history never takes an old
        # history for that of a new generation.
        self._history = history
        self._state += 1
        if self._generation == -1 or history.revisions != before.revisions:
            self._generation = self._state

    def require_history(self) -> History:
        """Refresh and return the history; raises NoCatalog, or EmptyCatalog without a revision."""
        self.refresh()
        if not self._history.revisions:
            raise EmptyCatalog(self.location)
        return self._history

    def load(self, digest: str) -> Frame:
        """Read a content into memory."""
        return Frame(self._read(digest, _FRAME_COLUMNS), digest)

    def load_dependencies(self, digest: str) -> pa.Table:
        """Read the columns ``hash`` and ``dependencies`` of a content, and all of the rows outside.

        Rows outside the cache are few, and the dependency graph is who asks for them.
        """
        table = self._read(digest, ["hash", "dependencies", "in_cache"])
        inside, outside = split_by_cache(table)
        if not len(outside):
            return inside
        _, outside = split_by_cache(self._read(digest, _OUTSIDE_COLUMNS))
        return pa.concat_tables([with_columns(inside, _OUTSIDE_COLUMNS), outside])

    def package_names(self) -> frozenset[str]:
        """Read the names of all packages that the newest revision of any tag has or depends on."""
        history = self._history
        digests = {history.of_tag(tag)[0].digest for tag in history.tags}
        names: set[str] = set()
        for digest in digests:
            names.update(pc.unique(self._read(digest, ["name"])["name"]).to_pylist())
        return frozenset(names)

    def hashes_in(self, digests: Iterable[str], hashes: Iterable[str]) -> frozenset[str]:
        """Return those of the hashes that some of the contents have.

        The contents are read in their order, the hashes alone and one content at a time, and no
        more of them than it takes to find all.
        """
        wanted = pa.array(dict.fromkeys(hashes), pa.string())
        missing = wanted
        for digest in digests:
            if not len(missing):
                break
            inside, _ = split_by_cache(self._read(digest, ["hash", "in_cache"]))
            hashes_there = inside["hash"].combine_chunks()
            # To look up those of the content among the missing ones takes half as long as to look
            # up the missing ones among those of the content.
            found = hashes_there.filter(pc.is_in(hashes_there, missing))
            missing = missing.filter(pc.invert(pc.is_in(missing, found)))
        return frozenset(wanted.to_pylist()).difference(missing.to_pylist())

    def load_hash_set(self, digest: str) -> HashSet:
        """Read which hashes a content has; the rest of it is left where it is."""
        inside, _ = split_by_cache(self._read(digest, ["hash", "in_cache"]))
        return HashSet(inside["hash"])

    def _read(self, digest: str, columns: Sequence[str]) -> pa.Table:
        with self._translated():
            try:
                return self._specs.read(digest, self._files.get(digest), columns)
            except DamagedContent as error:
                if digest == _EMPTY:
                    return with_columns(pa.table({}), columns)
                advice = how_to_mend(self._history, digest)
                raise CatalogError(self.location, f"{error.reason}; {advice}") from None

    # -- publishing

    def publish(
        self, snapshots: Iterable[Snapshot], *, taken_at: datetime | None = None
    ) -> list[Publication]:
        """Publish all snapshots at once, or none where anything fails.

        The snapshots are taken one by one, and their rows written as they come. A snapshot's own
        ``taken_at`` counts, else the argument, else the date in the tag's name, else now. A state
        that the tag already had at that time is not published again, but confirmed. A content
        that is damaged in the store is replaced. Raises InvalidArgument for a tag that cannot be
        one, and SourceError for a content with too many stacks.
        """
        self.refresh(missing_ok=True)
        planner = Planner(self._history, datetime.now(UTC), taken_at)
        known, known_files = set(self._history.digests), dict(self._files)

        def is_stored(digest: str) -> bool:
            return digest in known and (
                digest == _EMPTY or self._specs.is_intact(digest, known_files.get(digest))
            )

        rows = _rows_to_write(snapshots, planner, is_stored)
        with self._translated():
            first = next(rows, None)
            files = self._specs.write(chain([first], rows), known_files) if first else {}
        if planner.added:
            with self._lock, self._translated():
                self._revisions.append(planner.added, known_files | files)
                self._take_over()
                self._revisions.compact()
        return planner.publications(self._history, mended=known & files.keys())

    def _check_folder(self) -> None:
        """Raise CatalogError where the location cannot even become a catalog."""
        root = Path(self._place.root)
        if self._place.is_folder and root.exists() and not root.is_dir():
            raise CatalogError(self.location, "is no folder")

    def _translated(self) -> AbstractContextManager[None]:
        return translated(self.location)


def _rows_to_write(
    snapshots: Iterable[Snapshot], planner: Planner, is_stored: Callable[[str], bool]
) -> Iterator[tuple[str, pa.Table]]:
    """Plan each snapshot, and yield the rows of those contents that the catalog does not have."""
    tables: defaultdict[str, SuccessiveTables] = defaultdict(SuccessiveTables)
    seen: set[str] = set()
    for snapshot in snapshots:
        digest = planner.take(snapshot).digest
        if digest not in seen:
            seen.add(digest)
            if not is_stored(digest):
                yield digest, tables[snapshot.tag].table(snapshot.content)

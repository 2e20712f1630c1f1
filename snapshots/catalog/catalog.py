"""The catalog: published revisions in Delta tables, in a folder or on object storage.

``specs`` holds the rows of every content, one partition a digest; ``revisions`` one row each time
that a tag was seen in a state. The row in ``revisions`` is the commit point: a content that no row
names does not exist, so an import that is killed at any moment leaves nothing visible behind. What
changed between neighbours stands in the history's tables; it follows from the contents, and where
it is not there it is made again.
"""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, cycle
from time import monotonic

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.costs_table import CostsTable
from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.history_tables import HistoryTables
from snapshots.catalog.locations import parse_location
from snapshots.catalog.overlays import by_owner, with_bases
from snapshots.catalog.pairs import MakePairs, Unmade, changes_of_pairs, keep_all
from snapshots.catalog.publication import Approve, Planner, Publication, rows_to_write
from snapshots.catalog.recent_rows import RecentRows
from snapshots.catalog.recipes_tables import RecipesTables
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.specs_table import FRESH_SECONDS, ContentReader, SpecsTable
from snapshots.catalog.storage import Storage, translated
from snapshots.changes.kept_changes import KeptChanges, PairCounts
from snapshots.changes.sides import Side
from snapshots.contents import PackedSnapshot, Snapshot
from snapshots.errors import CatalogError, EmptyCatalog, NoCatalog
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import HashSet
from snapshots.history import History, Pair
from snapshots.models import NOTHING
from snapshots.notes.stories import told_in_any
from snapshots.tables import Files, StoredFile, revisions_table, split_by_cache


class Catalog:
    """A catalog at a location: a folder, or a URL of object storage (s3://, gs://, az:// ...).

    Opening checks the form of the location alone, and raises InvalidArgument; it reads nothing.
    ``refresh`` looks for revisions that were published since; ``publish`` makes the catalog where
    there is none. All methods may be called from several threads. They raise CatalogError where
    the store fails: on object storage after ``retry_seconds``, if given, of trying again.
    """

    def __init__(self, location: str, *, retry_seconds: float | None = None) -> None:
        self.location = location
        self.storage = Storage(parse_location(location), retry_seconds=retry_seconds)
        self._revisions = RevisionsTable(self.storage)
        self._specs = SpecsTable(self.storage)
        self._changes = HistoryTables(self.storage)
        self.recipes = RecipesTables(self.storage)
        """Which commits of the recipes revisions were made of, as of the last ``refresh``."""
        self.costs = CostsTable(self.storage)
        """What it took to build specs, as of the last ``refresh``."""
        self._lock = threading.RLock()
        self._files: Files = {}
        self._history = History()
        self._generation = self._state = -1

    # -- reading

    @property
    def history(self) -> History:
        """The revisions as of the last ``refresh``."""
        return self._history

    @property
    def tables(self) -> tuple[CatalogTable, CatalogTable]:
        """What a ``refresh`` reads: the table of revisions, and the commit point of the history."""
        return self._revisions.table, self._changes.table

    @property
    def generation(self) -> int:
        """A number for the revisions as of the last ``refresh``; -1 while there is no catalog.

        Other revisions have another number, also those of a catalog in the place of this one.
        """
        return self._generation

    @property
    def state(self) -> int:
        """A number as ``generation``; it is another one also where less has come.

        That is a revision that was confirmed, or what changed between two of them.
        """
        return self._state if self._generation != -1 else -1

    def refresh(self, *, missing_ok: bool = False) -> bool:
        """Take in what was published since the last call, and tell whether anything was.

        Raises NoCatalog where there is no catalog, unless ``missing_ok``: then it is an empty one.
        Either way what was known of a catalog that has vanished is forgotten.
        """
        with self._lock, translated(self.location):
            try:
                is_new = self._revisions.refresh()
            except TableNotFoundError:
                self.storage.location.require_folder()
                self._changes.refresh()
                self.recipes.refresh()
                self.costs.refresh()
                was_there = self._generation != -1
                self._files, self._history, self._generation = {}, History(), -1
                if not missing_ok:
                    raise NoCatalog(self.location) from None
                return was_there
            # In this order: who publishes keeps what changed before the revisions are there.
            if self._changes.refresh():
                self._state += 1
            is_other = self.recipes.refresh()
            if self.costs.refresh() or is_other:
                # What is told of revisions that are there already is another one from now on.
                self._state += 1
                self._generation = self._state
            if is_new:
                self._take_over()
            return is_new

    def _take_over(self) -> None:
        """Show the rows that the table ``revisions`` has read."""
        self._files = with_bases(self._revisions.files)
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

    @property
    def counts(self) -> Mapping[Pair, PairCounts]:
        """How much changed between neighbours, of the pairs whose changes are kept.

        As of the last ``refresh``. Raises CatalogError where the tables of changes are damaged.
        """
        return self._changes.counts

    @property
    def changes(self) -> HistoryTables:
        """The changes of those pairs, to be looked up."""
        return self._changes

    def load(self, digest: str) -> Frame:
        """Read a content into memory."""
        return self.reader().frame(digest)

    def load_side(self, digest: str) -> Side:
        """Read a content with its dependency graph."""
        return self.reader().side(digest)

    def files_of(self, digest: str) -> Sequence[StoredFile]:
        """Return the files of a content, where they are known, as of the last ``refresh``."""
        return self._files.get(digest, ())

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
        distinct = pa.array(dict.fromkeys(hashes), pa.string())
        missing = distinct
        for digest in digests:
            if not len(missing):
                break
            hashes_there = self._hashes(digest).combine_chunks()
            # To look up those of the content among the missing ones takes half as long as to look
            # up the missing ones among those of the content.
            matches = hashes_there.filter(pc.is_in(hashes_there, missing))
            missing = missing.filter(pc.invert(pc.is_in(missing, matches)))
        return frozenset(distinct.to_pylist()).difference(missing.to_pylist())

    def load_hash_set(self, digest: str) -> HashSet:
        """Read which hashes a content has; the rest of it is left where it is."""
        return HashSet(self._hashes(digest))

    def _hashes(self, digest: str) -> pa.ChunkedArray:
        inside, _ = split_by_cache(self._read(digest, ["hash", "in_cache"]))
        return inside["hash"]

    def _read(self, digest: str, columns: Sequence[str]) -> pa.Table:
        return self.reader().columns(digest, columns)

    def reader(self, files: Files | None = None, recent: RecentRows | None = None) -> ContentReader:
        """Return what reads contents, as of the last ``refresh``; ``files`` may be newer.

        ``recent`` are those that need not be read.
        """
        files = self._files if files is None else files
        return ContentReader(self.location, self._specs, files, self._history, recent)

    # -- publishing

    def publish(
        self,
        snapshots: Iterable[Snapshot | PackedSnapshot],
        *,
        taken_at: datetime | None = None,
        approve: Approve | None = None,
        make_pairs: MakePairs = changes_of_pairs,
    ) -> list[Publication]:
        """Publish all snapshots at once, or none where anything fails.

        The snapshots are taken one by one, and their rows written as they come. A snapshot's own
        ``taken_at`` counts, else the argument, else the date in the tag's name, else now. A state
        that the tag already had at that time is not published again, but confirmed. A content
        that is damaged in the store is replaced. Raises InvalidArgument for a tag that cannot be
        one, CatalogError for a store without conditional writes, SourceError for a content with too
        many stacks, and what ``approve`` raises: it is called once all is known, and before
        anything of it is visible. ``make_pairs`` compares those that become neighbours.
        """
        started = monotonic()
        self.refresh(missing_ok=True)
        self.storage.location.require_writable()
        with self._lock, translated(self.location):
            self._revisions.require_conditional_writes()
        planner = Planner(self._history, datetime.now(UTC), taken_at)
        known_files = self._files
        stored = {*self._history.digests, *known_files}
        known_pairs = set(self._history.pairs)

        rows = rows_to_write(snapshots, planner, self.reader(known_files).has)
        with translated(self.location):
            first = next(rows, None)
            recent = RecentRows(planner.before)
            new = recent.noted(chain([first] if first else (), rows))
            written = self._specs.write(new, known_files, planner.before) if first else {}
        files: Files = {**known_files, **written}
        reader = self.reader(files, recent)
        planned = planner.planned(reader.side)
        if approve is not None:
            approve(planned)
        keep = partial(self._keep_new_pairs, reader, make_pairs)
        unkept = keep(planned.history, known_pairs)
        if planner.added:
            with self._lock, translated(self.location):
                used = {row.digest for row in planner.added}
                is_long = monotonic() - started >= FRESH_SECONDS
                self._hold(used, files, () if is_long else written.keys())
                self._revisions.append(revisions_table(planner.added, files))
                self._take_over()
                self._revisions.compact()
            # Another import may have put a revision beside these.
            unkept |= keep(self._history, known_pairs | unkept.keys())
        return planner.publications(self._history, stored & written.keys(), unkept)

    def _hold(self, digests: Set[str], files: Files, fresh: Collection[str]) -> None:
        """Let what an import needs be there when it ends, listed; ``fresh`` is what it just wrote.

        Raises CatalogError where one of the contents was removed meanwhile, and deleted.
        """
        used = by_owner({digest: files.get(digest, ()) for digest in digests - {NOTHING}})
        if shared := used.keys() - fresh:
            with suppress(TableNotFoundError):
                self._revisions.refresh()
            loose = shared - self._revisions.needed.keys()
            self._specs.hold({digest: used[digest] for digest in loose})

    def _keep_new_pairs(
        self,
        reader: ContentReader,
        make_pairs: MakePairs,
        history: History,
        pairs_before: Set[Pair],
    ) -> dict[Pair, str]:
        """Keep what changed between neighbours that were none before; return what failed, and why.

        ``history`` may have rows that are about to be published. What fails is made when it is
        asked for.
        """
        new = [pair for pair in history.pairs if pair not in pairs_before]
        unmade = Unmade()
        try:
            missing = [pair for pair in new if pair not in self.counts]
            feed_pairs = told_in_any(history) if missing else {}
            with make_pairs(reader, self.location, missing, unmade, feed_pairs) as made:
                keep_all(made, self.keep)
        except CatalogError as error:
            return dict.fromkeys(new, str(error))
        return unmade.failures

    def keep(self, made: Sequence[KeptChanges]) -> None:
        """Keep what changed between neighbours. Raises CatalogError where that fails."""
        with self._lock:
            self._changes.keep(made)
            self._changes.compact()
            self._state += 1


# -- following others

# To refresh a catalog on object storage takes some requests for each of two tables, and a server
# does it every second. So a call asks one question, which is one request: is there a further commit
# of the revisions, or of the history, and are both still the tables that were read? Only then the
# catalog is refreshed. A revision is committed after what changed with it, so a new one brings
# both; what `cachelog history fill` keeps of old ones is seen one call later.


class Follower:
    """Refreshes a catalog again and again, from one thread at a time."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        revisions, history = catalog.tables
        # New revisions are asked for every other time.
        self._questions = cycle(
            [
                revisions.has_further_commit,
                history.has_further_commit,
                revisions.has_further_commit,
                revisions.is_replaced,
                revisions.has_further_commit,
                history.is_replaced,
            ]
        )
        self._is_behind = True

    def refresh(self) -> bool:
        """Refresh the catalog, where it has changed; raises and returns as ``Catalog.refresh``.

        What was published is there after two calls at most. Where nothing is new a call is one
        request. In a folder each call is a whole refresh.
        """
        if self._catalog.storage.location.is_folder:
            return self._catalog.refresh()
        with translated(self._catalog.location):
            # Asked also when the answer is known: where the store fails, it fails soonest.
            self._is_behind = next(self._questions)() or self._is_behind
        if not self._is_behind:
            return False
        is_new = self._catalog.refresh()
        self._is_behind = self._catalog.changes.is_broken
        return is_new

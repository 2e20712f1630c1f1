"""The catalog: published revisions in Delta tables, in a folder or on object storage.

The table ``specs`` contains the rows of every content, one partition per digest. The table
``revisions`` contains one row each time that a tag was seen in a state. A row of ``revisions`` is
the commit point: a content that no row names does not exist, so a killed import leaves nothing that
a reader would see. The changes between neighbours are in the tables of the history. They are
derived from the contents, and are computed again if they are missing.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.history_tables import HistoryTables
from snapshots.catalog.locations import parse_location
from snapshots.catalog.pairs import FillResult, Progress, fill
from snapshots.catalog.publication import Approve, Publication, PublicationPlanner, rows_to_write
from snapshots.catalog.recipes_tables import RecipesTables
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.runs import Runs
from snapshots.catalog.specs_table import ContentReader, SpecsTable
from snapshots.catalog.storage import Storage, translated
from snapshots.changes.stored_changes import StoredChanges
from snapshots.contents import PackedSnapshot, Snapshot
from snapshots.errors import CatalogError, EmptyCatalog, NoCatalog
from snapshots.history import History, Pair
from snapshots.models import NOTHING, RevisionInfo
from snapshots.tables import TABLES, split_by_cache
from snapshots.texts import short_digest


class Catalog:
    """A catalog at a location: a folder, or a URL of object storage (s3://, gs://, az:// ...).

    The constructor only checks the form of the location, and raises InvalidArgument; it reads
    nothing. ``refresh`` reads revisions that were published since. ``publish`` creates the catalog
    if there is none. All methods are thread-safe. They raise CatalogError if the store fails: on
    object storage after retries for ``retry_seconds``, if given.
    """

    def __init__(self, location: str, *, retry_seconds: float | None = None) -> None:
        self.location = location
        self.storage = Storage(parse_location(location), retry_seconds=retry_seconds)
        self._revisions = RevisionsTable(self.storage)
        self.specs = SpecsTable(self.storage)
        """The stored contents."""
        self.changes = HistoryTables(self.storage)
        """The stored changes of pairs of neighbours, for lookups."""
        self.recipes = RecipesTables(self.storage)
        """The commits of the recipes that revisions were built from, as of the last ``refresh``."""
        self.runs = Runs(self.storage)
        """What imports, upkeep, verifications and backups did."""
        self._lock = threading.RLock()
        self.history = History()
        """The revisions as of the last ``refresh``."""
        self.generation = -1
        """An identifier of the current set of revisions; -1 if there is no catalog.

        It changes with the revisions, also if another catalog replaces this one.
        """
        self._state = -1

    # -- reading

    @property
    def state(self) -> int:
        """An identifier like ``generation`` that also changes with smaller updates.

        These are confirmations of revisions, and new changes between neighbours.
        """
        return self._state if self.generation != -1 else -1

    def refresh(self, *, missing_ok: bool = False) -> bool:
        """Read what was published since the last call; return whether there are new rows.

        Raises NoCatalog if there is no catalog; with ``missing_ok`` the catalog is then empty
        instead. In both cases the data of a catalog that was removed is dropped.
        """
        with self._lock, translated(self.location):
            is_missing = False
            try:
                is_new = self._revisions.refresh()
            except TableNotFoundError:
                self.storage.location.require_folder()
                is_missing, is_new = True, self.generation != -1
                self.history, self.generation = History(), -1
            # In this order: an import stores changes before it publishes the revisions.
            has_changes = self.changes.refresh()
            has_facts = self.recipes.refresh()
            if is_missing:
                if not missing_ok:
                    raise NoCatalog(self.location)
                return is_new
            if has_changes or has_facts:
                self._state += 1
            if has_facts:
                # Answers about existing revisions change, so caches that use the generation must
                # expire.
                self.generation = self._state
            if is_new:
                self._show_rows()
            return is_new

    def _show_rows(self) -> None:
        """Make the rows that were read from the table ``revisions`` visible."""
        self._show(History(self._revisions.revisions))

    def _show(self, history: History) -> None:
        before = self.history
        # In this order: a caller that reads the generation and then the history must never get an
        # old history with a new generation.
        self.history = history
        self._state += 1
        if self.generation == -1 or history.revisions != before.revisions:
            self.generation = self._state

    def num_bytes(self) -> int:
        """Return the size of its data files, without the logs; it lists all of them."""
        files = (self.storage.data_files(name).values() for name in TABLES)
        return sum(file.size for file in chain.from_iterable(files))

    def require_history(self) -> History:
        """Refresh and return the history; raises NoCatalog, or EmptyCatalog if it is empty."""
        self.refresh()
        if not self.history.revisions:
            raise EmptyCatalog(self.location)
        return self.history

    def package_names(self) -> frozenset[str]:
        """Read the names of all packages and dependencies in the newest revision of any tag."""
        history = self.history
        names: set[str] = set()
        for digest in {history.of_tag(tag)[0].digest for tag in history.tags}:
            names.update(pc.unique(self.reader().columns(digest, ["name"])["name"]).to_pylist())
        return frozenset(names)

    def hashes(self, digest: str) -> pa.ChunkedArray:
        """Read the hashes of a content, without its other columns."""
        inside, _ = split_by_cache(self.reader().columns(digest, ["hash", "in_cache"]))
        return inside["hash"]

    def reader(self, held: Mapping[str, pa.Table] | None = None) -> ContentReader:
        """Return a reader of contents; those whose rows are ``held`` are not read."""
        return ContentReader(self.location, self.specs, self.history, held)

    # -- publishing

    def publish(
        self,
        snapshots: Iterable[Snapshot | PackedSnapshot],
        *,
        taken_at: datetime | None = None,
        approve: Approve | None = None,
        jobs: int | None = None,
        cluster: str | None = None,
    ) -> list[Publication]:
        """Publish all snapshots at once, or none if anything fails.

        Snapshots are consumed one by one, and their rows are written immediately. The time of a
        state is the snapshot's own ``taken_at``, else the argument, else the date in the tag's
        name, else now. A state that the tag already had at that time is confirmed instead of
        published again. A content that is damaged in the store is replaced.

        ``approve`` is called when everything is written, but before any of it is visible.
        ``jobs`` and ``cluster`` are those of ``mapping``, for comparing the new neighbours. Raises
        InvalidArgument for an invalid tag, CatalogError for a store without conditional writes,
        SourceError for a content with too many stacks, and any error of ``approve``.
        """
        self.refresh(missing_ok=True)
        self.storage.location.require_writable()
        with self._lock, translated(self.location):
            self._revisions.require_conditional_writes()
        planner = PublicationPlanner(self.history, datetime.now(UTC), taken_at)
        stored, known_pairs = {*self.history.digests}, {*self.history.pairs}
        rows = rows_to_write(snapshots, planner, self.reader().has)
        with translated(self.location):
            written = self.specs.write(rows)
        reader = self.reader()
        planned = planner.planned(reader.side)
        if approve is not None:
            approve(planned)
        keep = partial(self.store_new_pairs, jobs=jobs, cluster=cluster)
        not_stored = keep(planned.history, known_pairs)
        if planner.added:
            with self._lock, translated(self.location):
                used = {row.digest for row in planner.added} - {NOTHING}
                self._retain(used)
                self._revisions.append(planner.added)
            # Published: from here on, nothing may fail.
            self._after_publishing(used, planner.added)
            # A concurrent import may have published a revision next to these.
            not_stored |= keep(self.history, known_pairs | not_stored.keys())
        return planner.publications(self.history, stored & written, not_stored)

    def _retain(self, digests: Set[str]) -> None:
        """List the contents that a vacuum has unlisted during this import, which needs them.

        Raises CatalogError if one was deleted.
        """
        self.specs.list_again(digests)
        for digest in sorted(digests - self.specs.files.keys()):
            reason = f"the content {short_digest(digest)} was removed while this import ran"
            raise self.storage.error(f"{reason}; import again")

    def _after_publishing(self, used: Set[str], added: Sequence[RevisionInfo]) -> None:
        """Read the published rows, and merge files of the tables if there are many."""
        with self._lock:
            try:
                with translated(self.location):
                    # A vacuum that read the revisions before may have unlisted them meanwhile.
                    self.specs.list_again(used)
                    self._revisions.refresh()
                    self._show_rows()
                    self._revisions.table.merge()
            except CatalogError:
                # The next refresh reads the rows, the next import merges the files.
                self._show(self.history.with_rows(added))

    def store_new_pairs(
        self,
        history: History,
        pairs_before: Set[Pair],
        *,
        jobs: int | None = None,
        cluster: str | None = None,
        progress: Progress | None = None,
    ) -> dict[Pair, str]:
        """Store the changes of new pairs of neighbours; return the failed pairs with the reasons.

        ``history`` may differ from the published one. Upkeep compares the failed pairs. The other
        arguments are those of ``fill``.
        """
        new = [pair for pair in history.pairs if pair not in pairs_before]
        try:
            missing = [pair for pair in new if pair not in self.changes.counts]
            return self.fill(missing, jobs=jobs, cluster=cluster, progress=progress).failures
        except CatalogError as error:
            return dict.fromkeys(new, str(error))

    def fill(
        self,
        pairs: Sequence[Pair],
        *,
        jobs: int | None = None,
        cluster: str | None = None,
        progress: Progress | None = None,
    ) -> FillResult:
        """Compare pairs of neighbours, in ``jobs`` processes or on a cluster; store the changes.

        ``jobs`` and ``cluster`` are those of ``mapping``. Pairs with a content that cannot be read
        are skipped. Raises CatalogError if changes cannot be stored, or a worker was killed.
        """
        reader, location = self.reader(), self.location
        return fill(
            reader, location, pairs, self.keep, jobs=jobs, cluster=cluster, progress=progress
        )

    def keep(self, changes: Sequence[StoredChanges]) -> None:
        """Store the changes of pairs of neighbours. Raises CatalogError if that fails."""
        with self._lock:
            self.changes.keep(changes)
            self.changes.merge()
            self._state += 1

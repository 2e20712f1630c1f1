"""The catalog: published revisions in two Delta tables, in a folder or on object storage.

``specs`` holds the rows of every content, one partition a digest; ``revisions`` one row a published
state of a tag. The row in ``revisions`` is the commit point: a content that no row names does not
exist, so an import that is killed at any moment leaves nothing visible behind.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from snapshots.contents import Content, Snapshot, SuccessiveTables
from snapshots.errors import CatalogError, EmptyCatalog
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo, utc
from snapshots.refs import check_tag, tag_date
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import (
    REVISIONS,
    SPECS,
    revisions_of,
    revisions_table,
    split_by_cache,
    with_columns,
)

_ATTEMPTS = 8
_REASON = 300
_COMPACT_AT = 100
_ROWS_AT_ONCE = 250_000
_FRAME_COLUMNS = [name for name in SPECS.names if name not in ("digest", "dependencies")]
_WRITER = WriterProperties(compression="ZSTD", dictionary_page_size_limit=1 << 24)

_EMPTY = Content({}).digest

Result = TypeVar("Result")


class Publication(msgspec.Struct, frozen=True):
    """What became of a snapshot: its revision, and whether that is new."""

    revision: RevisionInfo
    is_new: bool


class Catalog:
    """A catalog at a location: a folder, or a URL that deltalake takes (s3://, gs://, az:// ...).

    Opening reads nothing; ``refresh`` looks for revisions that were published since. All methods
    may be called from several threads. They raise CatalogError where the store fails.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._root = location if "://" in location else str(Path(location).expanduser().absolute())
        self._lock = threading.Lock()
        self._revisions: DeltaTable | None = None
        self._history = History()
        self._generation = -1

    # -- reading

    @property
    def history(self) -> History:
        """The revisions as of the last ``refresh``."""
        return self._history

    @property
    def generation(self) -> int:
        """The version of the catalog as of the last ``refresh``; -1 while it is empty."""
        return self._generation

    def refresh(self) -> bool:
        """Take in what was published since the last call, and tell whether anything was."""
        with self._lock, self._translated():
            before = self._generation
            try:
                table = self._revisions or DeltaTable(self._uri("revisions"))
                table.update_incremental()
            except TableNotFoundError:
                self._check_folder()
                self._revisions, self._history, self._generation = None, History(), -1
                return before != -1
            if table.version() == before:
                return False
            rows = table.to_pyarrow_table(
                columns=REVISIONS.names, filesystem=self._files("revisions")
            )
            # In this order: who reads the generation first and then the history never takes an old
            # history for that of a new generation.
            self._history = History(revisions_of(rows))
            self._revisions, self._generation = table, int(table.version())
            return True

    def require_history(self) -> History:
        """Refresh and return the history; raises EmptyCatalog where there is no revision."""
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
        outside = self._read(digest, SPECS.names, ("in_cache", "=", False))
        return pa.concat_tables([with_columns(inside, SPECS.names), outside])

    def package_names(self) -> frozenset[str]:
        """Read the names of all packages that any published content has or knows from outside."""
        with self._translated():
            specs = DeltaTable(self._uri("specs")).to_pyarrow_dataset(
                filesystem=self._files("specs")
            )
            digests = pa.array(self._history.digests)
            published = pc.field("digest").isin(digests)
            names: set[str] = set()
            for batch in specs.scanner(["name"], filter=published).to_batches():
                names.update(batch["name"].unique().to_pylist())
        return frozenset(names)

    def _read(self, digest: str, columns: list[str], *more: tuple[str, str, bool]) -> pa.Table:
        """Read columns; what a catalog that is older than a column has there is unknown."""
        with self._translated():
            specs = DeltaTable(self._uri("specs"))
            known = {field.name for field in specs.schema().fields}
            table = specs.to_pyarrow_table(
                columns=[name for name in columns if name in known],
                filters=[("digest", "=", digest), *more],
                filesystem=self._files("specs"),
            )
            table = with_columns(table, columns)
        if not len(table) and digest != _EMPTY:
            raise CatalogError(self.location, f"the content {digest[:16]} is missing")
        return table

    # -- publishing

    def publish(
        self, snapshots: Sequence[Snapshot], *, taken_at: datetime | None = None
    ) -> list[Publication]:
        """Publish all snapshots at once, or none where anything fails.

        A snapshot's own ``taken_at`` counts, else the argument, else the date in the tag's name,
        else now. A state that the tag already had at that time is not published again. Raises
        InvalidArgument for a tag that cannot be one.
        """
        self.refresh()
        moment = datetime.now(UTC)
        publications: list[Publication] = []
        known = set(self._history.digests)
        unknown: list[Snapshot] = []
        for number, snapshot in enumerate(snapshots):
            taken = snapshot.taken_at or taken_at or tag_date(snapshot.tag) or moment
            revision = _describe(snapshot, utc(taken), moment + timedelta(microseconds=number))
            pending = [made.revision for made in publications if made.is_new]
            standing = History([*self._history.of_tag(revision.tag), *pending]).at(
                revision.tag, revision.taken_at
            )
            if standing is not None and standing.digest == revision.digest:
                publications.append(Publication(standing, is_new=False))
                continue
            if revision.digest not in known:
                known.add(revision.digest)
                unknown.append(snapshot)
            publications.append(Publication(revision, is_new=True))
        tables_by_tag: defaultdict[str, SuccessiveTables] = defaultdict(SuccessiveTables)
        for group in _groups(unknown):
            self._write_contents(group, tables_by_tag)
        if added := [made.revision for made in publications if made.is_new]:
            self._append_revisions(added)
        return [self._as_it_stands(made) for made in publications]

    def _as_it_stands(self, made: Publication) -> Publication:
        """Return what became of a publication where another import may have been faster."""
        revision = made.revision
        standing = self._history.at(revision.tag, revision.taken_at)
        if standing is None or revision in self._history.of_tag(revision.tag):
            return made
        return Publication(standing, is_new=False)

    def _write_contents(
        self, snapshots: Sequence[Snapshot], tables_by_tag: defaultdict[str, SuccessiveTables]
    ) -> None:
        digests = ", ".join(f"'{snapshot.content.digest}'" for snapshot in snapshots)

        def write() -> None:
            # Replacing the partitions, rather than adding to them, cleans up after an import of
            # the same contents that was killed half way.
            write_deltalake(
                DeltaTable.create(self._uri("specs"), SPECS, "ignore", partition_by=["digest"]),
                pa.RecordBatchReader.from_batches(SPECS, _rows(snapshots, tables_by_tag)),
                mode="overwrite",
                schema_mode="merge",  # a catalog may be older than a column
                predicate=f"digest IN ({digests})",
                writer_properties=_WRITER,
            )

        self._retrying(write)

    def _append_revisions(self, revisions: Sequence[RevisionInfo]) -> None:
        table = revisions_table(revisions)

        def write() -> None:
            revisions = DeltaTable.create(self._uri("revisions"), REVISIONS, "ignore")
            write_deltalake(revisions, table, mode="append", writer_properties=_WRITER)

        self._retrying(write)
        self.refresh()
        self._compact()

    def _compact(self) -> None:
        """Merge the small files of many publications, so that opening stays fast for years."""
        table = self._revisions
        if table is not None and len(table.file_uris()) >= _COMPACT_AT:
            self._retrying(lambda: table.optimize.compact())
            self.refresh()

    def _retrying(self, write: Callable[[], Result]) -> Result:
        """Run a write again where another import committed in between."""
        with self._translated():
            for _ in range(_ATTEMPTS - 1):
                try:
                    return write()
                except CommitFailedError:
                    continue
                except DeltaError as error:
                    # Two imports that both make the table: the second finds it there.
                    if "already exists" not in str(error):
                        raise
            return write()

    def _check_folder(self) -> None:
        """Raise CatalogError where the location cannot even become a catalog."""
        root = Path(self._root)
        if "://" not in self._root and root.exists() and not root.is_dir():
            raise CatalogError(self.location, "is no folder")

    def _uri(self, table: str) -> str:
        return f"{self._root.rstrip('/')}/{table}"

    def _files(self, table: str) -> FileSystem | None:
        """Return Arrow's own way to the files of a table in a folder.

        deltalake's way leads through Python. A thread of Arrow's that frees what it read so, while
        the interpreter ends, aborts the process.
        """
        if "://" in self._root:
            return None
        return SubTreeFileSystem(self._uri(table), LocalFileSystem())

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DeltaError, pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:_REASON] or type(error).__name__
            raise CatalogError(self.location, reason) from error


def _groups(snapshots: Iterable[Snapshot]) -> Iterator[list[Snapshot]]:
    """Yield the snapshots in groups to write at once: one write each would cost more than rows."""
    group: list[Snapshot] = []
    rows = 0
    for snapshot in snapshots:
        group.append(snapshot)
        rows += len(snapshot.content)
        if rows >= _ROWS_AT_ONCE:
            yield group
            group, rows = [], 0
    if group:
        yield group


def _rows(
    snapshots: Iterable[Snapshot], tables_by_tag: defaultdict[str, SuccessiveTables]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each content, made only then: all at once would take much memory."""
    for snapshot in snapshots:
        yield from tables_by_tag[snapshot.tag].table(snapshot.content).to_batches()


def _describe(snapshot: Snapshot, taken_at: datetime, published_at: datetime) -> RevisionInfo:
    content = snapshot.content
    return RevisionInfo(
        tag=check_tag(snapshot.tag),
        digest=content.digest,
        taken_at=taken_at,
        published_at=published_at,
        num_packages=len(content.packages),
        num_specs=len(content),
        num_stacks=len(content.stacks - {ROOT_STACK}),
        total_size=content.total_size(),
        source=snapshot.source,
    )

"""Revisions are removed from a catalog: their rows at once, their contents after a time of grace.

The rows go in one commit, after what changed between the new neighbours was kept. Whoever is
killed before it has changed nothing; after it nothing but space is left to be given back, which a
vacuum does.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from random import random
from time import sleep, time
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import (
    CatalogTable,
    Mark,
    TableFile,
    add_action,
    remove_action,
    with_plain_texts,
)
from snapshots.catalog.history_tables import HOW_TO_MEND, are_of, texts_in, texts_of
from snapshots.catalog.locations import parse_location
from snapshots.catalog.overlays import by_owner
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.past import fill
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.sorted_table import rewritten
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import RESTORE, Storage, reason_of, translated
from snapshots.changes.kept_changes import Numbers, numbers_of
from snapshots.errors import CatalogError
from snapshots.history import History, Pair, age
from snapshots.models import RevisionInfo
from snapshots.sources.reports import Progress, Report
from snapshots.tables import (
    CHANGES,
    COMPARISONS,
    HASHES,
    SPECS,
    StoredFile,
    revisions_of,
)
from snapshots.texts import short_pair

# -- attempts

_ATTEMPTS = 12
_WAIT_SECONDS = 0.05


def attempts() -> Iterator[int]:
    """Yield the number of each attempt, and wait after those that failed, each time longer."""
    for attempt in range(_ATTEMPTS):
        yield attempt
        sleep(_WAIT_SECONDS * (attempt + random()))  # noqa: S311 - so that two do not keep pace


# -- rows dropped in one commit

Goes = Callable[[pa.Table], pa.ChunkedArray]
"""Returns a mask over rows: those that are to go."""


Write = Callable[[str, pa.Table], tuple[pa.Buffer, AddAction]]
"""Returns the bytes of what is left of a file, and what a commit says of them."""


def written(_path: str, rows: pa.Table) -> tuple[pa.Buffer, AddAction]:
    """Return rows as a file of any table that is in no order."""
    data = to_parquet(rows)
    return data, add_action(named_by_bytes(f"{uuid4()}-", data), len(rows), {}, is_new=False)


def drop_rows(
    storage: Storage,
    table: CatalogTable,
    goes: Goes,
    *,
    write: Write = written,
    added_before: float = inf,
    seen: Mark | None = None,
    dry_run: bool = False,
) -> int:
    """Drop the rows that ``goes`` masks, and return how many they were.

    Files without such a row stay as they are, and so do those that were not ``added_before`` a
    moment, in seconds since 1970. Where others commit meanwhile all is looked at anew, so a row
    that is appended at the same time is never lost; but where they did so since ``seen``, nothing
    is dropped. A table that is not there has no rows. Raises CatalogError where others never cease.
    """
    for _ in attempts():
        try:
            table.current()
        except TableNotFoundError:
            return 0
        mark = table.mark()
        if seen not in (None, mark):
            return 0
        num_dropped = 0
        removed: list[RemoveAction] = []
        added: list[AddAction] = []
        for file in table.files():
            if file.added_at >= added_before:
                continue
            rows = rows_of(storage, f"{table.name}/{file.path}", file.size)
            left = rows.filter(pc.invert(goes(rows)))
            if len(left) == len(rows):
                continue
            num_dropped += len(rows) - len(left)
            removed.append(remove_action(file))
            if len(left) and not dry_run:
                data, action = write(file.path, left)
                storage.write(f"{table.name}/{action.path}", data)
                added.append(action)
        # Nothing is seen of it until it is committed.
        if dry_run or not removed or table.exchange(removed, added, mark):
            return num_dropped
        for action in added:
            storage.remove(f"{table.name}/{action.path}")
    reason = f"other processes kept writing to the table {table.name}"
    raise storage.error(f"{reason}; nothing was dropped, try again")


def rows_of(storage: Storage, path: str, size: int) -> pa.Table:
    """Read a file of a table whole; raises CatalogError where it is damaged."""
    try:
        return with_plain_texts(from_parquet(path, storage.read(path, size)))
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise storage.error(f"{reason_of(error)}; {RESTORE}") from None


# -- contents that nothing needs

# A content is needed where a row names it, or one that is laid over it. Another one is struck off
# the table's log first, which begins its time of grace. Its file stays until a vacuum after that,
# for imports and servers that still know the rows. A file that was struck off is never written
# again under the same name.


class Contents:
    """The contents of the catalog at a location. Errors are those of the store."""

    def __init__(self, location: str) -> None:
        self.storage = Storage(parse_location(location))
        self.specs = CatalogTable(self.storage, "specs", SPECS, "digest")
        self._rows = RevisionsTable(self.storage)
        self.revisions = self._rows.table
        self._specs = SpecsTable(self.storage)

    def named(self) -> Mapping[str, Sequence[StoredFile]]:
        """Return the contents that rows need now, with the files of their own where known."""
        self._rows.refresh()
        return self._rows.needed

    def named_files(self) -> set[str]:
        """Return the paths of all files that rows name now."""
        self._rows.refresh()
        return {file.path for files in self._rows.files.values() for file in files}

    def listed(self) -> list[TableFile]:
        """Return all files that the table lists now; the partition of each is its content."""
        try:
            self.specs.current()
        except TableNotFoundError:
            return []
        return self.specs.files()

    def strike_off(self, goes: Callable[[TableFile], bool]) -> list[TableFile]:
        """Strike off what ``goes`` holds for and no row names; return it.

        Rows that are written at the same moment by an import are looked for afterwards.
        """
        for _ in attempts():
            listed = self.listed()
            seen = self.specs.mark() if listed else None
            gone = [file for file in unnamed(listed, self.named()) if goes(file)]
            removed = [remove_action(file, "digest") for file in gone]
            if not gone or self.specs.exchange(removed, (), seen):
                self.relist()
                return gone
        raise self.storage.error("other processes kept writing to the table specs; try again")

    def relist(self) -> list[str]:
        """List the files of contents that rows name and the table does not have; return those.

        So it is where an import named a content at the moment that it was struck off. cachelog
        finds it all the same, by the row, but other tools do not.
        """
        listed = {file.partition for file in self.listed()}
        named = self.named()
        return self._specs.list_again(
            {digest: files for digest, files in named.items() if files and digest not in listed}
        )


def unnamed(
    listed: Collection[TableFile], named: Mapping[str, Sequence[StoredFile]]
) -> list[TableFile]:
    """Return the listed files that no row needs.

    A named content can have a second file, from two imports at once; it goes where the first is
    listed. Where another tool has rewritten a content, its files are not those that the rows name.
    """
    paths = {file.path for file in listed}
    loose = []
    for file in listed:
        files = named.get(file.partition or "")
        if files is None:
            loose.append(file)
        elif files and file.path not in {file.path for file in files}:
            loose += [file] if all(file.path in paths for file in files) else []
    return loose


# -- pairs that are neighbours no more

# A server that has not refreshed may still believe that a pair is kept. So its row goes from
# `comparisons` first; those in `changes` and `hashes` follow when the files of `comparisons` that
# had it are deleted, after the time of grace. Each file is rewritten by itself: in memory at once
# are one of them, and eight bytes for each hash.


class OldChanges:
    """The history in a storage. ``hours`` is the time of grace.

    With ``dry_run`` what would be done is counted. Errors are those of the store, and CatalogError.
    """

    def __init__(self, storage: Storage, hours: int, progress: Progress, *, dry_run: bool) -> None:
        self._storage = storage
        self._hours = hours
        self._progress = progress
        # What was written lately may be of an import that has not published yet.
        until = time() - hours * 3_600
        self._drop = partial(drop_rows, storage, added_before=until, dry_run=dry_run)
        self._comparisons = CatalogTable(storage, "comparisons", COMPARISONS, advice=HOW_TO_MEND)
        self._changes = CatalogTable(storage, "changes", CHANGES, advice=HOW_TO_MEND)
        self._hashes = CatalogTable(storage, "hashes", HASHES, advice=HOW_TO_MEND)
        self.tables = (self._comparisons, self._changes, self._hashes)

    def forget(self, pairs: Collection[Pair]) -> int:
        """Drop all but some pairs from ``comparisons``; return how many they were."""
        texts = texts_of(pairs)
        return self._drop(self._comparisons, lambda rows: pc.invert(are_of(rows, texts)))

    def drop(self, pairs: Collection[Pair]) -> int:
        """Drop the rows of pairs that nobody can believe in any more; return how many they were."""
        believed = pa.array({*texts_of(pairs).to_pylist(), *self._lately_kept()}, pa.string())
        dropped = self._drop(
            self._changes, lambda rows: pc.invert(are_of(rows, believed)), write=rewritten
        )
        return dropped + self._drop_hashes(believed) if dropped else 0

    def _drop_hashes(self, believed: pa.Array) -> int:
        # Listed before the changes are read: who keeps a pair meanwhile adds to both.
        self._hashes.current()
        seen = self._hashes.mark()
        needed = self._hashes_of(believed)

        def is_needless(rows: pa.Table) -> pa.ChunkedArray:
            return pa.chunked_array([~np.isin(numbers_of(rows["hash"]), needed)])

        return self._drop(self._hashes, is_needless, write=rewritten, seen=seen)

    def _hashes_of(self, believed: pa.Array) -> Numbers:
        keys = [np.empty(0, np.uint64)]
        name = self._changes.name
        self._changes.current()
        files = self._changes.files()
        for number, file in enumerate(files, 1):
            rows = rows_of(self._storage, f"{name}/{file.path}", file.size)
            rows = rows.filter(are_of(rows, believed))
            keys.append(np.unique(numbers_of(rows["hash"])))
            self._progress(f"reading {name}", number, len(files))
        return np.unique(np.concatenate(keys))

    def _lately_kept(self) -> Iterator[str]:
        """Yield the text of each pair that ``comparisons`` has, or had within the time of grace."""
        name = self._comparisons.name
        gone = set(self._comparisons.out_of_use(self._hours))
        for path, file in self._storage.find(name).items():
            if path.endswith(".parquet") and not path.startswith("_") and path not in gone:
                try:
                    rows = rows_of(self._storage, f"{name}/{path}", file.size)
                except CatalogError:
                    if self._storage.exists(f"{name}/{path}"):
                        raise
                    continue  # deleted meanwhile: it was out of use for long enough
                yield from texts_in(rows).to_pylist()


# -- removing

_COMPARING = "comparing new neighbours"


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """What is removed: revisions, newest first, and all their rows.

    ``contents`` are the digests that nothing needs from then on, ``num_bytes`` what their files
    take: a vacuum deletes them. A content that others are laid over is needed. ``unkept`` has the
    reason for each two new neighbours that could not be compared; that is tried again when they
    are asked for.
    """

    revisions: tuple[RevisionInfo, ...]
    rows: tuple[RevisionInfo, ...]
    contents: tuple[str, ...]
    num_bytes: int
    unkept: tuple[str, ...] = ()


def plan(catalog: Catalog, revisions: Iterable[RevisionInfo]) -> Removal:
    """Return what the removal of some revisions comes to, by the history as last refreshed."""
    history = catalog.history
    going = sorted(dict.fromkeys(revisions), key=age, reverse=True)
    rows = [row for revision in going for row in history.seen(revision)]
    gone = {row.key for row in rows}
    named = {row.digest for row in history.by_key.values() if row.key not in gone}
    unneeded = by_owner({row.digest: catalog.files_of(row.digest) for row in rows})
    for digest in by_owner({digest: catalog.files_of(digest) for digest in named}):
        unneeded.pop(digest, None)
    return Removal(
        revisions=tuple(going),
        rows=tuple(rows),
        contents=tuple(sorted(unneeded)),
        num_bytes=sum(file.size for files in unneeded.values() for file in files),
    )


def remove(catalog: Catalog, planned: Removal, progress: Progress | None = None) -> Removal:
    """Do what was planned, and return what it came to.

    What imports publish meanwhile stays. So a row that confirms a removed revision, and is written
    after the plan was made, is a revision of its own then. Raises CatalogError.
    """
    if not planned.rows:
        return planned
    gone = {row.key for row in planned.rows}
    after = catalog.history.without_rows(gone)
    unkept = _keep_pairs(catalog, after, progress or Report().progress)
    with translated(catalog.location):
        contents = Contents(catalog.location)
        drop_rows(contents.storage, contents.revisions, lambda rows: _among(rows, gone))
        going = set(planned.contents)
        struck = contents.strike_off(lambda file: file.partition in going)
        needed = contents.named().keys()
        catalog.refresh()
    return msgspec.structs.replace(
        planned,
        contents=tuple(sorted(going - needed)),
        num_bytes=sum(file.size for file in struck),
        unkept=tuple(unkept),
    )


def _keep_pairs(catalog: Catalog, after: History, progress: Progress) -> Sequence[str]:
    """Keep what changed between those who become neighbours; return why where that fails."""
    new = set(after.pairs).difference(catalog.history.pairs, catalog.counts)
    try:
        filled = fill(catalog, sorted(new), progress=partial(progress, _COMPARING))
    except CatalogError as error:
        return [str(error)]
    return [f"{short_pair(*pair)}: {reason}" for pair, reason in filled.failures.items()]


def _among(rows: pa.Table, keys: Collection[str]) -> pa.ChunkedArray:
    mask = [row.key in keys for row in revisions_of(rows)]
    return pa.chunked_array([pa.array(mask, pa.bool_())])

"""Removal of revisions: rows are removed at once, contents after a grace period.

The rows are removed in one commit, after the changes between the new neighbours were stored. A kill
before that commit changes nothing. After it, only disk space remains to be freed, which a vacuum
does.
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

from snapshots import tables
from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import fill
from snapshots.catalog.history_tables import HOW_TO_MEND, are_of, texts_in, texts_of
from snapshots.catalog.locations import parse_location
from snapshots.catalog.overlays import by_owner
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.sorted_table import rewritten
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import RESTORE, Storage, reason_of, translated
from snapshots.changes.stored_changes import Numbers, numbers_of
from snapshots.errors import CatalogError
from snapshots.history import History, Pair, age
from snapshots.models import RevisionInfo
from snapshots.sources.reports import Progress, Report
from snapshots.texts import short_pair

# -- attempts

_ATTEMPTS = 12
_WAIT_SECONDS = 0.05


def attempts() -> Iterator[int]:
    """Yield the number of each attempt, with a longer pause after each failure."""
    for attempt in range(_ATTEMPTS):
        yield attempt
        sleep(_WAIT_SECONDS * (attempt + random()))  # noqa: S311 - avoids lockstep of two processes


# -- removal of rows in one commit

Goes = Callable[[pa.Table], pa.ChunkedArray]
"""Returns a mask that selects the rows to remove."""


Write = Callable[[str, pa.Table], tuple[pa.Buffer, AddAction]]
"""Returns the bytes of a file's remaining rows, and the action that adds them."""


def written(_path: str, rows: pa.Table) -> tuple[pa.Buffer, AddAction]:
    """Return rows as a file of a table without a sort order."""
    data = to_parquet(rows)
    return data, delta.add_action(named_by_bytes(f"{uuid4()}-", data), len(rows), {}, is_new=False)


def drop_rows(
    storage: Storage,
    table: delta.CatalogTable,
    goes: Goes,
    *,
    write: Write = written,
    added_before: float = inf,
    seen: delta.Mark | None = None,
    dry_run: bool = False,
) -> int:
    """Remove the rows that ``goes`` selects, and return their number.

    Files without such rows remain unchanged, and so do those that were not ``added_before`` a
    moment, in seconds since 1970. After a concurrent commit everything is examined again, so that a
    row that is appended meanwhile is never lost; but if there was a commit after ``seen``, nothing
    is removed. A missing table has no rows. Raises CatalogError if concurrent commits do not end.
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
            remaining = rows.filter(pc.invert(goes(rows)))
            if len(remaining) == len(rows):
                continue
            num_dropped += len(rows) - len(remaining)
            removed.append(delta.remove_action(file))
            if len(remaining) and not dry_run:
                data, action = write(file.path, remaining)
                storage.write(f"{table.name}/{action.path}", data)
                added.append(action)
        # Invisible until the commit.
        if dry_run or not removed or table.exchange(removed, added, mark):
            return num_dropped
        for action in added:
            storage.remove(f"{table.name}/{action.path}")
    reason = f"other processes kept writing to the table {table.name}"
    raise storage.error(f"{reason}; nothing was dropped, try again")


def rows_of(storage: Storage, path: str, size: int) -> pa.Table:
    """Read an entire file of a table; raises CatalogError if it is damaged."""
    try:
        return delta.with_plain_texts(from_parquet(path, storage.read(path, size)))
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise storage.error(f"{reason_of(error)}; {RESTORE}") from None


# -- unneeded contents

# A content is needed if a row names it, or a content that is stored as a difference from it. Other
# contents are first unlisted in the table's log, which starts their grace period. Their files
# remain until a vacuum after that, for imports and servers that still know the rows. An unlisted
# file is never written again under the same name.


class Contents:
    """The contents of the catalog at a location. Errors are those of the store."""

    def __init__(self, location: str) -> None:
        self.storage = Storage(parse_location(location))
        self.specs = delta.CatalogTable(self.storage, "specs", tables.SPECS, "digest")
        self._rows = RevisionsTable(self.storage)
        self.revisions = self._rows.table
        self._specs = SpecsTable(self.storage)

    def named(self) -> Mapping[str, Sequence[tables.StoredFile]]:
        """Return the contents that rows need now, with their own files if these are recorded."""
        self._rows.refresh()
        return self._rows.needed

    def named_files(self) -> set[str]:
        """Return the paths of all files that rows name now."""
        self._rows.refresh()
        return self._rows.named_files

    def listed(self) -> list[delta.TableFile]:
        """Return all files that the table lists now; the partition of each is its content."""
        try:
            self.specs.current()
        except TableNotFoundError:
            return []
        return self.specs.files()

    def strike_off(self, goes: Callable[[delta.TableFile], bool]) -> list[delta.TableFile]:
        """Unlist the files that no row names and for which ``goes`` is true; return them.

        Contents of rows that an import adds at the same moment are listed again.
        """
        for _ in attempts():
            listed = self.listed()
            seen = self.specs.mark() if listed else None
            gone = [file for file in unnamed(listed, self.named()) if goes(file)]
            removed = [delta.remove_action(file, "digest") for file in gone]
            if not gone or self.specs.exchange(removed, (), seen):
                self.relist()
                return gone
        raise self.storage.error("other processes kept writing to the table specs; try again")

    def relist(self) -> list[str]:
        """List the files of contents that rows name but the table does not list; return which.

        This happens if an import names a content at the moment at which it is unlisted. cachelog
        still finds the files by the row, but other tools do not.
        """
        listed = {file.partition for file in self.listed()}
        named = self.named()
        return self._specs.list_again(
            {digest: files for digest, files in named.items() if files and digest not in listed}
        )


def unnamed(
    listed: Collection[delta.TableFile], named: Mapping[str, Sequence[tables.StoredFile]]
) -> list[delta.TableFile]:
    """Return the listed files that no row needs.

    Two concurrent imports can leave a second file for a named content; it is not needed if the
    first is listed. If another tool rewrote a content, its files are not those that rows name.
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


# -- former neighbours

# A server that has not refreshed may still consider a pair stored. Therefore its row is removed
# from `comparisons` first. Its rows in `changes` and `hashes` are removed when the files of
# `comparisons` that contained it are deleted, after the grace period. Each file is rewritten
# separately: only one of them is in memory at a time, and eight bytes for each hash.


class OldChanges:
    """The history in a storage; removes pairs. ``hours`` is the grace period.

    With ``dry_run``, rows are only counted. Errors are those of the store, and CatalogError.
    """

    def __init__(self, storage: Storage, hours: int, progress: Progress, *, dry_run: bool) -> None:
        self._storage = storage
        self._hours = hours
        self._progress = progress
        # Recent rows may belong to an import that has not published yet.
        until = time() - hours * 3_600
        self._drop = partial(drop_rows, storage, added_before=until, dry_run=dry_run)
        self._comparisons = delta.CatalogTable(
            storage, "comparisons", tables.COMPARISONS, advice=HOW_TO_MEND
        )
        self._changes = delta.CatalogTable(storage, "changes", tables.CHANGES, advice=HOW_TO_MEND)
        self._hashes = delta.CatalogTable(storage, "hashes", tables.HASHES, advice=HOW_TO_MEND)
        self.tables = (self._comparisons, self._changes, self._hashes)

    def forget(self, pairs: Collection[Pair]) -> int:
        """Remove all pairs except the given ones from ``comparisons``; return their number."""
        texts = texts_of(pairs)
        return self._drop(self._comparisons, lambda rows: pc.invert(are_of(rows, texts)))

    def drop(self, pairs: Collection[Pair]) -> int:
        """Remove the rows of pairs that no reader considers stored; return their number."""
        believed = pa.array({*texts_of(pairs).to_pylist(), *self._recent_pairs()}, pa.string())
        dropped = self._drop(
            self._changes, lambda rows: pc.invert(are_of(rows, believed)), write=rewritten
        )
        return dropped + self._drop_hashes(believed) if dropped else 0

    def _drop_hashes(self, believed: pa.Array) -> int:
        # Listed before the changes are read: an import that stores a pair meanwhile adds to both.
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

    def _recent_pairs(self) -> Iterator[str]:
        """Yield the text of each pair that ``comparisons`` has, or had within the grace period."""
        name = self._comparisons.name
        gone = self._comparisons.out_of_use(self._hours)
        for path, file in self._storage.data_files(name).items():
            if path not in gone:
                try:
                    rows = rows_of(self._storage, f"{name}/{path}", file.size)
                except CatalogError:
                    if self._storage.exists(f"{name}/{path}"):
                        raise
                    continue  # deleted meanwhile, so it was unlisted for long enough
                yield from texts_in(rows).to_pylist()


# -- removal of revisions

_COMPARING = "comparing new neighbours"


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """The removed revisions, newest first, and all their rows.

    ``contents`` are the digests that are no longer needed, and ``num_bytes`` is the size of their
    files, which a vacuum deletes. A content is needed if it is the base of others. ``not_stored``
    has the reasons of new neighbours that could not be compared; their changes are computed when
    they are requested.
    """

    revisions: tuple[RevisionInfo, ...]
    rows: tuple[RevisionInfo, ...]
    contents: tuple[str, ...]
    num_bytes: int
    not_stored: tuple[str, ...] = ()


def plan(catalog: Catalog, revisions: Iterable[RevisionInfo]) -> Removal:
    """Return the effect of removing revisions, by the history as of the last refresh."""
    history = catalog.history
    going = sorted(dict.fromkeys(revisions), key=age, reverse=True)
    rows = [row for revision in going for row in history.seen(revision)]
    gone = {row.ref for row in rows}
    named = {row.digest for row in history.rows if row.ref not in gone}
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
    """Remove what was planned, and return the actual effect.

    Concurrent imports are preserved: a row that confirms a removed revision, and is written after
    the plan was made, becomes a separate revision. Raises CatalogError.
    """
    if not planned.rows:
        return planned
    gone = {row.ref for row in planned.rows}
    after = catalog.history.without_rows(gone)
    not_stored = _store_pairs(catalog, after, progress or Report().progress)
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
        not_stored=tuple(not_stored),
    )


def _store_pairs(catalog: Catalog, after: History, progress: Progress) -> Sequence[str]:
    """Store the changes of new neighbours; return the reasons of failures."""
    old = {*catalog.history.pairs, *catalog.changes.counts}
    new = [pair for pair in after.pairs if pair not in old]
    try:
        filled = fill(catalog, new, progress=partial(progress, _COMPARING))
    except CatalogError as error:
        return [str(error)]
    return [f"{short_pair(*pair)}: {reason}" for pair, reason in filled.failures.items()]


def _among(rows: pa.Table, keys: Collection[str]) -> pa.ChunkedArray:
    mask = [row.ref in keys for row in tables.revisions_of(rows)]
    return pa.chunked_array([pa.array(mask, pa.bool_())])

"""Removal of revisions: rows are removed at once, contents after a grace period.

The rows are removed in one commit, after the changes between the new neighbours were stored. A kill
before that commit changes nothing. After it, only disk space remains to be freed, which a vacuum
does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec
import pyarrow as pa
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import TableFile, remove_action, repeated
from snapshots.catalog.history_queries import fill
from snapshots.catalog.locations import parse_location
from snapshots.catalog.revisions_table import RevisionsTable, refs_of
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import Storage, translated
from snapshots.errors import CatalogError
from snapshots.history import History, age
from snapshots.models import NOTHING, RevisionInfo
from snapshots.sources.reports import Progress, Report
from snapshots.tables import StoredFile
from snapshots.texts import short_pair

# -- unneeded contents

# A content is needed if a row names it. Other contents are first unlisted in the table's log, which
# starts their grace period. Their files remain until a vacuum after that, for imports and servers
# that still know the rows. An unlisted file is never written again under the same name.


class Contents:
    """The contents of the catalog at a location. Errors are those of the store."""

    def __init__(self, location: str) -> None:
        self.storage = Storage(parse_location(location))
        self.rows = RevisionsTable(self.storage)
        self._specs = SpecsTable(self.storage)
        self.table = self._specs.table

    def named(self) -> Mapping[str, StoredFile | None]:
        """Return the contents that rows name now, with their files."""
        self.rows.refresh()
        return {row.digest: self.rows.files.get(row.digest) for row in self.rows.revisions}

    def listed(self) -> list[TableFile]:
        """Return all files that the table lists now; the partition of each is its content."""
        try:
            self.table.current()
        except TableNotFoundError:
            return []
        return self.table.files()

    def strike_off(
        self, goes: Callable[[TableFile], bool], *, dry_run: bool = False
    ) -> list[TableFile]:
        """Unlist the files that no row names and for which ``goes`` is true; return them.

        Contents of rows that an import adds at the same moment are listed again.
        """

        def strike() -> list[TableFile]:
            listed = self.listed()
            gone = [file for file in unnamed(listed, self.named()) if goes(file)]
            removed = [remove_action(file, "digest") for file in gone]
            if gone and not dry_run and not self.table.exchange(removed, (), self.table.mark()):
                raise CommitFailedError
            return gone

        try:
            gone = repeated(strike, CommitFailedError)
        except CommitFailedError:
            reason = "other processes kept writing to the table specs; try again"
            raise self.storage.error(reason) from None
        if gone and not dry_run:
            self.relist()
        return gone

    def relist(self) -> list[str]:
        """List the files of contents that rows name but the table does not list; return which.

        This happens if an import names a content at the moment at which it is unlisted. cachelog
        still finds the files by the row, but other tools do not.
        """
        named, listed = self.named(), {file.partition for file in self.listed()}
        return self._specs.list_again(
            {digest: file for digest, file in named.items() if file and digest not in listed}
        )


def unnamed(listed: Sequence[TableFile], named: Mapping[str, StoredFile | None]) -> list[TableFile]:
    """Return the listed files that no row needs.

    Two concurrent imports can leave a second file for a named content; it is not needed if the
    first is listed. If another tool rewrote a content, its files are not those that rows name.
    """
    paths = {file.path for file in listed}
    loose = []
    for file in listed:
        own = named.get(file.partition or "")
        if file.partition not in named or (own and file.path != own.path in paths):
            loose.append(file)
    return loose


# -- removal of revisions

_COMPARING = "comparing new neighbours"


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """The removed revisions, newest first, and all their rows.

    ``contents`` are the digests that are no longer needed, and ``num_bytes`` is the size of their
    files, which a vacuum deletes. ``not_stored`` has the reasons of new neighbours that could not
    be compared; their changes are computed when they are requested.
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
    unneeded = sorted({row.digest for row in rows} - named - {NOTHING})
    files = map(catalog.file_of, unneeded)
    return Removal(
        revisions=tuple(going),
        rows=tuple(rows),
        contents=tuple(unneeded),
        num_bytes=sum(file.size for file in files if file is not None),
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
        contents.rows.table.drop_rows(
            lambda rows: pa.chunked_array([[ref in gone for ref in refs_of(rows)]], pa.bool_())
        )
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

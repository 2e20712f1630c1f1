"""Revisions are removed from a catalog: their rows at once, their contents after a time of grace.

The rows go in one commit, after what changed between the new neighbours was kept. Whoever is
killed before it has changed nothing; after it nothing but space is left to be given back, which a
vacuum does.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec
import pyarrow as pa

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.contents.files import by_owner
from snapshots.catalog.filling import fill
from snapshots.catalog.keeping.contents import Contents
from snapshots.catalog.keeping.dropping import drop_rows
from snapshots.catalog.store.failures import translated
from snapshots.errors import CatalogError
from snapshots.history import History, age
from snapshots.models import RevisionInfo
from snapshots.sources.reports import Progress, Report
from snapshots.tables import revisions_of
from snapshots.wording import short_pair

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
        struck = contents.strike_off(lambda file: file.digest in going)
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
    new = set(after.pairs).difference(catalog.history.pairs)

    def tell(done: int, total: int) -> None:
        progress(_COMPARING, done, total)

    try:
        filled = fill(catalog, sorted(new.difference(catalog.counts)), progress=tell)
    except CatalogError as error:
        return [str(error)]
    return [f"{short_pair(*pair)}: {it}" for pair, it in filled.failures.items()]


def _among(rows: pa.Table, keys: Collection[str]) -> pa.ChunkedArray:
    found = [row.key in keys for row in revisions_of(rows)]
    return pa.chunked_array([pa.array(found, pa.bool_())])

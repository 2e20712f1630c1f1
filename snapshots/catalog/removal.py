"""Removal of revisions.

Their rows are removed in one commit, after the changes between the new neighbours were stored. A
kill before that commit changes nothing. A vacuum frees the disk space.
"""

from collections.abc import Iterable
from functools import partial

import msgspec
import pyarrow as pa

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.revisions_table import RevisionsTable, refs_of
from snapshots.catalog.storage import translated
from snapshots.history import age
from snapshots.models import NOTHING, RevisionInfo
from snapshots.sources.reports import Progress, Report

_COMPARING = "comparing new neighbours"


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """The removed revisions, newest first, and all their rows.

    ``contents`` are the digests that are no longer needed, and ``num_bytes`` is the size of their
    files, which a vacuum deletes. ``not_stored`` has the reasons of new neighbours that could not
    be compared; upkeep does so.
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
    with translated(catalog.location):
        catalog.specs.refresh()
    return Removal(
        revisions=tuple(going),
        rows=tuple(rows),
        contents=tuple(unneeded),
        num_bytes=_num_bytes(catalog, unneeded),
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
    report = partial(progress or Report().progress, _COMPARING)
    not_stored = catalog.store_new_pairs(after, {*catalog.history.pairs}, progress=report)
    with translated(catalog.location):
        RevisionsTable(catalog.storage).table.drop_rows(
            lambda rows: pa.chunked_array([[ref in gone for ref in refs_of(rows)]], pa.bool_())
        )
        catalog.refresh()
    unneeded = [digest for digest in planned.contents if digest not in catalog.history.digests]
    return msgspec.structs.replace(
        planned,
        contents=tuple(unneeded),
        num_bytes=_num_bytes(catalog, unneeded),
        not_stored=tuple(dict.fromkeys(not_stored.values())),
    )


def _num_bytes(catalog: Catalog, digests: Iterable[str]) -> int:
    files = (file for digest in digests for file in catalog.specs.files.get(digest, ()))
    return sum(file.size for file in files)

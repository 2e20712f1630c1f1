"""Revisions are removed from a catalog: their rows at once, their contents after a time of grace.

The rows go in one commit. Whoever is killed before it has changed nothing, and after it nothing
but space is left to be given back, which a vacuum does.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec
import pyarrow as pa

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.failures import translated
from snapshots.catalog.keeping.contents import Contents
from snapshots.catalog.keeping.dropping import drop_rows
from snapshots.history import History, age
from snapshots.models import RevisionInfo
from snapshots.tables import revisions_of


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed, or would be: revisions, newest first, and all their rows.

    ``contents`` are the digests that nothing names from then on, ``num_bytes`` what their files
    take: a vacuum deletes them.
    """

    revisions: tuple[RevisionInfo, ...]
    rows: tuple[RevisionInfo, ...]
    contents: tuple[str, ...]
    num_bytes: int


def plan(catalog: Catalog, revisions: Iterable[RevisionInfo]) -> Removal:
    """Return what the removal of some revisions comes to, by the history as last refreshed."""
    history = catalog.history
    going = sorted(dict.fromkeys(revisions), key=age, reverse=True)
    rows = [row for revision in going for row in history.seen(revision)]
    contents = _left_alone(history, rows)
    sizes = [file.size for digest in contents for file in catalog.files_of(digest)]
    return Removal(
        revisions=tuple(going), rows=tuple(rows), contents=tuple(contents), num_bytes=sum(sizes)
    )


def remove(catalog: Catalog, removal: Removal) -> Removal:
    """Do what was planned, and return what it came to.

    What imports publish meanwhile stays: a row that confirms a removed revision, and is written
    after the plan was made, is a revision of its own then. Raises CatalogError.
    """
    with translated(catalog.location):
        contents = Contents(catalog.location)
        keys = {row.key for row in removal.rows}
        drop_rows(contents.storage, contents.revisions, lambda rows: _among(rows, keys))
        going = set(removal.contents)
        struck = contents.strike_off(lambda file: file.digest in going)
        catalog.refresh()
    gone = going - set(catalog.history.digests)
    return msgspec.structs.replace(
        removal, contents=tuple(sorted(gone)), num_bytes=sum(it.size for it in struck)
    )


def history_without(history: History, removal: Removal) -> History:
    """Return the history as it will be."""
    gone = {row.key for row in removal.rows}
    return History(row for row in history.by_key.values() if row.key not in gone)


def _left_alone(history: History, going: Sequence[RevisionInfo]) -> list[str]:
    gone = {row.key for row in going}
    named = {row.digest for row in history.by_key.values() if row.key not in gone}
    return sorted({row.digest for row in going} - named)


def _among(rows: pa.Table, keys: Collection[str]) -> pa.ChunkedArray:
    found = [row.key in keys for row in revisions_of(rows)]
    return pa.chunked_array([pa.array(found, pa.bool_())])

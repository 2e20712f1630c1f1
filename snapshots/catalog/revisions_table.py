"""The table ``revisions``: each row a tag in a state, and the commit point of its content."""

from collections.abc import Sequence
from itertools import chain

import msgspec
import pyarrow as pa

from snapshots.catalog.delta import CatalogTable, keeps_the_first_commit
from snapshots.catalog.overlays import by_owner
from snapshots.catalog.storage import Storage
from snapshots.catalog.whole_table import WholeTable
from snapshots.errors import NewerCatalog
from snapshots.models import RevisionInfo
from snapshots.tables import (
    LATER_COLUMNS,
    REVISIONS,
    Files,
    StoredFile,
    files_of,
    revisions_of,
    revisions_table,
)

FORMAT = 1
"""The format of the catalogs that are written; docs/tables.md says what a format is."""

_FORMAT = "cachelog.format"
_PROBED = "cachelog.conditionalWrites"
"""Properties of the table: the number of the format, and the stores that were probed."""

_REQUIRED = [name for name in REVISIONS.names if name not in LATER_COLUMNS]


class _Rows(msgspec.Struct, frozen=True):
    """What one file of the table holds."""

    revisions: list[RevisionInfo]
    files: dict[str, tuple[StoredFile, ...]]


class RevisionsTable:
    """The rows in a storage as of the last ``refresh``. Errors are those of the store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._table = WholeTable(
            storage,
            "revisions",
            REVISIONS,
            _decoded,
            required=_REQUIRED,
            check=self._require_format,
            properties={_FORMAT: str(FORMAT)},
        )

    def _require_format(self, table: CatalogTable) -> None:
        # Catalogs that do not state it are of the first format.
        number = table.properties.get(_FORMAT, "1")
        if not (number.isdecimal() and int(number) <= FORMAT):
            raise NewerCatalog(self._storage.location.text, number, FORMAT)

    def require_conditional_writes(self) -> None:
        """Raise CatalogError for a store where two imports at once would lose what one publishes.

        Each store is probed once, which the table remembers; a folder has no need of it.
        """
        store = self._storage.identity
        if store is None:
            return
        probed = self._table.table.properties.get(_PROBED, "").split()
        if store in probed:
            return
        if not keeps_the_first_commit(self._storage):
            raise self._storage.error(
                "the store lets one write replace another (it ignores If-None-Match), so imports "
                "that run at once would lose revisions, and nothing is imported; use a store with "
                "conditional writes, or a folder: see docs/object-storage.md"
            )
        self._table.table.remember({_PROBED: " ".join([*probed, store])})

    @property
    def table(self) -> CatalogTable:
        """The table's log, and what is open of it."""
        return self._table.table

    def refresh(self) -> bool:
        """Read what is new, and tell whether anything is.

        Raises as ``WholeTable.refresh``, and NewerCatalog.
        """
        return self._table.refresh()

    @property
    def revisions(self) -> list[RevisionInfo]:
        """All rows, in no order."""
        return list(chain.from_iterable(rows.revisions for rows in self._table.rows))

    @property
    def files(self) -> dict[str, tuple[StoredFile, ...]]:
        """The files of contents, by digest, of those contents whose files are known."""
        files: dict[str, tuple[StoredFile, ...]] = {}
        for rows in self._table.rows:
            files |= rows.files
        return files

    @property
    def needed(self) -> dict[str, Sequence[StoredFile]]:
        """The contents that rows name, and what those are laid over.

        Each has the files of its own, where they are known.
        """
        needed: dict[str, Sequence[StoredFile]] = {
            revision.digest: () for revision in self.revisions
        }
        return needed | by_owner(self.files)

    def append(self, revisions: Sequence[RevisionInfo], files: Files) -> None:
        """Add rows in one commit, and read them: from then on readers see them."""
        self._table.append(revisions_table(revisions, files))

    def compact(self) -> None:
        """Merge the files where they are many, so that opening stays fast."""
        self._table.compact()


def _decoded(table: pa.Table) -> _Rows:
    return _Rows(revisions_of(table), files_of(table))

"""The table ``revisions``: one row per state of a tag, the commit point of the row's content."""

from collections.abc import Sequence
from itertools import chain

import msgspec
import pyarrow as pa
from deltalake import DeltaTable

from snapshots.catalog.delta import refuses_to_overwrite
from snapshots.catalog.overlays import by_owner
from snapshots.catalog.storage import Storage
from snapshots.catalog.whole_table import WholeTable
from snapshots.errors import NewerCatalog
from snapshots.models import RevisionInfo
from snapshots.tables import LATER_COLUMNS, REVISIONS, StoredFile, files_of, revisions_of

FORMAT = 1
"""The format of new catalogs; docs/tables.md defines formats."""

_FORMAT = "cachelog.format"
_PROBED = "cachelog.conditionalWrites"
"""Properties of the table: the number of the format, and the stores that were probed."""

_REQUIRED = [name for name in REVISIONS.names if name not in LATER_COLUMNS]


class _Rows(msgspec.Struct, frozen=True):
    """The contents of one file of the table."""

    revisions: list[RevisionInfo]
    files: dict[str, tuple[StoredFile, ...]]


class RevisionsTable(WholeTable[_Rows]):
    """The rows in a storage as of the last ``refresh``, which also raises NewerCatalog."""

    def __init__(self, storage: Storage) -> None:
        properties = {_FORMAT: str(FORMAT)}
        super().__init__(
            storage, "revisions", REVISIONS, _decoded, required=_REQUIRED, properties=properties
        )

    def _check(self, table: DeltaTable) -> None:
        # Catalogs without this property have the first format.
        number = table.metadata().configuration.get(_FORMAT, "1")
        if not (number.isdecimal() and int(number) <= FORMAT):
            raise NewerCatalog(self._storage.location.text, number, FORMAT)
        super()._check(table)

    def require_conditional_writes(self) -> None:
        """Raise CatalogError for a store in which concurrent imports would lose revisions.

        Each store is probed once, and the result is stored in the table; folders are not probed.
        """
        store = self._storage.identity
        if store is None:
            return
        probed = self.table.properties.get(_PROBED, "").split()
        if store in probed:
            return
        if not refuses_to_overwrite(self._storage):
            raise self._storage.error(
                "the store lets one write replace another (it ignores If-None-Match), so imports "
                "that run at once would lose revisions, and nothing is imported; use a store with "
                "conditional writes, or a folder: see docs/object-storage.md"
            )
        self.table.remember({_PROBED: " ".join([*probed, store])})

    @property
    def revisions(self) -> list[RevisionInfo]:
        """All rows, in any order."""
        return list(chain.from_iterable(rows.revisions for rows in self.rows))

    @property
    def files(self) -> dict[str, tuple[StoredFile, ...]]:
        """The files of contents, by digest, without contents whose files are not recorded."""
        files: dict[str, tuple[StoredFile, ...]] = {}
        for rows in self.rows:
            files |= rows.files
        return files

    @property
    def named_files(self) -> set[str]:
        """The paths of all files that rows name."""
        return {file.path for files in self.files.values() for file in files}

    @property
    def needed(self) -> dict[str, Sequence[StoredFile]]:
        """The contents that rows name, and their bases.

        Each has its own files, if these are recorded.
        """
        needed: dict[str, Sequence[StoredFile]] = {
            revision.digest: () for revision in self.revisions
        }
        return needed | by_owner(self.files)


def _decoded(table: pa.Table) -> _Rows:
    return _Rows(revisions_of(table), files_of(table))

"""The table ``revisions``: one row per state of a tag, the commit point of the row's content."""

from collections.abc import Sequence

import pyarrow as pa
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.delta import CatalogTable, Mark
from snapshots.catalog.storage import RESTORE, Storage
from snapshots.errors import NewerCatalog, OlderCatalog
from snapshots.models import NOTHING, RevisionInfo
from snapshots.tables import REVISIONS, revisions_of, revisions_table

FORMAT = 2
"""The format of catalogs; docs/tables.md defines formats."""

_FORMAT = "cachelog.format"
"""The property of the table that is the number of the format."""


class RevisionsTable:
    """The rows in a storage as of the last ``refresh``. Errors are those of the store.

    - revisions: All rows, in any order.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        properties = {_FORMAT: str(FORMAT)}
        self.table = CatalogTable(storage, "revisions", REVISIONS, properties=properties)
        self.revisions: Sequence[RevisionInfo] = ()
        self._mark: Mark | None = None

    def refresh(self) -> bool:
        """Read new rows; return whether any were added or removed.

        Raises TableNotFoundError if there is no table, NewerCatalog and OlderCatalog, and
        CatalogError for a table that is not cachelog's.
        """
        self._mark, before = None, self._mark
        try:
            table = self.table.current()
        except TableNotFoundError:
            self.revisions = ()
            raise
        location = self._storage.location.text
        # Catalogs without this property have the first format.
        number = table.metadata().configuration.get(_FORMAT, "1")
        if not (number.isdecimal() and int(number) <= FORMAT):
            raise NewerCatalog(location, number, FORMAT)
        columns = {field.name for field in table.schema().fields}
        if {"tag", "digest"} <= columns and int(number) < FORMAT:
            raise OlderCatalog(location)
        if missing := [name for name in REVISIONS.names if name not in columns]:
            reason = f"the table revisions is not cachelog's: it has no column {', '.join(missing)}"
            raise self._storage.error(f"{reason}; {RESTORE}")
        self._mark = self.table.mark
        if self._mark == before:
            return False
        self.revisions = revisions_of(self.table.read())
        return True

    @property
    def digests(self) -> set[str]:
        """The contents that rows name, except the empty one, which is not stored."""
        return {row.digest for row in self.revisions} - {NOTHING}

    def append(self, revisions: Sequence[RevisionInfo]) -> None:
        """Add rows in one commit; creates the table if it does not exist."""
        self.table.append(revisions_table(revisions))

    def require_conditional_writes(self) -> None:
        """Raise CatalogError for a store in which concurrent imports would lose revisions."""
        if not (self._storage.location.is_folder or self._storage.refuses_to_overwrite()):
            raise self._storage.error(
                "the store lets one write replace another (it ignores If-None-Match), so imports "
                "that run at once would lose revisions, and nothing is imported; use a store with "
                "conditional writes, or a folder: see docs/object-storage.md"
            )


def refs_of(rows: pa.Table) -> list[str]:
    """Return the ref of each row of the table."""
    return [row.ref for row in revisions_of(rows)]

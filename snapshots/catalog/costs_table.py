"""The table ``costs``: the costs of building specs, as of the last import of costs.

It is not part of any content, and optional. Each import replaces all rows in one commit.
"""

import threading
from contextlib import suppress
from datetime import UTC, datetime

import pyarrow as pa

from snapshots.catalog.delta import Mark
from snapshots.catalog.storage import Storage, translated
from snapshots.catalog.whole_table import WholeTable, plain
from snapshots.changes.costs import Costs
from snapshots.errors import CatalogError
from snapshots.tables import COSTS

COSTS_TABLE = "costs"


class CostsTable:
    """The costs in a storage, as of the last ``refresh``; their rows are read when needed.

    All methods are thread-safe.
    """

    def __init__(self, storage: Storage) -> None:
        self._location = storage.location.text
        self._rows = WholeTable(storage, COSTS_TABLE, COSTS, plain, required=COSTS.names)
        self._lock = threading.RLock()
        self._mark: Mark | None = None
        self._costs: Costs | None = None
        self._is_read = True
        self.version = 0
        """A number that changes with the costs."""

    def refresh(self) -> bool:
        """Check for other costs; return whether they have changed.

        If the table is missing or damaged, there are no costs; nothing else is affected.
        """
        with self._lock:
            mark = None
            with suppress(CatalogError), translated(self._location):
                self._rows.table.current()
                mark = self._rows.table.mark()
            if mark == self._mark:
                return False
            self._mark, self._costs, self._is_read = mark, None, mark is None
            self.version += 1
            return True

    @property
    def is_there(self) -> bool:
        """Whether the table exists, as of the last ``refresh``."""
        return self._mark is not None

    @property
    def current(self) -> Costs | None:
        """The costs; None if there are none. Raises CatalogError if they are damaged."""
        with self._lock:
            if not self._is_read:
                with translated(self._location):
                    self._rows.refresh()
                # A table without files is that of a killed import, which had just created it.
                rows = pa.concat_tables([COSTS.empty_table(), *self._rows.rows])
                self._costs = Costs(rows) if len(rows) else None
                self._is_read = True
            return self._costs

    def replace(self, rows: pa.Table) -> None:
        """Replace all rows by ``rows``, which do not have the column ``recorded_at``."""
        moment = pa.array([datetime.now(UTC)] * len(rows), COSTS.field("recorded_at").type)
        with self._lock, translated(self._location):
            self._rows.replace(rows.append_column("recorded_at", moment).cast(COSTS))
        self.refresh()

"""The table ``costs``: what it took to build specs, as the last import of costs has it.

It is not part of any content, and a catalog without it has all else. Each import replaces what was
there in one commit.
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

    All methods may be called from several threads.
    """

    def __init__(self, storage: Storage) -> None:
        self._location = storage.location.text
        self._rows = WholeTable(storage, COSTS_TABLE, COSTS, plain, required=COSTS.names)
        self._lock = threading.RLock()
        self._mark: Mark | None = None
        self._costs: Costs | None = None
        self._is_read = True
        self.version = 0
        """A number that is another one for other costs."""

    def refresh(self) -> bool:
        """Look for other costs, and tell whether there are any.

        Where the table is missing or damaged there are none: all else can be told.
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
        """Whether there is a table, as of the last ``refresh``."""
        return self._mark is not None

    @property
    def current(self) -> Costs | None:
        """The costs; None where there are none. Raises CatalogError where they are damaged."""
        with self._lock:
            if not self._is_read:
                with translated(self._location):
                    self._rows.refresh()
                tables = self._rows.rows
                rows = pa.concat_tables(tables) if tables else COSTS.empty_table()
                self._costs = Costs(rows) if len(rows) else None
                self._is_read = True
            return self._costs

    def replace(self, rows: pa.Table) -> None:
        """Keep rows without ``recorded_at`` in the place of all that are there."""
        moment = pa.array([datetime.now(UTC)] * len(rows), COSTS.field("recorded_at").type)
        with self._lock, translated(self._location):
            self._rows.replace(rows.append_column("recorded_at", moment).cast(COSTS))
        self.refresh()

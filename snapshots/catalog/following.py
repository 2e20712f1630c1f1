"""Following a catalog that others publish to, at few requests to the store.

To refresh a catalog on object storage takes some requests for each of two tables, and a server
does it every second. So it asks for a listing of one table's log first, and refreshes only where
that is another one than before. The rows of the history are committed before those of the
revisions that they belong to, so a new revision brings both; what was kept of old ones alone, by
``cachelog history fill``, can be seen a moment later.
"""

from itertools import chain, cycle, repeat
from time import monotonic

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.failures import translated
from snapshots.catalog.log import Listing, Log

SETTLED_SECONDS = 3.0
"""After so long nothing can have been written under the times that a listing had.

Stores tell when an object was written in whole seconds. Until then what has the name, size and
time of another object can be a different one.
"""

_LOOKS_AT_REVISIONS = 3
"""So many looks at the revisions follow each look at the history: none is missed twice in a row."""


class Follower:
    """Refreshes a catalog again and again, from one thread at a time."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        history, revisions = (
            _Look(Log(catalog.storage, table)) for table in ("comparisons", "revisions")
        )
        self._looks = history, revisions
        self._turns = cycle(chain([history], repeat(revisions, _LOOKS_AT_REVISIONS)))

    def refresh(self) -> bool:
        """Refresh the catalog, where it may have changed; as ``Catalog.refresh``.

        What was published is there after two calls at most. Where nothing is new for some
        seconds, a call is one request. In a folder each call is a whole refresh.
        """
        if self._catalog.storage.location.is_folder:
            return self._catalog.refresh()
        with translated(self._catalog.location):
            next(self._turns).look()
        if all(it.is_read for it in self._looks):
            return False
        began = monotonic()
        is_new = self._catalog.refresh()
        for it in self._looks:
            it.was_read(began)
        return is_new


class _Look:
    """What the log of a table looked like last; ``is_read`` tells that all of it is known."""

    def __init__(self, log: Log) -> None:
        self.is_read = False
        self._log = log
        self._listing: Listing | None = None
        self._first_seen = 0.0

    def look(self) -> None:
        listing = self._log.listing()
        if listing != self._listing:
            self._listing, self._first_seen, self.is_read = listing, monotonic(), False

    def was_read(self, began: float) -> None:
        """Note that the catalog was refreshed, from a time on."""
        seen = self._listing is not None
        self.is_read = seen and began - self._first_seen >= SETTLED_SECONDS

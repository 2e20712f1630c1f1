"""Following a catalog that others publish to, at few requests to the store.

To refresh a catalog on object storage takes some requests for each of two tables, and a server
does it every second. So one question is asked at a time, a request each: is there a further commit
of the revisions, or of the history, and are both still the tables that were read? Only then the
catalog is refreshed. What changed with a revision is committed before the revision, so a new one
brings both; what was kept of old ones alone, by ``cachelog history fill``, is seen a look later.
"""

from itertools import cycle

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.store.failures import translated


class Follower:
    """Refreshes a catalog again and again, from one thread at a time."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        revisions, history = catalog.tables
        # New revisions are asked for every other time.
        self._questions = cycle(
            [
                revisions.has_further_commit,
                history.has_further_commit,
                revisions.has_further_commit,
                revisions.is_replaced,
                revisions.has_further_commit,
                history.is_replaced,
            ]
        )
        self._is_behind = True

    def refresh(self) -> bool:
        """Refresh the catalog, where it has changed; raises and returns as ``Catalog.refresh``.

        What was published is there after two calls at most. Where nothing is new a call is one
        request. In a folder each call is a whole refresh.
        """
        if self._catalog.storage.location.is_folder:
            return self._catalog.refresh()
        with translated(self._catalog.location):
            # Asked also when the answer is known: where the store fails, it fails soonest.
            self._is_behind = next(self._questions)() or self._is_behind
        if not self._is_behind:
            return False
        is_new = self._catalog.refresh()
        self._is_behind = self._catalog.changes.is_broken
        return is_new

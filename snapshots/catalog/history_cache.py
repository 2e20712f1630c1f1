"""Results of history queries, cached until the history changes.

If a query needs changes of neighbours that are not stored, they are computed within a time limit.
"""

import sys
import threading
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Concatenate, ParamSpec

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import HistoryQueries, fill, missing_pairs
from snapshots.catalog.library import Library, SharedCache
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.frames.suggestions import Suggestions
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.timelines import availability, catalog_packages, causes, growth, spans
from snapshots.timelines.packages import PackageTimeline

RESULT_BYTES = 32 << 20
"""The maximum size of cached results."""

FILL_SECONDS = 2.0
"""The time that a query may wait for the computation of missing changes."""

PAUSE_SECONDS = 60.0
"""The time before failed computations are tried again."""

_NOT_STORED = "this process cannot store them: the catalog is read-only to it"
_NOT_READ = "contents of some cannot be read: 'cachelog verify' names them"

_PART, _SPAN, _ENTRY, _POINT, _LINE = 500, 300, 900, 300, 20
"""The approximate sizes of the parts of a result, in bytes."""

_CALL, _ITEM = 300, 100
"""The approximate size of a call that is cached with its result, and of each of its texts."""

Arguments = ParamSpec("Arguments")


class HistoryCall(msgspec.Struct, frozen=True):
    """A call of a method of HistoryQueries, with its arguments after the history."""

    history: History
    method: str
    arguments: tuple[Hashable, ...]

    @classmethod
    def of(
        cls,
        method: Callable[Concatenate[HistoryQueries, History, Arguments], Any],
        history: History,
        *arguments: Arguments.args,
        **_none: Arguments.kwargs,
    ) -> "HistoryCall":
        """Return the call of a method with positional arguments."""
        return cls(history, method.__name__, arguments)


class HistoryResult(msgspec.Struct, frozen=True):
    """The result of a call, and its approximate size in bytes."""

    value: Any
    num_bytes: int


class HistoryCache:
    """Results of queries of the catalog's history, computed once each.

    ``max_bytes`` limits their size. When the catalog's history changes, the first query of the new
    history drops the results of the old one. If changes of neighbours are missing, a query computes
    and stores them for at most ``fill_seconds``, one query at a time. All methods are thread-safe.
    """

    def __init__(
        self,
        catalog: Catalog,
        library: Library,
        *,
        max_bytes: int = RESULT_BYTES,
        fill_seconds: float = FILL_SECONDS,
    ) -> None:
        self._catalog = catalog
        self._queries = library.history_queries
        self._max_bytes = max_bytes
        self.fill_seconds = fill_seconds
        self._lock = threading.Lock()
        self._filling = threading.Lock()
        self._paused: dict[Pair | None, float] = {}
        self._history = History()
        self._cache = self._new_cache()

    @property
    def num_bytes(self) -> int:
        """Memory used by the cached results, in bytes."""
        return self._cache.num_bytes

    def peek(self, call: HistoryCall) -> HistoryResult | None:
        """Return the result if it is cached."""
        cache = self._current(call.history)
        return None if cache is None else cache.peek(call)

    def get(self, call: HistoryCall) -> HistoryResult:
        """Return the result, computed now if it is not cached.

        Raises the errors of ``HistoryQueries``: IncompleteHistory if the time did not suffice to
        compute missing changes, or if they cannot be computed or stored.
        """
        cache = self._current(call.history)
        return self._make(call) if cache is None else cache.get(call)

    def compute(self, call: HistoryCall) -> HistoryResult:
        """Return the result without waiting for missing changes; raises IncompleteHistory."""
        if (cached := self.peek(call)) is not None:
            return cached
        value = getattr(self._queries, call.method)(call.history, *call.arguments)
        return HistoryResult(value, _size_of(value) + _size_of_texts(call.arguments))

    def is_complete(self, history: History) -> bool:
        """Return whether all changes and causes are stored; otherwise queries may be slow.

        Raises CatalogError if the tables of the history are damaged.
        """
        return not missing_pairs(self._catalog, history, causes=True)

    def _current(self, history: History) -> SharedCache[HistoryCall, HistoryResult] | None:
        """Return the cached results of a history; None if it is no longer the catalog's."""
        with self._lock:
            if history is self._history:
                return self._cache
            if history is not self._catalog.history:
                return None
            self._history = history
            self._cache = self._new_cache()
            return self._cache

    def _new_cache(self) -> SharedCache[HistoryCall, HistoryResult]:
        return SharedCache(self._make, self._max_bytes)

    def _make(self, call: HistoryCall) -> HistoryResult:
        try:
            return self.compute(call)
        except IncompleteHistory as error:
            self._fill(call.history, error.series, causes=error.causes)
        try:
            return self.compute(call)
        except IncompleteHistory as error:
            raise error.because(self._hindrance(call.history, error)) from None

    # -- computation of missing changes

    def _fill(self, history: History, series: str | None, *, causes: bool) -> None:
        """Compute and store missing changes of a series, or of all, within the time limit."""
        ends = monotonic() + self.fill_seconds
        if self._filling.acquire(timeout=self.fill_seconds):
            try:
                missing = missing_pairs(self._catalog, history, series, causes=causes)
                pairs = [pair for pair in missing if self._may_try(pair)]
                if pairs and self._may_try(None):
                    self._store(pairs, ends)
            finally:
                self._filling.release()

    def _store(self, pairs: list[Pair], ends: float) -> None:
        until = monotonic() + PAUSE_SECONDS
        try:
            filled = fill(self._catalog, pairs, ends=ends)
        except CatalogError:
            self._paused[None] = until
        else:
            self._paused |= dict.fromkeys(filled.failures, until)

    def _may_try(self, work: Pair | None) -> bool:
        """Return whether a pair may be compared now, or for None, data stored."""
        return monotonic() > self._paused.get(work, 0)

    def _hindrance(self, history: History, error: IncompleteHistory) -> str | None:
        """Return the reason why missing changes cannot be computed here; None if they can."""
        if not self._may_try(None):
            return _NOT_STORED
        missing = missing_pairs(self._catalog, history, error.series, causes=error.causes)
        return None if any(map(self._may_try, missing)) else _NOT_READ


def _size_of_texts(arguments: Hashable) -> int:
    """Return the approximate size of arguments; the length of texts is chosen by clients."""
    if isinstance(arguments, tuple | frozenset | Pair):
        return _CALL + sum(map(_size_of_texts, arguments))
    return _ITEM + sys.getsizeof(arguments)


def _size_of(value: Any) -> int:
    """Return the approximate size of a result, or of a part of it, in bytes."""
    match value:
        case spans.HashHistory():
            return _PART + _SPAN * len(value.spans)
        case PackageTimeline():
            return _PART + _ENTRY * len(value.entries)
        case catalog_packages.CatalogPackage():
            return _PART + _SPAN * len(value.in_series)
        case dict():
            return _PART + sum(map(_size_of, value.values()))
        case list() | tuple():
            return _PART + sum(map(_size_of, value))
        case growth.GrowthPoint():
            return _POINT
        case causes.SeriesCauses() | availability.PackageCells() | Suggestions():
            return value.num_bytes
    return _LINE if isinstance(value, RevisionInfo) else _PART

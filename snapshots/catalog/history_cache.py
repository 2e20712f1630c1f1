"""Results of history queries, cached until the history changes."""

from collections.abc import Callable, Hashable, Mapping, Set
from typing import Any, Concatenate, ParamSpec

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import Library, SharedCache
from snapshots.history import History

RESULT_BYTES = 32 << 20
"""The maximum size of cached results."""

_PART_BYTES = 300
"""The approximate size of a record, or of another part of a result or of a call, in bytes."""

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
    """The result of a call, and the approximate size of both in bytes."""

    value: Any
    num_bytes: int


class HistoryCache:
    """Results of queries of the catalog's history, computed once each.

    ``max_bytes`` limits their size. The first query of a newer history drops the results of the
    older one. All methods are thread-safe.
    """

    def __init__(
        self, catalog: Catalog, library: Library, *, max_bytes: int = RESULT_BYTES
    ) -> None:
        self._catalog = catalog
        self._queries = library.history_queries
        self._history = History()
        self._results = SharedCache(self._make, max_bytes)

    @property
    def num_bytes(self) -> int:
        """Memory used by the cached results, in bytes."""
        return self._results.num_bytes

    def peek(self, call: HistoryCall) -> HistoryResult | None:
        """Return the result if it is cached."""
        return self._results.peek(call)

    def get(self, call: HistoryCall) -> HistoryResult:
        """Return the result, computed now if it is not cached.

        Raises the errors of ``HistoryQueries``.
        """
        if call.history is not self._catalog.history:
            return self._make(call)
        if call.history is not self._history:
            self._results.clear()
            self._history = call.history
        return self._results.get(call)

    def _make(self, call: HistoryCall) -> HistoryResult:
        value = getattr(self._queries, call.method)(call.history, *call.arguments)
        return HistoryResult(value, _size_of(value) + _size_of(call.arguments))


def _size_of(value: Any) -> int:
    """Return the approximate size of a result or of arguments, in bytes."""
    if (num_bytes := getattr(value, "num_bytes", None)) is not None:
        return int(num_bytes)
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.astuple(value)
        value = [field for field in fields if isinstance(field, tuple | Mapping)]
    parts = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not isinstance(value, list | tuple | Set | Mapping):
        return _PART_BYTES + (len(value) if isinstance(value, str) else 0)
    return _PART_BYTES + sum(map(_size_of, parts))

"""Frames, graphs and comparisons in memory: the least recently used go, each is made once.

However many threads ask for the same thing at the same time, one makes it and the others wait.
"""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

from cachetools import LRUCache

from snapshots.catalog.catalog import Catalog
from snapshots.changes.diff import Comparison
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame

FRAME_BYTES = 1 << 30
COMPARISON_BYTES = 256 << 20

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Shelf(Generic[Key, Value]):
    """Keeps what ``make`` returns for a key, within ``max_bytes`` as ``size_of`` counts them."""

    def __init__(
        self, make: Callable[[Key], Value], size_of: Callable[[Value], int], max_bytes: int
    ) -> None:
        self._make = make
        self._kept: LRUCache[Key, Value] = LRUCache(max_bytes, size_of)
        self._making: dict[Key, Future[Value]] = {}
        self._lock = threading.Lock()

    def kept(self, key: Key) -> Value | None:
        """Return what is there already."""
        with self._lock:
            value: Value | None = self._kept.get(key)
            return value

    def get(self, key: Key) -> Value:
        """Return what is there, or make it; raises what ``make`` raises."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            future = self._making.get(key)
            if future is None:
                mine = self._making[key] = Future()
        if future is not None:
            return future.result()
        try:
            value = self._make(key)
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                del self._making[key]
            raise
        with self._lock:
            if self._kept.getsizeof(value) <= self._kept.maxsize:
                self._kept[key] = value
            del self._making[key]
        mine.set_result(value)
        return value


class Library:
    """The frames, dependency graphs and comparisons of a catalog, by digest.

    Graphs have their own ``frame_bytes``: one is about as large as its frame. All methods may be
    called from several threads.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        frame_bytes: int = FRAME_BYTES,
        comparison_bytes: int = COMPARISON_BYTES,
    ) -> None:
        self._catalog = catalog
        self._names: tuple[int, frozenset[str]] = -1, frozenset()
        self.frames: Shelf[str, Frame] = Shelf(catalog.load, lambda it: it.num_bytes, frame_bytes)
        self.dependencies: Shelf[str, DependencyGraph] = Shelf(
            self._load_dependencies, lambda it: it.num_bytes, frame_bytes
        )
        self.comparisons: Shelf[tuple[str, str], Comparison] = Shelf(
            self._compare, lambda it: it.num_bytes, comparison_bytes
        )

    def package_names(self) -> frozenset[str]:
        """Return the names of all packages in the catalog, read once for each of its states."""
        generation = self._catalog.generation
        if self._names[0] != generation:
            self._names = generation, self._catalog.package_names()
        return self._names[1]

    def _load_dependencies(self, digest: str) -> DependencyGraph:
        table = self._catalog.load_dependencies(digest)
        return DependencyGraph(table, self.frames.get(digest).hashes)

    def _compare(self, digests: tuple[str, str]) -> Comparison:
        base, head = digests
        return Comparison(self.frames.get(base), self.frames.get(head))

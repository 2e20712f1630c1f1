"""What is read and worked out of a catalog, kept in memory within bounds.

Each thing is made once: of the threads that ask for it at the same time, one makes it and the
others wait. Where memory is short, what was not used for the longest time is dropped first.
"""

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from concurrent.futures import Future
from typing import Generic, TypeVar

import pyarrow as pa
from cachetools import Cache, LRUCache

from snapshots.catalog.asking import past
from snapshots.catalog.asking.returned import EarlierContents, Returned, asked_of, find_returned
from snapshots.catalog.catalog import Catalog
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.kept_changes import PackageCounts
from snapshots.frames import matching
from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import HashSet
from snapshots.frames.matching import UnknownName, require_known, unknown_names
from snapshots.frames.pools import Pools
from snapshots.frames.shared_arrays import Shared
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.spack.names import is_name
from snapshots.timelines import packages
from snapshots.timelines.growth import Counts, GrowthPoint
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import HashHistory

FRAME_BYTES = 1 << 30
COMPARISON_BYTES = 256 << 20
RETURNED_BYTES = 16 << 20
HASH_SET_BYTES = 96 << 20
CHANGES_BYTES = 32 << 20

_ROWS_BYTES = 4 << 10
"""What rows take beside their values: a table, its columns, and a name of up to 200 characters."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SharedCache(Generic[Key, Value]):
    """Values by key, made by ``make`` when first asked for, shared by all threads.

    ``size_of`` tells how many bytes a value takes, and ``shared_by`` what it shares with others,
    which counts once. All that are kept take ``max_bytes`` or less. A value that alone takes more
    is returned, but not kept. A failure is not kept either.
    """

    def __init__(
        self,
        make: Callable[[Key], Value],
        size_of: Callable[[Value], int],
        max_bytes: int,
        shared_by: Callable[[Value], Iterable[Shared | None]] = lambda _: (),
    ) -> None:
        self._make = make
        self._shared_by = shared_by
        self._kept: LRUCache[Key, Value] = LRUCache(max_bytes, size_of)
        self._making: dict[Key, Future[Value]] = {}
        self._lock = threading.Lock()

    @property
    def num_kept(self) -> int:
        """How many values are kept."""
        return len(self._kept)

    @property
    def num_bytes(self) -> int:
        """How many bytes they take."""
        with self._lock:
            return self._counted()

    def _counted(self) -> int:
        # As a cache of no kind has them: to look at them is not to use them.
        values = (Cache.__getitem__(self._kept, key) for key in self._kept)
        shared = {it for value in values for it in self._shared_by(value)}
        return int(self._kept.currsize) + sum(it.num_bytes for it in shared if it is not None)

    def kept(self, key: Key) -> Value | None:
        """Return the value if it is in memory; None where it would have to be made."""
        with self._lock:
            value: Value | None = self._kept.get(key)
            return value

    def get(self, key: Key) -> Value:
        """Return the value, made now if it is not in memory; raises what ``make`` raises."""
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
            with self._lock:
                self._keep(key, value)
                del self._making[key]
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                self._making.pop(key, None)
            raise
        mine.set_result(value)
        return value

    def _keep(self, key: Key, value: Value) -> None:
        if self._kept.getsizeof(value) <= self._kept.maxsize:
            self._kept[key] = value
            # What is shared grows with each that shares it.
            while self._counted() > self._kept.maxsize:
                self._kept.popitem()


class Library:
    """The frames, dependency graphs and comparisons of a catalog's contents, by digest.

    ``frame_bytes`` bounds the frames and, once more, the graphs: one is about as large as its
    frame. ``comparison_bytes`` bounds the comparisons and, once more, their explanations. All
    methods may be called from several threads, and raise CatalogError where a content cannot be
    read.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        frame_bytes: int = FRAME_BYTES,
        comparison_bytes: int = COMPARISON_BYTES,
    ) -> None:
        self._catalog = catalog
        self._pools = Pools()
        self._names: tuple[int, frozenset[str]] = -1, frozenset()
        self.frames: SharedCache[str, Frame] = SharedCache(
            self._load, lambda it: it.num_bytes, frame_bytes, lambda it: (it.shared,)
        )
        self.dependencies: SharedCache[str, DependencyGraph] = SharedCache(
            self._load_dependencies, lambda it: it.num_bytes, frame_bytes
        )
        self.comparisons: SharedCache[tuple[str, str], Comparison] = SharedCache(
            self._make_comparison,
            lambda it: it.num_bytes,
            comparison_bytes,
            lambda it: (it.base.shared, it.head.shared),
        )
        self.explanations: SharedCache[tuple[str, str], Explanation] = SharedCache(
            self._make_explanation,
            lambda it: it.num_bytes,
            comparison_bytes,
            lambda it: (it.base.frame.shared, it.head.frame.shared),
        )
        self.hash_sets: SharedCache[str, HashSet] = SharedCache(
            catalog.load_hash_set, lambda it: it.num_bytes, HASH_SET_BYTES
        )
        self.returned: SharedCache[EarlierContents, Returned] = SharedCache(
            self._find_returned, lambda it: it.num_bytes, RETURNED_BYTES
        )
        self.package_changes: SharedCache[tuple[int, str], pa.Table] = SharedCache(
            self._read_package_changes, lambda it: it.nbytes + _ROWS_BYTES, CHANGES_BYTES
        )

    def find(self, digest: str, query: str) -> Mask:
        """Return a mask over the rows of a content's frame: those that a query matches.

        Raises as ``snapshots.frames.matching`` does for a query that cannot be answered, and as
        ``require_known`` does for the name of a spec that nothing has.
        """
        constraint = matching.read(query)
        frame = self.frames.get(digest)

        def graph() -> DependencyGraph:
            return self.dependencies.get(digest)

        found = matching.select(frame, constraint, graph)
        if not found.any():
            require_known(constraint, frame, graph, self.package_names)
        return found

    def unknown_names(self, digest: str, query: str) -> tuple[UnknownName, ...]:
        """Return the names in a query that neither a content nor the newest of any tag knows."""
        frame = self.frames.get(digest)

        def graph() -> DependencyGraph:
            return self.dependencies.get(digest)

        return unknown_names(matching.read(query), frame, graph, self.package_names)

    def compare(self, base: str, head: str) -> Comparison:
        """Return what changed from one content to the other."""
        return self.comparisons.get((base, head))

    def explain(self, base: str, head: str) -> Explanation:
        """Return why what changed from one content to the other did so."""
        return self.explanations.get((base, head))

    def find_returned(self, history: History, base: RevisionInfo, head: RevisionInfo) -> Mask:
        """Return a mask over the rows of head: those that an earlier revision of its series had.

        Only rows count that base has not, and that took no spec's place: ``reasons`` takes the
        mask. Where changes of the series are missing this can take reading earlier contents, a
        second or two where they are hundreds; ``returned`` keeps the answer.
        """
        return self.returned.get(self.earlier_contents(history, base, head)).mask

    def earlier_contents(
        self, history: History, base: RevisionInfo, head: RevisionInfo
    ) -> EarlierContents:
        """Return the key that ``returned`` keeps an answer by; another one where more is known."""
        return asked_of(self._catalog, history, base, head)

    # -- the past: each raises IncompleteHistory where changes are missing

    def hash_history(self, history: History, text: str) -> HashHistory | None:
        """Return when and where the hash that begins so was there; None where it never was.

        Raises InvalidArgument for a text that begins no hash, and AmbiguousHash.
        """
        return past.hash_history(self._catalog, history, text)

    def hash_histories(self, history: History, hashes: Mapping[str, str]) -> dict[str, HashHistory]:
        """Return the same of many hashes whose packages are known; without those never there."""
        return past.hash_histories(self._catalog, history, hashes)

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return what became of a package in a series; None where it was never in it.

        What can be no package, or is asked of no series, is never looked up, and so never kept.
        """
        if not is_name(name) or not history.of_series(series):
            return None
        past.require_complete(self._catalog, history, series)
        rows = self.package_changes.get((self._catalog.changes.state, name))
        return packages.package_timeline(rows, name, series, history)

    def package_timelines(
        self, history: History, series: str, names: Collection[str]
    ) -> dict[str, PackageTimeline]:
        """Return the same of many packages, without those never there: all are read at once."""
        return past.package_timelines(self._catalog, history, series, names)

    def growth(self, history: History, series: str) -> list[GrowthPoint]:
        """Return what came and went with each revision of a series, oldest first."""
        return past.growth_of(self._catalog, history, series)

    def package_counts(self, pairs: Iterable[Pair]) -> dict[Pair, tuple[PackageCounts, ...]]:
        """Return what became of each package in pairs of neighbours; without those not kept."""
        return past.package_counts(self._catalog, pairs)

    def kept_stories(self, told: Iterable[Neighbours]) -> dict[Pair, str]:
        """Return the stories of neighbours that the catalog keeps: no content is read for them."""
        return past.kept_stories(self._catalog, told)

    def count_returned(
        self, history: History, series: str, pairs: Iterable[Pair]
    ) -> dict[RevisionInfo, Counts]:
        """Return how many specs returned with the revisions that pairs of a series lead to."""
        return past.count_returned(self._catalog, history, series, pairs)

    def holding(
        self, history: History, hashes: Iterable[str], series: str | None = None
    ) -> list[RevisionInfo]:
        """Return the revisions that have all of the hashes, newest first."""
        return past.holding(self._catalog, history, hashes, series)

    def package_names(self) -> frozenset[str]:
        """Return the names of all packages in the catalog, read once for each of its states."""
        generation = self._catalog.generation
        if self._names[0] != generation:
            self._names = generation, self._catalog.package_names()
        return self._names[1]

    def _read_package_changes(self, asked: tuple[int, str]) -> pa.Table:
        return self._catalog.changes.changes_of([asked[1]])

    def _load(self, digest: str) -> Frame:
        return self._pools.share(self._catalog.load(digest))

    def _load_dependencies(self, digest: str) -> DependencyGraph:
        table = self._catalog.load_dependencies(digest)
        return DependencyGraph(table, self.frames.get(digest).hashes)

    def _make_comparison(self, digests: tuple[str, str]) -> Comparison:
        base, head = digests
        return Comparison(self.frames.get(base), self.frames.get(head))

    def _make_explanation(self, digests: tuple[str, str]) -> Explanation:
        base, head = map(self.dependencies.get, digests)
        return explain(self.comparisons.get(digests), base, head)

    def _find_returned(self, asked: EarlierContents) -> Returned:
        return find_returned(self._catalog, self.explain(asked.base, asked.head), asked)

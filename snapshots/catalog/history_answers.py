"""Answers to history queries about hashes, packages and series, cached until the history changes.

If an answer needs changes of neighbours that are not stored, as in older catalogs, they are
computed within a time limit.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from itertools import chain
from time import monotonic
from typing import Any

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import fill, left_out, missing_pairs
from snapshots.catalog.library import Library, SharedCache
from snapshots.errors import CatalogError, IncompleteHistory, RevisionsLeftOut
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.timelines import availability, catalog_packages, causes, growth, spans
from snapshots.timelines.packages import PackageTimeline

ANSWER_BYTES = 32 << 20
"""The maximum size of cached answers."""

FILL_SECONDS = 2.0
"""The time that an answer may wait for the computation of missing changes."""

PAUSE_SECONDS = 60.0
"""The time before failed computations are tried again."""

_NOT_STORED = "this process cannot store them: the catalog is read-only to it"
_NOT_READ = "contents of some cannot be read: 'cachelog verify' names them"


_PART, _SPAN, _ENTRY, _POINT, _LINE = 500, 300, 900, 300, 20
"""The approximate sizes of the parts of an answer, in bytes."""

_QUERY, _ITEM = 300, 100
"""The approximate size of a query that is cached with its answer, and of each of its texts."""


class About(Enum):
    """The subject of a history query, and the type of its answer."""

    HASH = "hash"
    """The hash or hash prefix ``text``: HashHistory, or None."""
    HASHES = "hashes"
    """``items``, pairs of a hash and the name of its package: HashHistory by hash."""
    CONTENT = "content"
    """The packages ``items`` of the content ``text``: HashHistory by package and hash."""
    PACKAGE = "package"
    """The package ``text`` in a series: PackageTimeline, or None."""
    PACKAGES = "packages"
    """The packages ``items`` in a series: PackageTimeline by name, of those that it ever had."""
    CATALOG_PACKAGE = "catalog package"
    """The package ``text`` in all series: its CatalogPackage, or None."""
    ALL_PACKAGES = "all packages"
    """All packages of all series: CatalogPackage by name, sorted by name."""
    GROWTH = "growth"
    """A series: its GrowthPoints, oldest first."""
    CAUSES = "causes"
    """A series: its SeriesCauses."""
    PACKAGE_CAUSES = "package causes"
    """``items``, pairs of a package and a pair of neighbours, of one series or of any.

    By item, the StoredCauses, each with the number of the package's specs whose main cause it is.
    """
    CELLS = "cells"
    """The package ``text`` in all series: its PackageCells."""
    HOLDING = "holding"
    """The hashes ``items``, in a series or in all: the revisions with all of them, newest first."""


class HistoryTopic(msgspec.Struct, frozen=True):
    """A history query; ``about`` determines the meaning of the other fields."""

    about: About
    text: str = ""
    items: frozenset[Any] = frozenset()
    series: str | None = None

    @property
    def num_bytes(self) -> int:
        """Approximate size in bytes; the length of texts is chosen by clients."""
        texts = [self.text, self.series or ""]
        for item in self.items:
            texts += [item] if isinstance(item, str) else item
        return _QUERY + sum(_ITEM + sys.getsizeof(text) for text in texts)

    @property
    def needs(self) -> str | None:
        """The series whose changes are needed; None for all."""
        return None if self.about is About.HOLDING else self.series

    @property
    def needs_causes(self) -> bool:
        """Whether the causes of those changes are needed too."""
        of_packages = About.PACKAGE_CAUSES, About.CELLS
        return self.about in (About.CAUSES, *of_packages)


class HistoryQuery(msgspec.Struct, frozen=True):
    """A query of the history in one state, so that equal queries have equal answers."""

    history: History
    topic: HistoryTopic


class HistoryAnswer(msgspec.Struct, frozen=True):
    """An answer of the history, and its approximate size in bytes.

    ``left_out`` lists the revisions that it omits because their contents cannot be read.
    """

    value: Any
    num_bytes: int
    left_out: RevisionsLeftOut | None = None


def _of_content(
    library: Library, history: History, topic: HistoryTopic
) -> dict[str, dict[str, spans.HashHistory]]:
    frame = library.frames.get(topic.text)
    rows = range(len(frame))
    hashes = {
        name: [frame.hashes.at(row) for row in rows[frame.rows_of(name) or slice(0)]]
        for name in topic.items
    }
    packages = {text: name for name, texts in hashes.items() for text in texts}
    histories = library.history_queries.hash_histories(history, packages)
    return {
        name: {text: histories[text] for text in texts if text in histories}
        for name, texts in hashes.items()
    }


def _answer(library: Library, history: History, topic: HistoryTopic) -> Any:
    queries, text, items = library.history_queries, topic.text, topic.items
    series = topic.series or ""
    answers: dict[About, Callable[[], Any]] = {
        About.HASH: lambda: queries.hash_history(history, text),
        About.HASHES: lambda: queries.hash_histories(history, dict(items)),
        About.CONTENT: lambda: _of_content(library, history, topic),
        About.PACKAGE: lambda: queries.package_timeline(history, series, text),
        About.PACKAGES: lambda: queries.package_timelines(history, series, items),
        About.CATALOG_PACKAGE: lambda: queries.catalog_package(history, text),
        About.ALL_PACKAGES: lambda: queries.all_packages(history),
        About.GROWTH: lambda: queries.growth(history, series),
        About.CAUSES: lambda: queries.causes(history, series),
        About.PACKAGE_CAUSES: lambda: queries.package_causes(history, topic.series, items),
        About.CELLS: lambda: queries.cells(history, text),
        About.HOLDING: lambda: queries.holding(history, sorted(items), topic.series),
    }
    return answers[topic.about]()


def _size_of(value: Any) -> int:
    """Return the approximate size of an answer, or of a part of it, in bytes."""
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
        case causes.SeriesCauses() | availability.PackageCells():
            return value.num_bytes
    return _LINE if isinstance(value, RevisionInfo) else _PART


class HistoryAnswers:
    """Answers to queries of the catalog's history, computed once each and cached in memory.

    ``max_bytes`` limits their size. When the catalog's history changes, the first query of the new
    history drops the answers of the old one. If changes of neighbours are missing, a query computes
    and stores them for at most ``fill_seconds``, one query at a time. All methods are thread-safe.
    """

    def __init__(
        self,
        catalog: Catalog,
        library: Library,
        *,
        max_bytes: int = ANSWER_BYTES,
        fill_seconds: float = FILL_SECONDS,
    ) -> None:
        self._catalog = catalog
        self._library = library
        self._max_bytes = max_bytes
        self._fill_seconds = fill_seconds
        self._lock = threading.Lock()
        self._filling = threading.Lock()
        self._paused: dict[Pair | None, float] = {}
        self._unreadable: dict[str, float] = {}
        self._history = History()
        self._cache = self._cache_of(self._history)

    @property
    def num_bytes(self) -> int:
        """Memory used by the cached answers, in bytes."""
        return self._cache.num_bytes

    def peek(self, query: HistoryQuery) -> HistoryAnswer | None:
        """Return the answer if it is cached."""
        cache = self._current(query.history)
        return None if cache is None else cache.peek(query.topic)

    def get(self, query: HistoryQuery) -> HistoryAnswer:
        """Return the answer, computed now if it is not cached.

        Raises the errors of ``HistoryQueries``: IncompleteHistory if the time did not suffice to
        compute missing changes, or if they cannot be stored. An answer that omits unreadable
        contents lists them, and is not cached.
        """
        cache = self._current(query.history)
        if cache is None:
            return self._make(query.history, query.topic)
        return cache.get(query.topic)

    def is_complete(self, query: HistoryQuery) -> bool:
        """Return whether all changes that the answer needs are stored; otherwise it is slow.

        Raises CatalogError if the tables of the history are damaged.
        """
        return not self._missing(query.history, query.topic)

    def require_complete(self, query: HistoryQuery) -> None:
        """Raise IncompleteHistory if changes that the answer needs are missing."""
        if missing := self._missing(query.history, query.topic):
            num_pairs = len(query.history.pairs_of(query.topic.needs))
            raise IncompleteHistory(len(missing), num_pairs, self._obstacle(missing))

    def _current(self, history: History) -> "SharedCache[HistoryTopic, HistoryAnswer] | None":
        """Return the cached answers of a history; None if it is no longer the catalog's."""
        with self._lock:
            if history is self._history:
                return self._cache
            if history is not self._catalog.history:
                return None
            self._history = history
            self._cache = self._cache_of(history)
            return self._cache

    def _cache_of(self, history: History) -> "SharedCache[HistoryTopic, HistoryAnswer]":
        return SharedCache(partial(self._make, history), self._max_bytes)

    def _make(self, history: History, topic: HistoryTopic) -> HistoryAnswer:
        try:
            value = _answer(self._library, history, topic)
        except IncompleteHistory:
            unreadable = self._complete(history, topic)
            readable = history.without(unreadable) if unreadable else history
            self.require_complete(HistoryQuery(readable, topic))
            value = _answer(self._library, readable, topic)
            if unreadable:
                # Larger than the cache, so not cached: the contents may be repaired at any time.
                omitted = left_out(history, unreadable, topic.needs)
                return HistoryAnswer(value, self._max_bytes + 1, omitted)
        return HistoryAnswer(value, _size_of(value) + topic.num_bytes)

    # -- computation of missing changes

    def _missing(self, history: History, topic: HistoryTopic) -> list[Pair]:
        """Return the pairs whose changes, or causes, a query needs and that are not stored."""
        return missing_pairs(self._catalog, history, topic.needs, causes=topic.needs_causes)

    def _complete(self, history: History, topic: HistoryTopic) -> frozenset[str]:
        """Compute missing changes within the time limit.

        Returns the unreadable contents without which the rest is complete; none if nothing would
        remain.
        """
        ends = monotonic() + self._fill_seconds
        unreadable: frozenset[str] = frozenset()
        readable = history
        while self._missing(readable, topic):
            self._fill(readable, topic, ends)
            missing = self._missing(readable, topic)
            failed = {
                digest for digest in chain.from_iterable(missing) if not self._may_read(digest)
            }
            if not failed:
                break
            unreadable |= failed
            readable = history.without(unreadable)
        series = topic.needs
        has_any = readable.revisions if series is None else readable.of_series(series)
        return unreadable if has_any else frozenset()

    def _fill(self, history: History, topic: HistoryTopic, ends: float) -> None:
        """Compute and store missing changes of a query until the moment ``ends``."""
        if not self._filling.acquire(timeout=max(0.0, ends - monotonic())):
            return
        try:
            pairs = [pair for pair in self._missing(history, topic) if self._may_try(pair)]
            if pairs and self._may_try(None):
                self._make_pairs(pairs, ends)
        finally:
            self._filling.release()

    def _make_pairs(self, pairs: Sequence[Pair], ends: float) -> None:
        try:
            filled = fill(self._catalog, pairs, ends=ends)
        except CatalogError:
            self._paused[None] = monotonic() + PAUSE_SECONDS
            return
        until = monotonic() + PAUSE_SECONDS
        self._paused |= dict.fromkeys(filled.failures, until)
        self._unreadable |= dict.fromkeys(filled.unreadable, until)

    def _may_try(self, pair: Pair | None) -> bool:
        """Return whether a pair may be computed now; for None, whether anything can be stored."""
        return monotonic() > self._paused.get(pair, 0)

    def _may_read(self, digest: str) -> bool:
        """Return whether a content has not recently failed to be read."""
        return monotonic() > self._unreadable.get(digest, 0)

    def _obstacle(self, missing: Sequence[Pair]) -> str | None:
        """Return the reason why missing changes cannot be computed here; None if they can."""
        if not self._may_try(None):
            return _NOT_STORED
        return None if any(map(self._may_try, missing)) else _NOT_READ

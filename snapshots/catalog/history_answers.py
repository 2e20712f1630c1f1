"""Answers about the history of hashes, packages and series, kept as long as the history stands.

What they need of the changes between neighbours is made on the way where it is missing, for a
bounded time: an older catalog has none of them.
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
from snapshots.catalog.library import Library, SharedCache
from snapshots.catalog.past import fill, left_out, missing_pairs
from snapshots.errors import CatalogError, IncompleteHistory, RevisionsLeftOut
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.timelines.availability import PackageCells
from snapshots.timelines.catalog_packages import CatalogPackage
from snapshots.timelines.causes import SeriesCauses
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import HashHistory

ANSWER_BYTES = 32 << 20
"""How many bytes of answers are kept."""

FILL_SECONDS = 2.0
"""How long an answer is held up by making what is missing."""

PAUSE_SECONDS = 60.0
"""How long what could not be made or kept is not tried again."""

_NOT_KEPT = "this process cannot keep them: it may not write to the catalog"
_NOT_READ = "contents of some cannot be read: 'cachelog verify' names them"


_PART, _SPAN, _ENTRY, _POINT, _LINE = 500, 300, 900, 300, 20
"""About how many bytes the parts of an answer take."""

_QUESTION, _ITEM = 300, 100
"""About how many bytes a question takes that is kept with its answer, and each of its texts."""


class About(Enum):
    """What a question to the history is about, and what its answer is."""

    HASH = "hash"
    """The hash ``text``, or a prefix of one: HashHistory, or None."""
    HASHES = "hashes"
    """``items``, hashes with the names of their packages: the HashHistory of each, by hash."""
    CONTENT = "content"
    """Packages ``items`` in the content ``text``: HashHistory by package and hash."""
    PACKAGE = "package"
    """The package ``text`` in a series: PackageTimeline, or None."""
    PACKAGES = "packages"
    """Packages ``items`` in a series: the PackageTimeline of each that was ever there, by name."""
    CATALOG_PACKAGE = "catalog package"
    """The package ``text`` in all series: its CatalogPackage, or None."""
    ALL_PACKAGES = "all packages"
    """Every package of any series: its CatalogPackage, by name, names in order."""
    GROWTH = "growth"
    """A series: its GrowthPoints, oldest first."""
    CAUSES = "causes"
    """A series: its SeriesCauses."""
    COSTED_CAUSES = "costed causes"
    """A series: its SeriesCauses, of which what building takes can be told."""
    PACKAGE_CAUSES = "package causes"
    """``items``, names of packages with pairs, of a series or of any: by both the KeptCauses, each
    with of how many specs of the package it is the main cause."""
    CELLS = "cells"
    """The package ``text`` in all series: its PackageCells."""
    HOLDING = "holding"
    """Hashes ``items``, in a series or in all: the revisions that hold them, newest first."""


class HistoryTopic(msgspec.Struct, frozen=True):
    """A question to the history; ``about`` says what the other fields hold."""

    about: About
    text: str = ""
    items: frozenset[Any] = frozenset()
    series: str | None = None

    @property
    def num_bytes(self) -> int:
        """About how many bytes the question takes: clients write its texts."""
        texts = [self.text, self.series or ""]
        for item in self.items:
            texts += [item] if isinstance(item, str) else item
        return _QUESTION + sum(_ITEM + sys.getsizeof(text) for text in texts)

    @property
    def needs(self) -> str | None:
        """The series whose changes must be there; None for all."""
        return None if self.about is About.HOLDING else self.series

    @property
    def needs_causes(self) -> bool:
        """Whether the causes of those changes must be there, too."""
        of_packages = About.PACKAGE_CAUSES, About.CELLS
        return self.about in (About.CAUSES, About.COSTED_CAUSES, *of_packages)


class HistoryQuestion(msgspec.Struct, frozen=True):
    """A question to the history of one moment, so that equal questions have equal answers."""

    history: History
    topic: HistoryTopic


class HistoryAnswer(msgspec.Struct, frozen=True):
    """What the history says, and about how many bytes it takes.

    ``left_out`` says which revisions it is answered without, where contents cannot be read.
    """

    value: Any
    num_bytes: int
    left_out: RevisionsLeftOut | None = None


def _of_content(
    library: Library, history: History, question: HistoryTopic
) -> dict[str, dict[str, HashHistory]]:
    frame = library.frames.get(question.text)
    rows = range(len(frame))
    hashes = {
        name: [frame.hashes.at(row) for row in rows[frame.rows_of(name) or slice(0)]]
        for name in question.items
    }
    packages = {text: name for name, texts in hashes.items() for text in texts}
    histories = library.past.hash_histories(history, packages)
    return {
        name: {text: histories[text] for text in texts if text in histories}
        for name, texts in hashes.items()
    }


_ANSWERS: dict[About, Callable[[Library, History, HistoryTopic], Any]] = {
    About.HASH: lambda of, history, topic: of.past.hash_history(history, topic.text),
    About.HASHES: lambda of, history, topic: of.past.hash_histories(history, dict(topic.items)),
    About.CONTENT: _of_content,
    About.PACKAGE: lambda of, history, topic: of.past.package_timeline(
        history, topic.series or "", topic.text
    ),
    About.PACKAGES: lambda of, history, topic: of.past.package_timelines(
        history, topic.series or "", topic.items
    ),
    About.CATALOG_PACKAGE: lambda of, history, topic: of.past.catalog_package(history, topic.text),
    About.ALL_PACKAGES: lambda of, history, _: of.past.all_packages(history),
    About.GROWTH: lambda of, history, topic: of.past.growth(history, topic.series or ""),
    About.CAUSES: lambda of, history, topic: of.past.causes(history, topic.series or ""),
    About.COSTED_CAUSES: lambda of, history, topic: of.past.causes(
        history, topic.series or "", by_package=True
    ),
    About.PACKAGE_CAUSES: lambda of, history, topic: of.past.package_causes(
        history, topic.series, topic.items
    ),
    About.CELLS: lambda of, history, topic: of.past.cells(history, topic.text),
    About.HOLDING: lambda of, history, topic: of.past.holding(
        history, sorted(topic.items), topic.series
    ),
}


def _size_of(value: Any) -> int:
    """Return about how many bytes an answer takes, or a part of it."""
    match value:
        case HashHistory():
            return _PART + _SPAN * len(value.spans)
        case PackageTimeline():
            return _PART + _ENTRY * len(value.entries)
        case CatalogPackage():
            return _PART + _SPAN * len(value.in_series)
        case dict():
            return _PART + sum(map(_size_of, value.values()))
        case list() | tuple():
            return _PART + sum(map(_size_of, value))
        case GrowthPoint():
            return _POINT
        case SeriesCauses() | PackageCells():
            return value.num_bytes
    return _LINE if isinstance(value, RevisionInfo) else _PART


class HistoryAnswers:
    """Answers to questions about the catalog's history, made once each and kept in memory.

    ``max_bytes`` bounds them. Those of a history that is no longer the catalog's are dropped with
    the first question to the next one. Where changes of neighbours are missing, a question makes
    them for ``fill_seconds`` at most, one question at a time, and what was made is kept. All
    methods may be called from several threads.
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
        """How many bytes of answers are kept."""
        return self._cache.num_bytes

    def kept(self, question: HistoryQuestion) -> HistoryAnswer | None:
        """Return the answer if it is in memory."""
        cache = self._current(question.history)
        return None if cache is None else cache.kept(question.topic)

    def get(self, question: HistoryQuestion) -> HistoryAnswer:
        """Return the answer, made now if it is not in memory.

        Raises what the methods of Past do: IncompleteHistory where the time was too short to
        make what is missing, or where it cannot be kept. An answer that is told without contents
        that cannot be read says so, and is not kept.
        """
        cache = self._current(question.history)
        if cache is None:
            return self._make(question.history, question.topic)
        return cache.get(question.topic)

    def is_whole(self, question: HistoryQuestion) -> bool:
        """Tell whether all that the answer needs is there; else it takes long.

        Raises CatalogError where the tables of changes are damaged.
        """
        return not self._missing(question.history, question.topic)

    def require_whole(self, question: HistoryQuestion) -> None:
        """Raise IncompleteHistory where something that the answer needs is missing."""
        if missing := self._missing(question.history, question.topic):
            num_pairs = len(question.history.pairs_of(question.topic.needs))
            raise IncompleteHistory(len(missing), num_pairs, self._hindrance(missing))

    def _current(self, history: History) -> "SharedCache[HistoryTopic, HistoryAnswer] | None":
        """Return the answers that a history has; None where it is no longer the catalog's."""
        with self._lock:
            if history is self._history:
                return self._cache
            if history is not self._catalog.history:
                return None
            self._history = history
            self._cache = self._cache_of(history)
            return self._cache

    def _cache_of(self, history: History) -> "SharedCache[HistoryTopic, HistoryAnswer]":
        make: Callable[[HistoryTopic], HistoryAnswer] = partial(self._make, history)
        return SharedCache(make, self._max_bytes)

    def _make(self, history: History, question: HistoryTopic) -> HistoryAnswer:
        answer = partial(_ANSWERS[question.about], self._library)
        try:
            value = answer(history, question)
        except IncompleteHistory:
            unreadable = self._complete(history, question)
            readable = history.without(unreadable) if unreadable else history
            self.require_whole(HistoryQuestion(readable, question))
            value = answer(readable, question)
            if unreadable:
                # Larger than what is kept: the contents may be mended at any time.
                left = left_out(history, unreadable, question.needs)
                return HistoryAnswer(value, self._max_bytes + 1, left)
        return HistoryAnswer(value, _size_of(value) + question.num_bytes)

    # -- making what is missing

    def _missing(self, history: History, question: HistoryTopic) -> list[Pair]:
        """Return the pairs of which what a question needs is not kept."""
        return missing_pairs(self._catalog, history, question.needs, causes=question.needs_causes)

    def _complete(self, history: History, question: HistoryTopic) -> frozenset[str]:
        """Make what is missing as far as the time goes.

        Returns contents that cannot be read, and without which the rest can be told: none where
        nothing would be left.
        """
        ends = monotonic() + self._fill_seconds
        unreadable: frozenset[str] = frozenset()
        readable = history
        while self._missing(readable, question):
            self._fill(readable, question, ends)
            missing = self._missing(readable, question)
            failed = {
                digest for digest in chain.from_iterable(missing) if not self._may_read(digest)
            }
            if not failed:
                break
            unreadable |= failed
            readable = history.without(unreadable)
        series = question.needs
        has_any = readable.revisions if series is None else readable.of_series(series)
        return unreadable if has_any else frozenset()

    def _fill(self, history: History, question: HistoryTopic, ends: float) -> None:
        """Make what is missing for a question until a moment, and keep it."""
        if not self._filling.acquire(timeout=max(0.0, ends - monotonic())):
            return
        try:
            pairs = [pair for pair in self._missing(history, question) if self._may_try(pair)]
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
        """Tell whether a pair may be made now; with None whether anything can be kept."""
        return monotonic() > self._paused.get(pair, 0)

    def _may_read(self, digest: str) -> bool:
        """Tell whether a content is not one that could not be read a while ago."""
        return monotonic() > self._unreadable.get(digest, 0)

    def _hindrance(self, missing: Sequence[Pair]) -> str | None:
        """Return what keeps missing changes from being made here; None where nothing does."""
        if not self._may_try(None):
            return _NOT_KEPT
        return None if any(map(self._may_try, missing)) else _NOT_READ

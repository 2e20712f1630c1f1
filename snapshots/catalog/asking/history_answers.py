"""Answers about the history of hashes, packages and series, kept as long as the history stands.

What they need of the changes between neighbours is made on the way where it is missing, for a
bounded time: an older catalog has none of them.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from time import monotonic

from snapshots.catalog.asking.history_questions import Answer, Asked
from snapshots.catalog.asking.library import Library, SharedCache
from snapshots.catalog.asking.past import left_out, missing_pairs, pairs_of
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs.making import PairMaker, in_chains, keep_all
from snapshots.changes.kept_changes import KeptChanges
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.history import History, Pair
from snapshots.notes.atom.kept_stories import told_in_any

ANSWER_BYTES = 32 << 20
"""How many bytes of answers are kept."""

FILL_SECONDS = 2.0
"""How long an answer is held up by making what is missing."""

PAUSE_SECONDS = 60.0
"""How long what could not be made or kept is not tried again."""

_NOT_KEPT = "this process cannot keep them: it may not write to the catalog"
_NOT_READ = "contents of some cannot be read: 'cachelog verify' names them"


@dataclass(frozen=True)
class HistoryQuestion:
    """What is asked of a history: that of one moment, so that equal questions agree."""

    history: History
    asked: Asked


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

    def kept(self, question: HistoryQuestion) -> Answer | None:
        """Return the answer if it is in memory."""
        cache = self._current(question.history)
        return None if cache is None else cache.kept(question.asked)

    def get(self, question: HistoryQuestion) -> Answer:
        """Return the answer, made now if it is not in memory.

        Raises what the methods of Library do: IncompleteHistory where the time was too short to
        make what is missing, or where it cannot be kept. An answer that is told without contents
        that cannot be read says so, and is not kept.
        """
        cache = self._current(question.history)
        if cache is None:
            return self._make(question.history, question.asked)
        return cache.get(question.asked)

    def is_whole(self, question: HistoryQuestion) -> bool:
        """Tell whether all that the answer needs is there; else it takes long.

        Raises CatalogError where the tables of changes are damaged.
        """
        return not missing_pairs(self._catalog, question.history, question.asked.needs)

    def require_whole(self, question: HistoryQuestion) -> None:
        """Raise IncompleteHistory where something that the answer needs is missing."""
        history, needed = question.history, question.asked.needs
        if missing := missing_pairs(self._catalog, history, needed):
            num_pairs = len(pairs_of(history, needed))
            raise IncompleteHistory(len(missing), num_pairs, self._hindrance(missing))

    def _current(self, history: History) -> "SharedCache[Asked, Answer] | None":
        """Return the answers that a history has; None where it is no longer the catalog's."""
        with self._lock:
            if history is self._history:
                return self._cache
            if history is not self._catalog.history:
                return None
            self._history = history
            self._cache = self._cache_of(history)
            return self._cache

    def _cache_of(self, history: History) -> "SharedCache[Asked, Answer]":
        make: Callable[[Asked], Answer] = partial(self._make, history)
        return SharedCache(make, lambda it: it.num_bytes, self._max_bytes)

    def _make(self, history: History, asked: Asked) -> Answer:
        try:
            made = asked.answer(self._library, history)
        except IncompleteHistory:
            unreadable = self._complete(history, asked.needs)
            told = history.without(unreadable) if unreadable else history
            self.require_whole(HistoryQuestion(told, asked))
            made = asked.answer(self._library, told)
            if unreadable:
                # Larger than what is kept: the contents may be mended at any time.
                said = left_out(history, unreadable, asked.needs)
                return Answer(made.value, self._max_bytes + 1, said)
        return made._replace(num_bytes=made.num_bytes + asked.num_bytes)

    # -- making what is missing

    def _complete(self, history: History, series: str | None) -> frozenset[str]:
        """Make what is missing as far as the time goes.

        Returns contents that cannot be read, and without which the rest can be told: none where
        nothing would be left.
        """
        ends = monotonic() + self._fill_seconds
        unreadable: frozenset[str] = frozenset()
        told = history
        while missing_pairs(self._catalog, told, series):
            self._fill(told, series, ends)
            missing = missing_pairs(self._catalog, told, series)
            found = {it for it in chain.from_iterable(missing) if not self._may_read(it)}
            if not found:
                break
            unreadable |= found
            told = history.without(unreadable)
        has_any = told.revisions if series is None else told.of_series(series)
        return unreadable if has_any else frozenset()

    def _fill(self, history: History, series: str | None, ends: float) -> None:
        """Make what is missing of a series, or of all, until a moment, and keep it."""
        if not self._filling.acquire(timeout=max(0.0, ends - monotonic())):
            return
        try:
            pairs = [
                it for it in missing_pairs(self._catalog, history, series) if self._may_try(it)
            ]
            if pairs and self._may_try(None):
                self._make_pairs(pairs, ends)
        finally:
            self._filling.release()

    def _make_pairs(self, pairs: Sequence[Pair], ends: float) -> None:
        maker = PairMaker(self._catalog.load_side, told=told_in_any(self._catalog.history))

        def in_time() -> Iterator[KeptChanges]:
            for made in maker.make(chain.from_iterable(in_chains(pairs))):
                yield made
                if monotonic() > ends:
                    return

        try:
            keep_all(in_time(), self._catalog.keep)
        except CatalogError:
            self._paused[None] = monotonic() + PAUSE_SECONDS
        until = monotonic() + PAUSE_SECONDS
        self._paused |= dict.fromkeys(maker.unmade.failures, until)
        self._unreadable |= dict.fromkeys(maker.unmade.unreadable, until)

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

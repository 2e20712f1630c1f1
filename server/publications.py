"""Published revisions, and their delivery to subscribers."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Self

from server.asgi.errors import overloaded
from snapshots.history import History
from snapshots.models import RevisionInfo

MAX_WAITING = 1_000
"""Maximum number of revisions that wait for one subscriber."""


class Subscriber(AsyncIterator[RevisionInfo]):
    """The published revisions that one client follows, each once.

    The iteration ends when no more revisions will follow. It also ends when more than MAX_WAITING
    are waiting: then ``fell_behind`` is true.
    """

    def __init__(self) -> None:
        self.fell_behind = False
        self._is_wanted: Callable[[RevisionInfo], bool] | None = None
        self._waiting: deque[RevisionInfo] = deque()
        self._news = asyncio.Event()
        self.ended = asyncio.Event()
        """Set when the iteration has ended."""

        self._room = MAX_WAITING

    def follow(self, is_wanted: Callable[[RevisionInfo], bool]) -> Self:
        """From now on, accept only revisions that satisfy a condition."""
        self._is_wanted = is_wanted
        return self

    def offer(self, published: Iterable[RevisionInfo]) -> None:
        """Queue the published revisions that the subscriber follows."""
        if self._is_wanted is None or self.ended.is_set():
            return
        self._waiting.extend(filter(self._is_wanted, published))
        if len(self._waiting) > self._room:
            self.fell_behind = True
            self.end()
        elif self._waiting:
            self._news.set()

    def catch_up(self, missed: Sequence[RevisionInfo]) -> None:
        """Queue the missed revisions that the subscriber follows, regardless of their number."""
        self._room += len(missed)
        self.offer(missed)

    def end(self) -> None:
        """End the iteration, and discard waiting revisions."""
        self.ended.set()
        self._waiting.clear()
        self._news.set()

    async def __anext__(self) -> RevisionInfo:
        """Return the next revision as soon as there is one. Cancellation loses no revision."""
        while not self._waiting:
            if self.ended.is_set():
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()


class Publications:
    """Notifies up to ``max_subscribers`` subscribers of published revisions.

    All methods must be called from the event loop.
    """

    def __init__(self, *, max_subscribers: int) -> None:
        self._rows: Mapping[str, RevisionInfo] | None = None
        self._order: Sequence[RevisionInfo] = ()
        """The revisions of the catalog in the order in which this process discovered them."""

        self._max_subscribers = max_subscribers
        self._subscribers: set[Subscriber] = set()
        self._is_closed = False

    @property
    def num_subscribers(self) -> int:
        """Number of subscribers."""
        return len(self._subscribers)

    @contextmanager
    def subscriber(self) -> Iterator[Subscriber]:
        """Yield a subscriber that is registered until the context ends.

        Raises BadRequest with status 503 if there are too many subscribers, or the server is
        stopping.
        """
        if self._is_closed:
            raise overloaded("it is being stopped")
        if len(self._subscribers) >= self._max_subscribers:
            raise overloaded("too many subscriptions are open")
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)

    def resume(self, subscriber: Subscriber, key: str) -> None:
        """Offer a subscriber the revisions after that of a key; none if the key is unknown."""
        keys = [revision.key for revision in self._order]
        if key in keys:
            subscriber.catch_up(self._order[keys.index(key) + 1 :])

    def update(self, history: History) -> None:
        """Offer the new revisions of a history to all subscribers, in the order of publication.

        A revision is new if its row is new. No revision of the first history is new, nor are those
        of a catalog that reappears after an outage. All happens in one step, so a client that
        resumes neither misses a revision nor gets one twice.
        """
        before, rows = self._rows, history.by_key
        if before is not None and (not rows or rows is before):
            return  # the usual case; comparing takes milliseconds
        arrived = [
            revision for revision in history.revisions if not before or revision.key not in before
        ]
        arrived.sort(key=_when_published)
        self._rows = rows
        self._order = [*(revision for revision in self._order if revision.key in rows), *arrived]
        if before is not None:
            for subscriber in self._subscribers:
                subscriber.offer(arrived)

    def close(self) -> None:
        """End all subscribers, and refuse new ones."""
        self._is_closed = True
        for subscriber in self._subscribers:
            subscriber.end()


def _when_published(revision: RevisionInfo) -> tuple[datetime, datetime, str]:
    return revision.published_at, revision.taken_at, revision.tag

"""Revisions as they are published, and those who follow them."""

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
"""How many revisions may wait for one subscriber to take them."""


class Arrivals:
    """The revisions of a catalog in the ``order`` in which this process learned of them."""

    def __init__(self) -> None:
        self.order: Sequence[RevisionInfo] = ()
        self._rows: Mapping[str, RevisionInfo] | None = None

    def take(self, history: History) -> list[RevisionInfo]:
        """Take in a history, and return what is new in it, in the order of publication.

        A revision is new where its row is. Nothing is new in the first history; nor is what a
        catalog shows again that was away for a while.
        """
        before, rows = self._rows, history.by_key
        if before is None:
            self._rows = rows
            self.order = sorted(history.revisions, key=_when_published)
            return []
        if not rows or rows is before:  # as most times: to look through it again takes milliseconds
            return []
        arrived = [revision for revision in history.revisions if revision.key not in before]
        arrived.sort(key=_when_published)
        self._rows = rows
        self.order = [*(revision for revision in self.order if revision.key in rows), *arrived]
        return arrived


class Subscriber(AsyncIterator[RevisionInfo]):
    """The published revisions that one client follows, each once.

    It ends when there will be no more, and when more than MAX_WAITING wait to be taken: then it
    ``fell_behind``.
    """

    def __init__(self) -> None:
        self.fell_behind = False
        self._is_wanted: Callable[[RevisionInfo], bool] | None = None
        self._waiting: deque[RevisionInfo] = deque()
        self._news = asyncio.Event()
        self.ended = asyncio.Event()
        """Set when it gives out nothing more."""

        self._room = MAX_WAITING

    def follow(self, is_wanted: Callable[[RevisionInfo], bool]) -> Self:
        """Take those revisions alone that a condition holds for, from now on."""
        self._is_wanted = is_wanted
        return self

    def offer(self, published: Iterable[RevisionInfo]) -> None:
        """Take what it follows of revisions that were published."""
        if self._is_wanted is None or self.ended.is_set():
            return
        self._waiting.extend(filter(self._is_wanted, published))
        if len(self._waiting) > self._room:
            self.fell_behind = True
            self.end()
        elif self._waiting:
            self._news.set()

    def catch_up(self, missed: Sequence[RevisionInfo]) -> None:
        """Take what it follows of revisions that it missed, however many there are."""
        self._room += len(missed)
        self.offer(missed)

    def end(self) -> None:
        """Give out nothing more, not even what waits."""
        self.ended.set()
        self._waiting.clear()
        self._news.set()

    async def __anext__(self) -> RevisionInfo:
        """Return the next revision, as soon as there is one; may be cancelled without a loss."""
        while not self._waiting:
            if self.ended.is_set():
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()


class Publications:
    """Tells up to ``max_subscribers`` of the revisions that are published.

    All methods belong to the event loop.
    """

    def __init__(self, *, max_subscribers: int) -> None:
        self._order: Sequence[RevisionInfo] = ()
        self._max_subscribers = max_subscribers
        self._subscribers: set[Subscriber] = set()
        self._is_closed = False

    @property
    def num_subscribers(self) -> int:
        """How many follow."""
        return len(self._subscribers)

    @contextmanager
    def subscriber(self) -> Iterator[Subscriber]:
        """Return a subscriber as long as the context lasts.

        Raises BadRequest with status 503 where there are enough.
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
        """Offer a subscriber what came after the revision of a key; nothing if that is unknown."""
        order = self._order
        for place in range(len(order) - 1, -1, -1):
            if order[place].key == key:
                subscriber.catch_up(order[place + 1 :])
                return

    def tell(self, arrived: Sequence[RevisionInfo], order: Sequence[RevisionInfo]) -> None:
        """Offer revisions to all subscribers; ``order`` has all that there are, these at its end.

        Both change together: nobody who resumes misses one, or gets one twice.
        """
        self._order = order
        if arrived:
            for subscriber in self._subscribers:
                subscriber.offer(arrived)

    def close(self) -> None:
        """End all subscribers: nothing will be told any more."""
        self._is_closed = True
        for subscriber in self._subscribers:
            subscriber.end()


def _when_published(revision: RevisionInfo) -> tuple[datetime, datetime, str]:
    return revision.published_at, revision.taken_at, revision.tag

"""Answers that are being made: each once, however many requests wait for it."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from server.asgi.errors import overloaded

Made = TypeVar("Made")


class Makings(Generic[Made]):
    """What is being made, by what it is kept under. All methods belong to the event loop.

    Who has waited for so many ``seconds`` is told to come back: ``what``, a feed say, goes on being
    made, as it does where some of those who wait hang up. Where all have, it goes on only if
    ``outlasts`` says so.
    """

    def __init__(self, what: str, *, seconds: float = 10.0, outlasts: bool) -> None:
        self._what = what
        self._seconds = seconds
        self._outlasts = outlasts
        self._under_way: dict[Hashable, _Making[Made]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._under_way

    async def value(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, Made]]) -> Made:
        """Return what ``make`` makes, or what another request has begun under the same key.

        Raises as ``joined``.
        """
        if key not in self._under_way:
            making = self._under_way[key] = _Making(make(), outlasts=self._outlasts)
            making.task.add_done_callback(lambda task: self._made(key, task))
        return await self.joined(key)

    async def joined(self, key: Hashable) -> Made:
        """Return what is being made under a key.

        Raises what the making raises, and BadRequest with status 503 where it takes too long.
        """
        making = self._under_way[key]
        try:
            return await making.value(self._seconds)
        except TimeoutError:
            raise overloaded(f"this {self._what} is still being made") from None
        finally:
            if making.task.cancelling():  # nobody may join it any more
                self._forget(key, making.task)

    def _made(self, key: Hashable, task: "asyncio.Task[Made]") -> None:
        self._forget(key, task)
        if not task.cancelled():
            task.exception()  # where nobody waits for it any more, nobody else looks at it

    def _forget(self, key: Hashable, task: "asyncio.Task[Made]") -> None:
        making = self._under_way.get(key)
        if making is not None and making.task is task:
            del self._under_way[key]


class _Making(Generic[Made]):
    """One thing that is made, for as many as wait for it."""

    def __init__(self, work: Coroutine[Any, Any, Made], *, outlasts: bool) -> None:
        self.task = asyncio.create_task(work)
        self._outlasts = outlasts
        self._num_waiting = 0

    async def value(self, seconds: float) -> Made:
        """Return what was made; raises TimeoutError after so many seconds."""
        self._num_waiting += 1
        try:
            await asyncio.wait((self.task,), timeout=seconds)
            if not self.task.done():
                self._outlasts = True  # who was told to come back finds it
                raise TimeoutError
            return self.task.result()
        finally:
            self._num_waiting -= 1
            if not self._num_waiting and not self._outlasts and not self.task.done():
                self.task.cancel()

"""Lanes: a few threads each for one kind of work, so that slow work cannot take all threads.

Python executes one thread at a time, and lets go of it every few milliseconds or where it waits
for the system. So a lane has few threads: more would slow down each other and the event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import NamedTuple, TypeVar

from server.graphql.errors import BadRequest, overloaded
from server.settings import Settings

Result = TypeVar("Result")

LIGHT_THREADS = 2
LOADING_THREADS = 2

LOADING_PATIENCE = 2
"""How many times as long as others those wait who need a revision: loading one takes a while."""


def _nothing() -> None:
    pass


class Lane:
    """Runs work in ``threads`` threads; ``waiting`` pieces of work may wait for one of them.

    Work that has not begun after ``patience`` seconds is refused. All methods belong to the event
    loop.
    """

    def __init__(self, name: str, *, threads: int, waiting: int, patience: float) -> None:
        self.name = name
        self._pool = ThreadPoolExecutor(threads, f"cachelog-{name}")
        self._free = asyncio.Semaphore(threads)
        self._max_waiting = waiting
        self._patience = patience
        self.num_waiting = 0
        self.num_running = 0

    async def run(
        self, work: Callable[[], Result], cancel: Callable[[], None] = _nothing
    ) -> Result:
        """Run work in a thread, and return what it returns.

        Where the waiting task is cancelled, ``cancel`` is called to end work that has begun; its
        thread is taken until it ends. Raises BadRequest with status 503 where the lane is full.
        """
        await self._wait_for_a_thread()
        self.num_running += 1
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._pool, copy_context().run, work)
        running.add_done_callback(self._ended)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cancel()
            raise

    def close(self) -> None:
        """End the threads; work under way is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _wait_for_a_thread(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self.num_waiting >= self._max_waiting:
            raise self._overloaded()
        self.num_waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise self._overloaded() from None
        finally:
            self.num_waiting -= 1

    def _ended(self, running: "asyncio.Future[Result]") -> None:
        self.num_running -= 1
        self._free.release()
        if not running.cancelled():
            running.exception()  # of work that nobody waits for any more, nobody else looks at it

    def _overloaded(self) -> BadRequest:
        return overloaded(f"too many {self.name} requests are under way")


class Lanes(NamedTuple):
    """The lanes of a server.

    ``reading`` is for requests that are long, ``light`` and ``heavy`` are for executing them,
    ``loading`` for bringing revisions into memory, ``compressing`` for responses that are large.
    """

    reading: Lane
    light: Lane
    heavy: Lane
    loading: Lane
    compressing: Lane

    @classmethod
    def of(cls, settings: Settings) -> "Lanes":
        """Return lanes as settings bound them."""

        def lane(name: str, threads: int, patience: float = 1) -> Lane:
            return Lane(
                name,
                threads=threads,
                waiting=settings.queued_requests,
                patience=patience * settings.queue_seconds,
            )

        return cls(
            reading=lane("reading", 1),
            light=lane("light", LIGHT_THREADS),
            heavy=lane("heavy", settings.heavy_threads),
            loading=lane("loading", LOADING_THREADS, LOADING_PATIENCE),
            compressing=lane("compressing", 1),
        )

    def close(self) -> None:
        """End all threads."""
        for lane in self:
            lane.close()

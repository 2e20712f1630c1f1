"""Lanes: a few threads each for one kind of work, so that slow work cannot take all threads.

Python executes one thread at a time, and lets go of it every few milliseconds or where it waits
for the system. So a lane has few threads: more would slow down each other and the event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import msgspec

from server.asgi.errors import BadRequest, overloaded
from server.http.cycles import Turns
from server.settings import Settings

Result = TypeVar("Result")

LIGHT_THREADS = 2
LOADING_THREADS = 2
EXPLAINING_THREADS = 1

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
        self.patience = patience
        self.num_waiting = 0
        self.num_running = 0

    async def run(
        self, work: Callable[[], Result], cancel: Callable[[], None] = _nothing
    ) -> Result:
        """Run work in a thread, and return what it returns.

        Where the waiting task is cancelled, ``cancel`` is called to end work that has begun; its
        thread is taken until it ends. Raises BadRequest with status 503 where the lane is full.
        """
        await self.enter(self.patience)
        try:
            return await asyncio.shield(self.start(work))
        except asyncio.CancelledError:
            cancel()
            raise

    async def enter(self, patience: float | None) -> None:
        """Wait for a thread, for so many seconds; None for however long it takes.

        Who has entered must start work at once. Raises BadRequest with status 503 where too many
        wait already, or where the time is over.
        """
        if not self._free.locked():
            await self._free.acquire()
            return
        if self.num_waiting >= self._max_waiting:
            raise self.overloaded()
        self.num_waiting += 1
        try:
            async with asyncio.timeout(patience):
                await self._free.acquire()
        except TimeoutError:
            raise self.overloaded() from None
        finally:
            self.num_waiting -= 1

    def start(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Start work in the thread that was waited for; it goes on whoever waits for it."""
        self.num_running += 1
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._pool, copy_context().run, work)
        running.add_done_callback(self._ended)
        return running

    def close(self) -> None:
        """End the threads; work under way is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, running: "asyncio.Future[Result]") -> None:
        self.num_running -= 1
        self._free.release()
        if not running.cancelled():
            running.exception()  # of work that nobody waits for any more, nobody else looks at it

    def overloaded(self) -> BadRequest:
        """Return the refusal of work that no thread is free for."""
        return overloaded(f"too many {self.name} requests are under way")


class Lanes(msgspec.Struct, frozen=True):
    """The lanes of a server.

    ``reading`` is for requests that are long, ``light`` and ``heavy`` are for executing them,
    ``loading`` for bringing revisions into memory and comparing them, ``explaining`` for finding
    why two of them differ, which can take seconds, ``compressing`` for responses that are large.
    What is small runs in the event loop, in ``turns``.
    """

    reading: Lane
    light: Lane
    heavy: Lane
    loading: Lane
    explaining: Lane
    compressing: Lane
    turns: Turns

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
            explaining=lane("explaining", EXPLAINING_THREADS, LOADING_PATIENCE),
            compressing=lane("compressing", 1),
            turns=Turns(),
        )

    def close(self) -> None:
        """End all threads."""
        for lane in msgspec.structs.astuple(self):
            if isinstance(lane, Lane):
                lane.close()

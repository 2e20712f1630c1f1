"""Lanes: a few threads for each kind of work, so that slow work cannot occupy all threads.

Python executes one thread at a time, and switches every few milliseconds or when a thread waits for
the system. Lanes therefore have few threads: more would slow down each other and the event loop.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import msgspec

from server.asgi.errors import BadRequest, overloaded
from server.settings import Settings

Result = TypeVar("Result")

LIGHT_THREADS = 2
LOADING_THREADS = 2
EXPLAINING_THREADS = 1

LOADING_PATIENCE = 2
"""Factor on the patience of the lanes that load and explain revisions, which takes longer."""


def _nothing() -> None:
    pass


class Lane:
    """A pool of ``threads`` threads with a queue of at most ``waiting`` pieces of work.

    Work that has not begun after ``patience`` seconds is refused. All methods must be called in the
    event loop.
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
        """Run work in a thread, and return its result.

        If the waiting task is cancelled, ``cancel`` is called to end work that has begun; its
        thread stays occupied until the work ends. Raises BadRequest with status 503 if the lane is
        full.
        """
        await self.enter(self.patience)
        try:
            return await asyncio.shield(self.start(work))
        except asyncio.CancelledError:
            cancel()
            raise

    async def enter(self, patience: float | None) -> None:
        """Wait for a free thread, for at most ``patience`` seconds; None waits indefinitely.

        The caller must then call ``start`` immediately. Raises BadRequest with status 503 if the
        queue is full, or on timeout.
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
        """Start work in the thread that ``enter`` reserved; it runs even if no caller waits."""
        self.num_running += 1
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._pool, copy_context().run, work)
        running.add_done_callback(self._ended)
        return running

    def close(self) -> None:
        """Stop the threads without waiting for work in progress."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, running: "asyncio.Future[Result]") -> None:
        self.num_running -= 1
        self._free.release()
        if not running.cancelled():
            running.exception()  # marks it as retrieved: there may be no caller left to do so

    def overloaded(self) -> BadRequest:
        """Return the error for work for which no thread is free."""
        return overloaded(f"too many {self.name} requests are under way")


_TURN_SECONDS = 0.002
"""Time of an iteration of the event loop in which further small work may begin."""


class LoopTurns:
    """Limits the small work in each iteration of the event loop.

    Between two iterations, the loop reads and writes for all connections, regardless of how much
    work waits. Without turns, 50 simultaneous requests would be answered before any other one.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._began: float | None = None

    def has_time(self) -> bool:
        """Return whether an iteration has time for more work that cannot wait for its turn."""
        now = time.perf_counter()
        if self._began is None:
            self._began = now
            asyncio.get_running_loop().call_soon(self._end_iteration)
        return now - self._began < _TURN_SECONDS

    def _end_iteration(self) -> None:
        self._began = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run work in the event loop, alone in an iteration, and return its result."""
        async with self._turn:
            try:
                return work()
            finally:
                await asyncio.sleep(0)


class Lanes(msgspec.Struct, frozen=True):
    """The lanes of a server.

    ``reading`` parses long requests, ``light`` and ``heavy`` execute requests, ``loading`` loads
    revisions and compares them, ``explaining`` computes why two revisions differ, which can take
    seconds, and ``compressing`` compresses large responses. Small work runs in the event loop, in
    ``turns``.
    """

    reading: Lane
    light: Lane
    heavy: Lane
    loading: Lane
    explaining: Lane
    compressing: Lane
    turns: LoopTurns

    @classmethod
    def of(cls, settings: Settings) -> "Lanes":
        """Return lanes with the limits of the settings."""

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
            turns=LoopTurns(),
        )

    def close(self) -> None:
        """Stop all threads."""
        for lane in msgspec.structs.astuple(self):
            if isinstance(lane, Lane):
                lane.close()

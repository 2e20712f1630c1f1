"""Lanes: a few threads for each kind of work, so that slow work cannot occupy all threads.

Python executes one thread at a time, and switches every few milliseconds or when a thread waits for
the system. Lanes therefore have few threads: more would slow down each other and the event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import msgspec

from server.asgi.errors import BadRequest, overloaded

Result = TypeVar("Result")

LIGHT_THREADS = 2
HEAVY_THREADS = 2
LOADING_THREADS = 2
EXPLAINING_THREADS = 1

PATIENCE = 1.0
"""Seconds that work waits for a thread before it is refused."""

LOADING_PATIENCE = 2
"""Factor on the patience of the lanes that load and explain revisions, which takes longer."""


def _nothing() -> None:
    pass


class Lane:
    """A pool of ``threads`` threads.

    Work that has not begun after ``patience`` seconds is refused; the number of admitted requests
    limits how much work waits. All methods must be called in the event loop.
    """

    def __init__(self, name: str, *, threads: int, patience: float) -> None:
        self.name = name
        self.patience = patience
        self._pool = ThreadPoolExecutor(threads, f"cachelog-{name}")
        self._free = asyncio.Semaphore(threads)

    async def run(
        self, work: Callable[[], Result], cancel: Callable[[], None] = _nothing
    ) -> Result:
        """Run work in a thread, and return its result.

        If the waiting task is cancelled, ``cancel`` is called to end work that has begun; its
        thread stays occupied until the work ends. Raises BadRequest with status 503 if no thread
        becomes free in time.
        """
        await self.enter(self.patience)
        try:
            return await asyncio.shield(self.start(work))
        except asyncio.CancelledError:
            cancel()
            raise

    async def enter(self, patience: float | None) -> None:
        """Wait for a free thread, for at most ``patience`` seconds; None waits indefinitely.

        The caller must then call ``start`` immediately. Raises BadRequest with status 503 on
        timeout.
        """
        try:
            async with asyncio.timeout(patience):
                await self._free.acquire()
        except TimeoutError:
            raise self.overloaded() from None

    def start(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Start work in the thread that ``enter`` reserved; it runs even if no caller waits."""
        running = asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, work)
        running.add_done_callback(self._ended)
        return running

    def close(self) -> None:
        """Stop the threads without waiting for work in progress."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, running: "asyncio.Future[Result]") -> None:
        self._free.release()
        if not running.cancelled():
            running.exception()  # marks it as retrieved: there may be no caller left to do so

    def overloaded(self) -> BadRequest:
        """Return the error for work for which no thread is free."""
        return overloaded(f"too many {self.name} requests are under way")


class Lanes(msgspec.Struct, frozen=True):
    """The lanes of a server.

    ``light`` parses long requests, executes those that take milliseconds, renders pages and
    compresses, ``heavy`` executes the others, ``loading`` loads revisions and compares them, and
    ``explaining`` computes why two revisions differ, which can take seconds.
    """

    light: Lane
    heavy: Lane
    loading: Lane
    explaining: Lane

    @classmethod
    def of_server(cls, patience: float = PATIENCE) -> "Lanes":
        """Return the lanes of a server, with a patience in seconds."""
        longer = LOADING_PATIENCE * patience
        return cls(
            light=Lane("light", threads=LIGHT_THREADS, patience=patience),
            heavy=Lane("heavy", threads=HEAVY_THREADS, patience=patience),
            loading=Lane("loading", threads=LOADING_THREADS, patience=longer),
            explaining=Lane("explaining", threads=EXPLAINING_THREADS, patience=longer),
        )

    def close(self) -> None:
        """Stop all threads."""
        for lane in msgspec.structs.astuple(self):
            lane.close()

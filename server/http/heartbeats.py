"""Signs of life: what a worker process sends while its event loop runs, and who listens for it.

A process that hangs is not dead: it keeps the connections that it has, and answers none of them.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection

_BEAT_SECONDS = 1.0
_BEATS_IN_PATIENCE = 4
"""How many signs of life must fail to come, at least, before a process counts as hung."""

_READ_BYTES = 65_536


class Heartbeat:
    """Sends signs of life over a pipe, often enough for one who waits ``patience`` seconds."""

    def __init__(self, sending: Connection, patience: float) -> None:
        self._sending = sending
        self._seconds = min(_BEAT_SECONDS, patience / _BEATS_IN_PATIENCE)
        os.set_blocking(sending.fileno(), False)

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """Send them from the event loop, as long as that runs and the context lasts."""
        task = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            task.cancel()

    async def _beat(self) -> None:
        while True:
            # The pipe is full where nobody listens, and broken where nobody is left.
            with contextlib.suppress(OSError):
                os.write(self._sending.fileno(), b".")
            await asyncio.sleep(self._seconds)


class Listener:
    """Listens to one process, and knows when it last gave a sign of life."""

    def __init__(self, receiving: Connection) -> None:
        self.receiving = receiving
        os.set_blocking(receiving.fileno(), False)
        self.heard_at: float | None = None
        """None before the first sign: a start takes as long as it takes."""

    def listen(self, now: float) -> None:
        """Take in what has come."""
        with contextlib.suppress(BlockingIOError):
            if os.read(self.receiving.fileno(), _READ_BYTES):
                self.heard_at = now

    def close(self) -> None:
        """Forget the process."""
        self.receiving.close()


class Patience:
    """Tells which processes have been silent for more than so many ``seconds``."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._looked_at = clock()

    @property
    def step(self) -> float:
        """How many seconds may pass between two looks."""
        return min(_BEAT_SECONDS, self.seconds / _BEATS_IN_PATIENCE)

    def silent(self, listeners: Iterable[Listener]) -> list[Listener]:
        """Listen, and return those that were silent for too long, each of them once.

        Where this process itself was held up, as when a machine is paused, all of them have as much
        time again: they were held up with it.
        """
        now = self._clock()
        was_held_up = now - self._looked_at > self.seconds / 2
        self._looked_at = now
        late = []
        for listener in listeners:
            listener.listen(now)
            if listener.heard_at is None:
                continue
            if was_held_up:
                listener.heard_at = now
            elif now - listener.heard_at > self.seconds:
                listener.heard_at = None
                late.append(listener)
        return late

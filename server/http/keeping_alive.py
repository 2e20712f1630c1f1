"""Connections that wait for their next request, and for how long they may."""

import asyncio
from collections.abc import Callable


class KeepAlive:
    """Calls ``end`` when a connection has been idle for so many ``seconds``.

    A timer that runs is left to run, and looks when it is due whether there was a request since: to
    set one anew for each request would take longer than to find a small answer.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, end: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._end = end
        self._idle_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Wait from now on."""
        self._idle_since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._due)

    def stop(self) -> None:
        """Wait no longer: something has come."""
        self._idle_since = None

    def close(self) -> None:
        """Forget the connection: it is gone."""
        self._idle_since = None
        self._end = _nothing  # the two would hold each other in memory otherwise
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        if self._idle_since is None:
            return
        left = self._idle_since + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._due)
        else:
            self._end()


def _nothing() -> None:
    pass

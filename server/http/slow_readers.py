"""Clients that do not read what they have asked for: their connections are dropped."""

import asyncio
import fcntl
import struct
import termios

_MIN_READ_RATE = 4_096
"""How many bytes a second a client reads at least."""

_NUMBER = struct.Struct("i")


class ReaderWatch:
    """Looks every so many ``seconds`` how much of what was written to a client has been read.

    What the system has taken over counts until the client has received it: that can be megabytes,
    and the system takes more only when a good part of them is gone.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._next_look: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch until all has been read; a client that is too slow is dropped."""
        size = self._transport.get_write_buffer_size()
        if size and self._next_look is None:
            size += self._num_sent()
            self._next_look = self._loop.call_later(self._seconds, self._look, size)

    def stop(self) -> None:
        """Watch no longer: the client has read, or is gone."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    def _look(self, size_before: int) -> None:
        self._next_look = None
        read = size_before - self._transport.get_write_buffer_size() - self._num_sent()
        if read < _MIN_READ_RATE * self._seconds and read < size_before:
            self._transport.abort()
        else:
            self.start()

    def _num_sent(self) -> int:
        """Return how many bytes the system has that the client has not received (tcp(7), SIOCOUTQ).

        0 where the system does not tell.
        """
        try:
            found = fcntl.ioctl(
                self._transport.get_extra_info("socket").fileno(),
                termios.TIOCOUTQ,  # the same number
                bytes(_NUMBER.size),
            )
        except OSError:
            return 0
        size: int = _NUMBER.unpack(found)[0]
        return size

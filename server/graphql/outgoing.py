"""Large responses on their way: what slow readers hold in memory is bounded."""

from collections.abc import Iterator
from contextlib import contextmanager

from server.asgi.errors import overloaded
from server.asgi.responses import Response

_LARGE = 256 << 10
"""Responses with fewer bytes are not counted: the number of connections bounds them."""


class Outgoing:
    """Counts the bytes of large responses that are being sent, at most ``max_bytes``.

    A single one that is larger is sent while there is no other.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.num_bytes = 0

    def begin(self, response: Response) -> int:
        """Count a response that is going to be sent, and return what ``end`` is to be told.

        It is counted twice, as it may be compressed; 0 where it is small. Raises BadRequest with
        status 503 without room.
        """
        return self.begin_bytes(2 * len(response.body))

    def begin_bytes(self, size: int) -> int:
        """Count so many bytes as ``begin`` does."""
        if size < _LARGE:
            return 0
        if self.num_bytes and self.num_bytes + size > self._max_bytes:
            raise overloaded("too many large answers are on their way")
        self.num_bytes += size
        return size

    @contextmanager
    def sending(self, response: Response) -> Iterator[None]:
        """Count a response as long as the context lasts; raises as ``begin``."""
        size = self.begin(response)
        try:
            yield
        finally:
            self.end(size)

    def end(self, size: int) -> None:
        """Say that a response was sent, or that its client is gone."""
        self.num_bytes -= size

"""Large responses on their way: what slow readers hold in memory is bounded."""

from collections.abc import Iterator
from contextlib import contextmanager

from server.graphql.errors import overloaded
from server.responses import Response

_LARGE = 256 << 10
"""Responses with fewer bytes are not counted: the number of connections bounds them."""


class Outgoing:
    """Counts the bytes of large responses that are being sent, at most ``max_bytes``.

    A single one that is larger is sent while there is no other.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.num_bytes = 0

    @contextmanager
    def room_for(self, response: Response) -> Iterator[None]:
        """Count a response while it is sent; raises BadRequest with status 503 without room.

        It is counted twice, as it may be compressed.
        """
        size = 2 * len(response.body)
        if size < _LARGE:
            yield
            return
        if self.num_bytes and self.num_bytes + size > self._max_bytes:
            raise overloaded("too many large answers are on their way")
        self.num_bytes += size
        try:
            yield
        finally:
            self.num_bytes -= size

"""Large responses on their way: what slow readers hold in memory is bounded."""

from starlette.types import Scope

from server.asgi.responses import Response
from server.asgi.room import Place, Room

_LARGE = 256 << 10
"""Responses with fewer bytes are not counted: the number of connections bounds them."""

PATIENCE = 20.0
"""After how many seconds on its way a large response makes room for others."""


class Outgoing:
    """Counts the bytes of large responses that are being sent, at most ``max_bytes``.

    A single one that is larger is sent while there is no other.
    """

    def __init__(self, max_bytes: int) -> None:
        self.room = Room(max_bytes, "answers are on their way", patience=PATIENCE)
        self._nothing = self.room.place(None)

    def begin(self, response: Response, scope: Scope) -> Place:
        """Return the place of a response to a request; the response is sent within its context.

        It is counted twice, as it may be compressed; a small one holds nothing. Raises BadRequest
        with status 503 without room.
        """
        return self.begin_bytes(2 * len(response.body), scope)

    def begin_bytes(self, size: int, scope: Scope | None) -> Place:
        """Return the place of so many bytes as ``begin`` does; without a scope it never ends."""
        if size < _LARGE:
            return self._nothing
        place = self.room.place(scope)
        place.hold(size)
        return place

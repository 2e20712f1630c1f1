"""Errors that end a request: refusals, with an HTTP status, and disconnects."""

from http import HTTPStatus


class BadRequest(Exception):
    """A request that is refused.

    ``status`` is the HTTP status of the response. ``code`` identifies the reason for clients; its
    default is the name of the status.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.message = message
        self.status = status
        self.code = code or HTTPStatus(status).name
        self.headers = headers
        super().__init__(message)


class Disconnected(Exception):
    """The client has disconnected before the end of its request or of the response."""


RETRY_SECONDS = 2
"""Seconds after which a client may retry a request that was refused because of overload."""


def overloaded(what: str) -> BadRequest:
    """Return the error for a request that exceeds a capacity; ``what`` describes the excess."""
    return BadRequest(
        f"The server is busy: {what}. Try again in {RETRY_SECONDS} seconds.",
        status=503,
        code="OVERLOADED",
        headers=((b"retry-after", str(RETRY_SECONDS).encode()),),
    )

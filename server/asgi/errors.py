"""Requests that are refused, with the status that HTTP has for it."""

from http import HTTPStatus


class BadRequest(Exception):
    """A request that cannot be answered; ``status`` and ``code`` say why to programs.

    The code is the name of the status unless given.
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


RETRY_SECONDS = 2
"""When a client may ask again that was refused because the server has too much to do."""


def overloaded(what: str) -> BadRequest:
    """Return the refusal of a request that there is no room for; ``what`` there is too much of."""
    return BadRequest(
        f"The server is busy: {what}. Try again in {RETRY_SECONDS} seconds.",
        status=503,
        code="OVERLOADED",
        headers=((b"retry-after", str(RETRY_SECONDS).encode()),),
    )

"""Errors that end a request: refusals, with an HTTP status, and disconnects."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any


class BadRequest(Exception):
    """A request that is refused.

    ``status`` is the HTTP status of the response. ``code`` identifies the reason for clients; its
    default is the name of the status. ``extensions`` are further data for clients, as JSON.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        extensions: Mapping[str, Any] = {},
    ) -> None:
        self.message = message
        self.status = status
        self.code = code or HTTPStatus(status).name
        self.headers = headers
        self.extensions = extensions
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


EXPLAINING = "EXPLAINING"


def explaining(since: datetime) -> BadRequest:
    """Return the error for a request whose comparison is still being explained."""
    return BadRequest(
        "Why these revisions differ is still being computed. "
        f"Try again in {RETRY_SECONDS} seconds.",
        status=503,
        code=EXPLAINING,
        headers=((b"retry-after", str(RETRY_SECONDS).encode()),),
        extensions={"since": since.isoformat(timespec="seconds"), "retryAfter": RETRY_SECONDS},
    )

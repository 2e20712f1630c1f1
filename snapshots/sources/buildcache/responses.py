"""What a response to an HTTP request says beside its body."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import msgspec

from snapshots.errors import SourceError
from snapshots.models import utc
from snapshots.sources.files import Missing

if TYPE_CHECKING:
    from httpx import Response

_MISSING = frozenset({404, 410})


class Forbidden(Missing):
    """HTTP 403, which S3 answers for what is missing, too, where it may not be listed."""


class Unauthorized(SourceError):
    """HTTP 401 of the server that was asked for; ``challenges`` are its WWW-Authenticate."""

    def __init__(self, location: str, reason: str, challenges: list[str]) -> None:
        super().__init__(location, reason)
        self.challenges = challenges


class Document(msgspec.Struct, frozen=True):
    """A small body, and the URL of the page behind it if there is one, as ``Link`` has it."""

    data: bytearray
    next_page: str | None = None


def check_status(response: "Response", url: str) -> None:
    """Return if the response is what was asked for.

    Raises Missing, Forbidden, Unauthorized and SourceError.
    """
    if is_fine(response):
        return
    code = response.status_code
    status = status_of(response)
    if code == 403 or code in _MISSING:
        kind = Forbidden if code == 403 else Missing
        raise kind(url, f"{status}: it is not there, or not for everyone to read")
    reason = f"{status}: check the URL, and that it asks for no login"
    if code == 401 and _is_first(response):
        raise Unauthorized(url, reason, response.headers.get_list("WWW-Authenticate"))
    raise SourceError(url, reason)


def is_fine(response: "Response") -> bool:
    """Tell whether the response is what was asked for."""
    code = response.status_code
    return code == 200 or (code == 304 and "If-None-Match" in response.request.headers)


def status_of(response: "Response") -> str:
    """Return the status as people read it: HTTP 404 Not Found."""
    return f"HTTP {response.status_code} {response.reason_phrase}".rstrip()


def may_recover(response: "Response") -> bool:
    """Tell whether the same request may succeed a little later."""
    return response.status_code == 429 or response.status_code >= 500


def retry_after(response: "Response") -> float:
    """Return the seconds that a server asks to wait, 0 if it does not say (RFC 9110, 10.2.3)."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = utc(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def length_of(response: "Response") -> int | None:
    """Return how many bytes the body has on the way, if the response says so."""
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def encoding_of(response: "Response", url: str) -> str | None:
    """Return gzip or None, the Content-Encoding. Raises SourceError for another one."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        return None
    if encoding in ("gzip", "x-gzip"):
        return "gzip"
    raise SourceError(url, f"came in the Content-Encoding {encoding!r}, not in gzip or none")


def next_page_of(response: "Response", url: str) -> str | None:
    """Return the URL of the next page, if there is one (RFC 8288). Raises SourceError."""
    link = response.links.get("next")
    if link is None:
        return None
    try:
        return urljoin(url, link["url"])
    except ValueError as error:
        raise SourceError(url, f"names a next page that is no URL: {error}") from None


def etag_of(response: "Response") -> str | None:
    """Return the ETag, unless it holds what cannot be sent back in a request."""
    etag: str = response.headers.get("ETag", "")
    return etag if etag and etag.isascii() and etag.isprintable() else None


def _is_first(response: "Response") -> bool:
    """Tell whether a response is of the server that was asked, not of one that it led to."""
    url = response.url
    return all(
        (earlier.url.scheme, earlier.url.netloc) == (url.scheme, url.netloc)
        for earlier in response.history
    )

"""Pages as responses, each with the policy that browsers hold it to."""

from server.asgi.cache import CacheKey
from server.asgi.errors import RETRY_SECONDS
from server.asgi.responses import Headers, Response
from server.asgi.sending import REVALIDATE

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'"
)
"""Scripts and styles are files of this server alone, and forms lead to it."""

_POLICY_HEADER = (b"content-security-policy", POLICY)
NO_STORE = b"no-store"
"""Cache-Control of what is true of one request alone."""

HTML = b"text/html; charset=utf-8"
_BUSY = 503


class PageResponse(Response):
    """A page; ``code`` says why it is one that tells of an error."""

    def __init__(
        self,
        status: int,
        body: bytes,
        cache_control: bytes,
        *,
        content_type: bytes = HTML,
        code: str | None = None,
        more: Headers | None = None,
    ) -> None:
        headers = [_POLICY_HEADER, *(more or ())]
        if status == _BUSY and not any(name == b"retry-after" for name, _ in headers):
            headers.append((b"retry-after", str(RETRY_SECONDS).encode()))
        super().__init__(status, body, content_type, cache_control, more=headers)
        self.code = code
        self.key: CacheKey | None = None
        """What it is kept under, if it is."""


def led_to(link: str, *, status: int = 303) -> PageResponse:
    """Return what leads a browser to another address: 303 from a form, 308 for good."""
    return PageResponse(status, b"", REVALIDATE, more=[(b"location", link.encode())])

"""What browsers may do with an answer: nothing but show it, and GraphiQL what it needs.

See https://cheatsheetseries.owasp.org/cheatsheets/HTTP_Headers_Cheat_Sheet.html.
"""

from collections.abc import Iterable

from server.asgi.responses import Headers, lines_of

CDN = "https://unpkg.com"
"""Where GraphiQL comes from if it is not part of the build."""

_ANYWHERE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_NOTHING = b"default-src 'none'; frame-ancestors 'none'"
_PAGE = (
    "default-src 'none'; script-src 'self'{cdn}; style-src 'self'{cdn}; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""GraphiQL's fonts and pictures stand in its style sheet. Scripts and styles are files alone."""

_POLICY = b"content-security-policy"


class SecurityHeaders:
    """The headers of all answers. ``needs_cdn`` says that GraphiQL is not part of this build."""

    def __init__(self, *, needs_cdn: bool) -> None:
        page = _PAGE.format(cdn=f" {CDN}" if needs_cdn else "").encode()
        self._for_page: Headers = [*_ANYWHERE, (_POLICY, page)]
        self._for_own_policy: Headers = [*_ANYWHERE]
        self._for_others: Headers = [*_ANYWHERE, (_POLICY, _NOTHING)]
        self.lines = lines_of(self._for_others)
        """Those for answers that are no page, as lines."""

    def beside(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Return what to add to the headers of an answer."""
        found = self._for_others
        for name, value in headers:
            if name == _POLICY:
                return self._for_own_policy
            if name == b"content-type" and value.startswith(b"text/html"):
                found = self._for_page
        return found

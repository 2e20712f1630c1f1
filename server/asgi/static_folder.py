"""Folders of files that are served from memory: assets of pages, and the documentation site."""

import mimetypes
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from server.asgi.allowances import Allowances
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE
from server.asgi.responses import REVALIDATE, Response, ResponseSender

STATIC = Path(__file__).parents[1] / "static"
"""The files of GraphiQL's page; its folder ``vendor`` contains those that the build downloads."""

_YEAR = 365 * 24 * 60 * 60
_FOR_A_YEAR = b"public, max-age=%d, immutable" % _YEAR


def version_of(file: Path) -> str:
    """Return a digest of a file's content, for use in its URL: ?v=VERSION."""
    return sha256(file.read_bytes()).hexdigest()[:12]


class StaticFolder:
    """Serves the files of a folder by GET and HEAD, with their contents at the server's start.

    A file that is requested by the version of its content (?v=) may be cached for a year. A request
    with another version is answered with ``no-cache``: while replicas are replaced one by one, a
    page of a new replica may load files from an old replica, which has other versions.

    A file is compressed once for each coding. No file is open while a response is sent.
    """

    def __init__(self, folder: Path, allowances: Allowances, sender: ResponseSender) -> None:
        self._allowances = allowances
        self._sender = sender
        self._files = {
            (file.relative_to(folder).as_posix(), query): response
            for file in folder.rglob("*")
            if file.is_file()
            for query, response in self._responses(file)
        }

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one request; raise HTTPException if it is refused."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"allow": "GET, HEAD"})
        try:
            self._allowances.count_request(scope)
            path = scope["path_params"]["path"]
            query = scope["query_string"]
            response = self._files.get((path, query)) or self._files.get((path, b""))
            found = response or self._missing(path)
            await self._sender.send(found, scope, send, is_constant=True)
        except BadRequest as error:
            scope[CODE] = error.code
            retry = {name.decode(): value.decode() for name, value in error.headers}
            raise HTTPException(error.status, error.message, retry) from None

    def _missing(self, _path: str) -> Response:
        """Return the response for a path without a file, or raise HTTPException."""
        raise HTTPException(404)

    def _responses(self, file: Path) -> list[tuple[bytes, Response]]:
        """Return the responses for a file, by query string: with its version, and without."""
        content, version = file.read_bytes(), version_of(file)
        return [
            (query, Response(200, content, _content_type(file), cache_control))
            for query, cache_control in ((f"v={version}".encode(), _FOR_A_YEAR), (b"", REVALIDATE))
        ]


def _content_type(file: Path) -> bytes:
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    return (f"{kind}; charset=utf-8" if kind.startswith("text/") else kind).encode()


def files_below(path: str, folder: Path, allowances: Allowances, sender: ResponseSender) -> Route:
    """Return the route of the files of a folder."""
    return Route(f"{path}/{{path:path}}", StaticFolder(folder, allowances, sender))


_MAX_DEPTH = 4
"""Paths with fewer slashes get the site's own 404 page if they do not exist."""

_HASHED_NAME = re.compile(r"\.[0-9a-f]{8}\.min\.(?:css|js)$")
"""Matches files whose names contain a hash of their contents."""

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_SITE_POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of a page; inline scripts are allowed by their checksums."""


class DocumentationSite(StaticFolder):
    """Serves the files of a documentation site, and its own 404 page for other paths."""

    def __init__(self, folder: Path, allowances: Allowances, sender: ResponseSender) -> None:
        super().__init__(folder, allowances, sender)
        self._files["", b""] = self._files["index.html", b""]
        # The links of 404.html are absolute, because it can be served for a path of any depth.
        text = (folder / "404.html").read_bytes()
        self._not_found = [
            _page(404, re.sub(rb'"/(?![/>])', b'"' + (b"../" * depth or b"./"), text))
            for depth in range(_MAX_DEPTH)
        ]

    def _responses(self, file: Path) -> list[tuple[bytes, Response]]:
        content = file.read_bytes()
        if file.suffix == ".html":
            return [(b"", _page(200, content))]
        cache_control = _FOR_A_YEAR if _HASHED_NAME.search(file.name) else REVALIDATE
        return [(b"", Response(200, content, _content_type(file), cache_control))]

    def _missing(self, path: str) -> Response:
        depth = path.count("/")
        return self._not_found[depth] if depth < _MAX_DEPTH else super()._missing(path)


def _page(status: int, content: bytes) -> Response:
    """Return the response for a page of the site; its policy allows only its own scripts."""
    checksums = sorted({sha256(script).digest() for script in _INLINE_SCRIPT.findall(content)})
    scripts = "".join(f" 'sha256-{b64encode(checksum).decode()}'" for checksum in checksums)
    policy = [(b"content-security-policy", _SITE_POLICY.format(scripts=scripts).encode())]
    return Response(status, content, b"text/html; charset=utf-8", REVALIDATE, more=policy)


def documentation_at(
    path: str, folder: Path, allowances: Allowances, sender: ResponseSender
) -> list[Route]:
    """Return the routes of a documentation site."""

    async def with_slash(_request: Request) -> RedirectResponse:
        return RedirectResponse(f"{path.rpartition('/')[2]}/", 308)

    site = DocumentationSite(folder, allowances, sender)
    return [Route(path, with_slash), Route(f"{path}/{{path:path}}", site)]

"""Folders of files that are served from memory."""

import mimetypes
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

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

    def __init__(self, folder: Path, sender: ResponseSender) -> None:
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
            path = scope["path_params"]["path"]
            query = scope["query_string"]
            response = self._files.get((path, query)) or self._files.get((path, b""))
            if response is None:
                raise HTTPException(404)
            await self._sender.send(response, scope, send)
        except BadRequest as error:
            scope[CODE] = error.code
            retry = {name.decode(): value.decode() for name, value in error.headers}
            raise HTTPException(error.status, error.message, retry) from None

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


def files_below(path: str, folder: Path, sender: ResponseSender) -> Route:
    """Return the route of the files of a folder."""
    return Route(f"{path}/{{path:path}}", StaticFolder(folder, sender))

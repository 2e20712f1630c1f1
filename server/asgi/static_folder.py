"""The folders of files that pages load, served from memory."""

import mimetypes
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from server.asgi.allowances import Allowances
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE
from server.asgi.lanes import Lane
from server.asgi.responses import REVALIDATE, Response, send_response

STATIC = Path(__file__).parents[1] / "static"
"""The files of GraphiQL's page, and those that the build brings in its folder ``vendor``."""

_YEAR = 365 * 24 * 60 * 60
_FOR_A_YEAR = b"public, max-age=%d, immutable" % _YEAR


def version_of(file: Path) -> str:
    """Return what tells a file's content from others; its address is to say it: ?v=VERSION."""
    return sha256(file.read_bytes()).hexdigest()[:12]


class StaticFolder:
    """Answers GET and HEAD with the files of a folder, as they were when the server started.

    A browser keeps them for a year if the address says which content it wants (?v=). What is asked
    for by the version of another content is not kept so: while replicas are replaced one by one,
    the page of a new one leads to files that an old one has otherwise.

    A file is compressed once for each coding, in the lane ``compressing``. No file is open while a
    client reads.
    """

    def __init__(self, folder: Path, allowances: Allowances, compressing: Lane) -> None:
        self._allowances = allowances
        self._compressing = compressing
        self._files: Mapping[tuple[str, bytes], Response] = {
            (file.relative_to(folder).as_posix(), query): response
            for file in folder.rglob("*")
            if file.is_file()
            for query, response in _responses(file)
        }

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one request; raises HTTPException."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"allow": "GET, HEAD"})
        try:
            if self._allowances.is_limited:
                self._allowances.count_request(scope)
        except BadRequest as error:
            scope[CODE] = error.code
            retry = {name.decode(): value.decode() for name, value in error.headers}
            raise HTTPException(error.status, error.message, retry) from None
        path = scope["path_params"]["path"]
        response = self._files.get((path, scope["query_string"])) or self._files.get((path, b""))
        if response is None:
            raise HTTPException(404)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        await send_response(response, scope, headers, send, compressing=self._compressing)


def _responses(file: Path) -> list[tuple[bytes, Response]]:
    """Return the answers with a file by the query of its address: that of its version, and none."""
    content, version = file.read_bytes(), version_of(file)
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    content_type = (f"{kind}; charset=utf-8" if kind.startswith("text/") else kind).encode()
    return [
        (query, Response(200, content, content_type, cache_control))
        for query, cache_control in ((f"v={version}".encode(), _FOR_A_YEAR), (b"", REVALIDATE))
    ]


def files_below(path: str, folder: Path, allowances: Allowances, compressing: Lane) -> Route:
    """Return the route to the files of a folder."""
    return Route(f"{path}/{{path:path}}", StaticFolder(folder, allowances, compressing))

"""The folders of files that pages load."""

import os
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parents[1] / "static"
"""The files of GraphiQL's page, and those that the build brings in its folder ``vendor``."""

_YEAR = 365 * 24 * 60 * 60


def version_of(file: Path) -> str:
    """Return what tells a file's content from others; its address is to say it: ?v=VERSION."""
    return sha256(file.read_bytes()).hexdigest()[:12]


class StaticFolder(StaticFiles):
    """Files that a browser keeps for a year if the address says which content it wants (?v=).

    What is asked for by the version of another content is not kept so: while replicas are replaced
    one by one, the page of a new one leads to files that an old one has otherwise.
    """

    def file_response(
        self,
        full_path: "str | os.PathLike[str]",
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Answer with a file."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        version = _version(Path(full_path), stat_result.st_mtime_ns)
        is_named = scope["query_string"] == f"v={version}".encode()
        response.headers["cache-control"] = (
            f"public, max-age={_YEAR}, immutable" if is_named else "no-cache"
        )
        return response


@lru_cache
def _version(file: Path, _changed_at: int) -> str:
    return version_of(file)


def files_below(path: str, folder: Path) -> Mount:
    """Return the route to the files of a folder, which are compressed for who wants it."""
    return Mount(path, GZipMiddleware(StaticFolder(directory=folder)))

"""The folders of files that pages load."""

from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parents[1] / "static"
"""The files of GraphiQL's page, and those that the build brings in its folder ``vendor``."""

_YEAR = 365 * 24 * 60 * 60


class StaticFolder(StaticFiles):
    """Files that a browser keeps for a year if the address says which content it wants (?v=)."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with the file, or raise HTTPException."""
        response = await super().get_response(path, scope)
        versioned = scope["query_string"].startswith(b"v=")
        response.headers["cache-control"] = (
            f"public, max-age={_YEAR}, immutable" if versioned else "no-cache"
        )
        return response


def files_below(path: str, folder: Path) -> Mount:
    """Return the route to the files of a folder, which are compressed for who wants it."""
    return Mount(path, GZipMiddleware(StaticFolder(directory=folder)))

"""Health, for those who start and stop servers: whether it lives, and whether it can answer."""

from starlette.requests import Request
from starlette.responses import JSONResponse

from server.watching import CatalogWatch


class Readiness:
    """Whether the catalog could be read at the last look, and why not."""

    def __init__(self, watch: CatalogWatch) -> None:
        self._watch = watch

    async def ready(self, _request: Request) -> JSONResponse:
        """Answer 200 while the catalog can be read, else 503 with the reason."""
        problem = self._watch.problem
        if problem is not None:
            return JSONResponse({"status": "not ready", "reason": problem}, status_code=503)
        revisions = len(self._watch.catalog.history.revisions)
        return JSONResponse({"status": "ready", "revisions": revisions})


async def live(_request: Request) -> JSONResponse:
    """Answer 200 as long as the process serves at all."""
    return JSONResponse({"status": "live"})

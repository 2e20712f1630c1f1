"""The web application, built in one function from explicit lists."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.errors import incident
from server.access_log import TIME_FORMAT, AccessLog
from server.graphiql import StaticFolder, graphiql_page
from server.graphql import GraphQLEndpoint
from server.health import Readiness, live
from server.settings import Settings, settings_from
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.errors import CatalogError
from snapshots.wording import counted

GRAPHQL_PATH = "/graphql"
STATIC = Path(__file__).with_name("static")

_log = logging.getLogger("cachelog.server")


class Direct:
    """Middleware that hands one path to its application without the cost of routing."""

    def __init__(self, app: ASGIApp, path: str, target: ASGIApp) -> None:
        self._app = app
        self._path = path
        self._target = target

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        direct = scope["type"] == "http" and scope["path"] == self._path
        await (self._target if direct else self._app)(scope, receive, send)


def create_app(settings: Settings) -> Starlette:
    """Build the application; nothing is read before it starts."""
    catalog = Catalog(settings.catalog)
    library = Library(
        catalog,
        frame_bytes=settings.frame_cache,
        comparison_bytes=settings.comparison_cache,
    )
    readiness = Readiness(catalog)
    endpoint = GraphQLEndpoint(
        catalog,
        library,
        page=lambda: graphiql_page(catalog.history, STATIC),
        cache_bytes=settings.response_cache,
        max_body=settings.max_body,
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(_look, readiness)
        watching = asyncio.create_task(_watch(readiness, settings.refresh))
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    middleware = []
    if settings.access_log:
        middleware.append(Middleware(AccessLog))
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(settings.cors_origins),
                allow_methods=["GET", "HEAD", "POST"],
                allow_headers=["*"],
                expose_headers=["ETag"],
                max_age=86_400,
            )
        )
    middleware.append(Middleware(Direct, path=GRAPHQL_PATH, target=endpoint))
    return Starlette(
        routes=[
            Route("/", _home),
            Route("/health/live", live),
            Route("/health/ready", readiness.ready),
            Mount("/static", GZipMiddleware(StaticFolder(directory=STATIC, check_dir=False))),
        ],
        middleware=middleware,
        exception_handlers={Exception: _internal_error},
        lifespan=lifespan,
    )


def app_from_environ() -> Starlette:
    """Build the application as each worker process does: from CACHELOG_* variables."""
    form = logging.Formatter("%(asctime)s %(name)s %(message)s", TIME_FORMAT)
    form.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(form)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return create_app(settings_from(os.environ))


async def _watch(readiness: Readiness, seconds: float) -> None:
    """Look for new revisions again and again."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await asyncio.to_thread(_look, readiness)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next look may be better
            readiness.problem = incident(error)["message"]


def _look(readiness: Readiness) -> None:
    try:
        if readiness.catalog.refresh():
            revisions = len(readiness.catalog.history.revisions)
            _log.info("the catalog has %s", counted(revisions, "revision"))
    except CatalogError as error:
        if readiness.problem != error.reason:
            _log.warning("%s", error)
        readiness.problem = error.reason
    else:
        readiness.problem = None


async def _home(_request: Request) -> Response:
    return RedirectResponse(GRAPHQL_PATH)


async def _internal_error(_request: Request, error: Exception) -> Response:
    shown = incident(error)
    return JSONResponse({"errors": [shown]}, status_code=500)

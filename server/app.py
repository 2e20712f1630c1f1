"""The web application, built in one function from explicit lists."""

import gc
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from schema.api import API
from schema.errors import incident
from server import logs
from server.asgi import exchanges
from server.asgi.bodies import Bodies
from server.asgi.lanes import PATIENCE, Lanes
from server.asgi.responses import ResponseSender
from server.asgi.static_folder import STATIC, files_below
from server.feeds import FEEDS_PREFIX, FeedsEndpoint
from server.graphiql.editor import graphiql_page
from server.graphql.answers import Answers
from server.graphql.endpoint import GraphQLEndpoint, SchemaText
from server.graphql.execution import Execution
from server.logs import AccessLog
from server.metrics import Metrics, note
from server.pages.addresses import Address, PageRoute, Query, without_slash
from server.pages.check import FORM, PLAN_FORM, CheckEndpoint, PlanEndpoint
from server.pages.documents import DocumentRunner
from server.pages.endpoint import PageContext, PageEndpoint
from server.pages.renderer import STATIC as PAGES_STATIC
from server.pages.renderer import Renderer
from server.pages.routes import PAGES
from server.settings import Settings, settings_from
from server.watch import CatalogWatch, live, ready
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.program import cachelog_version

GRAPHQL_PATH = "/graphql"

CATALOG_RETRY_SECONDS = 3.0
"""How long failed requests to object storage are retried, in seconds; a client is waiting."""

_SWITCH_SECONDS = 0.001
"""Seconds that a computing thread may keep others waiting; Python's default is 5 ms."""


class Application(Starlette):
    """Starlette without its error responses: Exchanges responds to errors, as to all requests."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return the ASGI application, beginning with the first middleware."""
        stack: Any = super().build_middleware_stack()
        inner: ASGIApp = stack.app
        return inner


class _GraphQLFirst(msgspec.Struct, frozen=True, eq=False):
    """Passes requests for GRAPHQL_PATH to its endpoint, without a search of the routes."""

    app: ASGIApp
    endpoint: ASGIApp

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        is_graphql = scope["type"] == "http" and scope["path"] == GRAPHQL_PATH
        return (self.endpoint if is_graphql else self.app)(scope, receive, send)


def create_app(
    settings: Settings,
    addresses: Callable[[str, Query], Address] = Address,
    *,
    patience: float = PATIENCE,
) -> Application:
    """Build the application. The catalog is first read when the application starts.

    ``addresses`` returns the address of a page from a path and a query; its links are made from it.
    Work waits for a thread for up to ``patience`` seconds.
    """
    catalog = Catalog(settings.catalog, retry_seconds=CATALOG_RETRY_SECONDS)
    library = Library(
        catalog,
        frame_bytes=settings.frame_cache,
        comparison_bytes=settings.comparison_cache,
        recipes_url=settings.recipes_url,
        public_url=settings.public_address(),
        observe=_spans(),
    )
    watch = CatalogWatch(catalog, settings.refresh)
    lanes = Lanes.of_server(patience)
    is_open = settings.introspection
    api = API(settings.limits(), introspection=is_open)
    execution = Execution(api, catalog, library, lanes)
    answers = Answers(catalog, execution, lanes, cache_bytes=settings.response_cache)
    sender = ResponseSender(answers.responses, lanes.light)
    bodies = Bodies(settings.max_body)
    endpoint = GraphQLEndpoint(
        answers,
        sender,
        page=(lambda: graphiql_page(catalog.history, STATIC)) if is_open else None,
        bodies=bodies,
    )

    feeds = FeedsEndpoint(catalog, library, execution.history_answers, sender, lanes)

    pages = PageContext(
        catalog,
        DocumentRunner(execution, lanes),
        Renderer(
            public_url=settings.public_address(),
            has_graphiql=is_open,
            recipes_url=settings.recipes_url,
        ),
        sender,
        addresses,
    )

    metrics = Metrics(watch, library, answers, execution)
    observers: list[exchanges.Observer] = [note] if settings.metrics else []
    if settings.access_log:
        observers.append(AccessLog(as_json=settings.log_format == "json").note)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with watch.running(), metrics.running():
            yield
        lanes.close()

    schema_text = SchemaText(sender)
    routes: list[BaseRoute] = [
        *([Route("/metrics", metrics.show)] if settings.metrics else []),
        PageRoute(FORM.path, CheckEndpoint(pages, bodies)),
        PageRoute(PLAN_FORM.path, PlanEndpoint(pages, bodies)),
        *(PageRoute(page.path, PageEndpoint(page, pages)) for page in PAGES),
        Route(f"{GRAPHQL_PATH}/", _without_slash, methods=["GET", "POST", "OPTIONS"]),
        *([Route("/schema.graphql", schema_text)] if is_open else []),
        Route(f"{FEEDS_PREFIX}{{path:path}}", feeds, methods=["GET"]),
        Route("/health/live", live),
        Route("/health/ready", partial(ready, watch)),
        files_below("/static/pages", PAGES_STATIC, sender),
        files_below("/static", STATIC, sender),
    ]
    middleware = [
        Middleware(
            exchanges.Exchanges,
            ids=exchanges.RequestIds(),
            observers=observers,
            failure=_internal_error,
        )
    ]
    if settings.trusted_proxies:
        proxies = list(settings.trusted_proxies)
        middleware.append(Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies))
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(settings.cors_origins),
                allow_methods=["GET", "HEAD", "POST"],
                allow_headers=["*"],
                expose_headers=["ETag", "X-Request-ID"],
                max_age=86_400,
            )
        )
    app = Application(
        routes=routes,
        middleware=[*middleware, Middleware(_GraphQLFirst, endpoint=endpoint)],
        lifespan=lifespan,
        exception_handlers={404: pages.nowhere},
    )
    # Such redirects would lead to the host that the client names.
    app.router.redirect_slashes = False
    return app


def app_from_environ() -> Application:
    """Build the application from CACHELOG_* variables, in each worker process."""
    settings = settings_from(os.environ)
    logs.configure(settings.log_format)
    app = create_app(settings)
    gc.collect()
    gc.freeze()  # later collections need not examine the modules and the schema
    # With two computing threads, the event loop then responds three times faster.
    sys.setswitchinterval(_SWITCH_SECONDS)
    return app


def _spans() -> Callable[[str], AbstractContextManager[Any]]:
    """Return what makes a span of OpenTelemetry, whose own command configures them, if at all."""
    try:
        from opentelemetry.trace import get_tracer
    except ModuleNotFoundError:
        return nullcontext
    return get_tracer("cachelog", cachelog_version()).start_as_current_span


async def _without_slash(request: Request) -> Response:
    """Redirect to the address without the slash. With status 308, a POST remains a POST."""
    return RedirectResponse(without_slash(request.scope) or GRAPHQL_PATH, status_code=308)


def _internal_error(error: Exception) -> Response:
    return JSONResponse({"errors": [incident(error)]}, status_code=500)

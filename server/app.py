"""The web application, built in one function from explicit lists."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from schema.api import API
from schema.errors import incident
from server import logs
from server.asgi import exchanges
from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.asgi.responses import ResponseSender
from server.asgi.room import Incoming, Outgoing
from server.asgi.static_folder import STATIC, documentation_at, files_below
from server.feeds import FEEDS_PREFIX, FeedsEndpoint
from server.graphiql.editor import graphiql_page, missing_assets
from server.graphql.answers import Answers
from server.graphql.endpoint import DirectAnswers, GraphQLEndpoint, SchemaText, proxy_reader
from server.graphql.execution import Execution
from server.graphql.persisted_documents import read_manifest
from server.http.cycles import DirectResponder
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
from server.tracing import tracing_from
from server.watch import CatalogWatch, live, ready
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library

GRAPHQL_PATH = "/graphql"

_RETRY_SECONDS = 3.0
"""How long failed requests to object storage are retried, in seconds; a client is waiting."""

_SWITCH_SECONDS = 0.001
"""Seconds that a computing thread may keep others waiting; Python's default is 5 ms."""


class Application(Starlette):
    """Starlette without its error responses: Exchanges responds to errors, as to all requests."""

    at_once: DirectResponder | None = None
    """Answers requests without ASGI; the server tries it first."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return the ASGI application, beginning with the first middleware."""
        stack: Any = super().build_middleware_stack()
        inner: ASGIApp = stack.app
        return inner


def create_app(
    settings: Settings, addresses: Callable[[str, Query], Address] = Address
) -> Application:
    """Build the application. The catalog is first read when the application starts.

    ``addresses`` returns the address of a page from a path and a query; its links are made from it.
    """
    catalog = Catalog(settings.catalog, retry_seconds=_RETRY_SECONDS)
    tracing = tracing_from(settings)
    library = Library(
        catalog,
        frame_bytes=settings.frame_cache,
        comparison_bytes=settings.comparison_cache,
        recipes_url=settings.recipes_url,
        observe=tracing.span if tracing else nullcontext,
    )
    is_trusted = exchanges.trusted_among(settings.trusted_proxies)
    watch = CatalogWatch(catalog, settings.refresh)
    lanes = Lanes.of(settings)
    api = API(
        settings.limits(), introspection=settings.introspection, suggestions=settings.suggestions
    )
    execution = Execution(api, catalog, library, lanes)
    answers = Answers(
        catalog,
        execution,
        lanes,
        cache_bytes=settings.response_cache,
        documents=read_manifest(Path(settings.documents)) if settings.documents else None,
    )
    sender = ResponseSender(answers.responses, lanes.compressing)
    allowances = Allowances(requests=settings.requests_per_minute, cost=settings.cost_per_minute)
    outgoing = Outgoing(settings.sending_bytes)
    incoming = Incoming(settings.max_body, settings.reading_bytes)
    endpoint = GraphQLEndpoint(
        answers,
        sender,
        page=(lambda: graphiql_page(catalog.history, STATIC)) if settings.graphiql else None,
        incoming=incoming,
        outgoing=outgoing,
        allowances=allowances,
    )

    feeds = FeedsEndpoint(catalog, library, execution.history_answers, sender, lanes, allowances)

    docs = settings.documentation()
    pages = PageContext(
        catalog,
        DocumentRunner(execution, lanes, allowances),
        Renderer(
            public_url=settings.public_address(),
            has_graphiql=settings.graphiql,
            has_docs=docs is not None,
            recipes_url=settings.recipes_url,
        ),
        sender,
        outgoing,
        addresses,
    )

    metrics = Metrics(watch, library, answers, execution)
    access_log = AccessLog(as_json=settings.log_format == "json")
    observers: list[exchanges.Observer] = [note] if settings.metrics else []
    if settings.access_log:
        observers.append(access_log.note)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with watch.running(), metrics.running():
            yield
        access_log.flush()
        lanes.close()
        if tracing:
            await asyncio.to_thread(tracing.close)

    schema_text = SchemaText(sender)
    routes: list[BaseRoute] = [
        Route(GRAPHQL_PATH, endpoint),
        *([Route("/metrics", metrics.show)] if settings.metrics else []),
        *(
            [
                PageRoute(FORM.path, CheckEndpoint(pages, incoming)),
                PageRoute(PLAN_FORM.path, PlanEndpoint(pages, incoming)),
                *(PageRoute(page.path, PageEndpoint(page, pages)) for page in PAGES),
            ]
            if settings.pages
            else [Route("/", _home)]
        ),
        Route(f"{GRAPHQL_PATH}/", _without_slash, methods=["GET", "POST", "OPTIONS"]),
        *([Route("/schema.graphql", schema_text)] if settings.introspection else []),
        Route(f"{FEEDS_PREFIX}{{path:path}}", feeds),
        Route("/health/live", live),
        Route("/health/ready", partial(ready, watch)),
        files_below("/static/pages", PAGES_STATIC, allowances, sender),
        files_below("/static", STATIC, allowances, sender),
        *(documentation_at("/docs", docs, allowances, sender) if docs else []),
    ]
    ids = exchanges.RequestIds(is_trusted)
    headers = exchanges.SecurityHeaders(
        needs_cdn=bool(missing_assets(STATIC)), frame_ancestors=settings.framing()
    )
    middleware = [
        Middleware(
            exchanges.Exchanges,
            ids=ids,
            headers=headers,
            observers=observers,
            failure=_internal_error,
        )
    ]
    if tracing:
        middleware.insert(0, Middleware(tracing.middleware, is_trusted=is_trusted, routes=routes))
    if settings.trusted_proxies:
        # Exchanges is outside of this: it needs the proxy's own address to judge request ids.
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
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers={404: pages.nowhere} if settings.pages else None,
    )
    # Such redirects would lead to the host that the client names.
    app.router.redirect_slashes = False
    if tracing is None:  # requests without ASGI have no spans
        app.at_once = DirectAnswers(
            answers,
            GRAPHQL_PATH,
            allowances=allowances,
            outgoing=outgoing,
            ids=ids,
            headers=headers,
            observers=observers,
            turns=lanes.turns,
            behind_proxies=proxy_reader(settings.trusted_proxies),
            has_cors=bool(settings.cors_origins),
        )
    return app


def app_from_environ() -> Application:
    """Build the application from CACHELOG_* variables, in each worker process."""
    settings = settings_from(os.environ)
    logs.configure(settings.log_format)
    app = create_app(settings)
    keep_collections_short()
    # With two computing threads, the event loop then responds three times faster.
    sys.setswitchinterval(_SWITCH_SECONDS)
    return app


async def _home(_request: Request) -> Response:
    return RedirectResponse(GRAPHQL_PATH)


async def _without_slash(request: Request) -> Response:
    """Redirect to the address without the slash. With status 308, a POST remains a POST."""
    return RedirectResponse(without_slash(request.scope) or GRAPHQL_PATH, status_code=308)


def _internal_error(error: Exception) -> Response:
    return JSONResponse({"errors": [incident(error)]}, status_code=500)


_FULL = 2
"""The oldest generation, which full collections include."""

_OF_EVERYTHING = 64
"""Number of full collections after which one also examines the excluded objects."""


def keep_collections_short(of_everything: int = _OF_EVERYTHING) -> None:
    """Collect all garbage, and exclude objects that survive a full collection from later ones.

    Those that become garbage are collected by every ``of_everything``-th full collection, which
    examines all objects. They are few: objects of requests that were being processed.
    """
    numbers = count(1)

    def handle(phase: str, info: dict[str, Any]) -> None:
        if phase == "stop" and info["generation"] == _FULL:
            if next(numbers) % of_everything:
                gc.freeze()
            else:
                gc.unfreeze()  # the next full collection examines all objects

    gc.collect()
    gc.freeze()
    gc.callbacks.append(handle)

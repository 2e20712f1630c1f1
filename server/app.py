"""The web application, built in one function from explicit lists."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from server.asgi.allowances import Allowances
from server.asgi.exchanges import Exchanges, Observer, Tracing
from server.asgi.lanes import Lanes
from server.asgi.path_shortcut import PathShortcut
from server.asgi.request_ids import IsTrusted, RequestIds, trusted_among
from server.asgi.security_headers import SecurityHeaders
from server.asgi.static_folder import STATIC, files_below
from server.environment import settings_from
from server.feeds.chronicle import AnsweredChronicle
from server.feeds.endpoint import PREFIX as FEEDS_PREFIX
from server.feeds.endpoint import FeedsEndpoint
from server.feeds.making import FeedMaker
from server.garbage import ShortCollections
from server.gauges import Gauges
from server.graphiql.page import graphiql_page, missing_assets
from server.graphql.answers import Answers
from server.graphql.endpoint import GraphQLEndpoint
from server.graphql.event_streams import EventStreams
from server.graphql.execution import Execution
from server.graphql.incoming import Incoming
from server.graphql.kept_answers import KeptAnswers, client_finder
from server.graphql.manifest import read_manifest
from server.graphql.outgoing import Outgoing
from server.graphql.schema_text import SchemaText
from server.graphql.shared_events import SharedEvents
from server.health import Readiness, live
from server.http.at_once import AnswersAtOnce
from server.logs import formats
from server.logs.access_log import AccessLog
from server.metrics.page import MetricsPage
from server.metrics.sharing import SharedTallies
from server.metrics.tallies import Recorder
from server.pages.asking import Asker
from server.pages.checking import FORM, CheckEndpoint
from server.pages.endpoint import NoPage, PageContext, PageEndpoint
from server.pages.rendering import STATIC as PAGES_STATIC
from server.pages.rendering import Renderer
from server.pages.routes import PAGES
from server.pages.routing import PageRoute
from server.settings import Settings
from server.tracing.spans import NoSpans, Spans, telemetry_from
from server.watching import CatalogWatch
from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog

if TYPE_CHECKING:
    from server.tracing.telemetry import Telemetry

GRAPHQL_PATH = "/graphql"

_RETRY_SECONDS = 3.0
"""How long a request to object storage that fails is tried again: somebody waits for an answer."""

_SWITCH_SECONDS = 0.001
"""How long a thread that computes may keep others waiting; Python's default is 5 ms."""


class Application(Starlette):
    """Starlette without its own answer to errors: Exchanges answers them, as everything."""

    at_once: AnswersAtOnce | None = None
    """What the server asks before it goes by way of ASGI."""

    drain: Callable[[], None] | None = None
    """What the server calls when it is told to stop: answers without an end come to one."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return what answers requests, from the first middleware on."""
        stack: Any = super().build_middleware_stack()
        inner: ASGIApp = stack.app
        return inner


def create_app(settings: Settings) -> Application:
    """Build the application; nothing of the catalog is read before it starts."""
    catalog = Catalog(settings.catalog, retry_seconds=_RETRY_SECONDS)
    library = Library(
        catalog,
        frame_bytes=settings.frame_cache,
        comparison_bytes=settings.comparison_cache,
    )
    is_trusted = trusted_among(settings.trusted_proxies) if settings.trusted_proxies else None
    telemetry = telemetry_from(settings)
    spans: Spans = telemetry or NoSpans()
    watch = CatalogWatch(catalog, settings.refresh, spans, max_subscribers=settings.subscriptions())
    lanes = Lanes.of(settings)
    api = API(
        settings.limits(),
        introspection=settings.introspection,
        suggestions=settings.suggestions,
    )
    execution = Execution(api, catalog, library, lanes)
    answers = Answers(
        catalog,
        execution,
        lanes,
        cache_bytes=settings.response_cache,
        documents=read_manifest(Path(settings.documents)) if settings.documents else None,
    )
    allowances = Allowances(
        requests=settings.requests_per_minute,
        cost=settings.cost_per_minute,
        is_trusted=is_trusted,
    )
    outgoing = Outgoing(settings.sending_bytes)
    streams = EventStreams(
        answers,
        execution,
        SharedEvents(catalog, execution, outgoing),
        watch.publications,
        outgoing,
        heartbeat=settings.heartbeat,
    )
    incoming = Incoming(settings.max_body, settings.reading_bytes)
    endpoint = GraphQLEndpoint(
        answers,
        lanes,
        page=(lambda: graphiql_page(catalog.history, STATIC)) if settings.graphiql else None,
        incoming=incoming,
        outgoing=outgoing,
        allowances=allowances,
        streams=streams,
    )

    maker = FeedMaker(library, AnsweredChronicle(execution.answers), lanes)
    feeds = FeedsEndpoint(catalog, maker, answers.responses, lanes, allowances)

    pages = PageContext(
        catalog,
        Asker(execution, lanes, allowances),
        Renderer(public_url=settings.public_address(), has_graphiql=settings.graphiql),
        answers.responses,
        lanes,
        allowances,
        outgoing,
    )

    recorder = Recorder(Gauges(watch, library, answers, execution, maker))
    folder = Path(settings.metrics_dir) if settings.metrics_dir else None
    tallies = SharedTallies(recorder, folder)
    observers: list[Observer] = [recorder] if settings.metrics else []
    if settings.access_log:
        observers.append(AccessLog(as_json=settings.log_format == "json"))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with watch.running(), tallies.running():
            yield
        lanes.close()
        await asyncio.to_thread(spans.close)

    routes: list[BaseRoute] = [
        *([Route("/metrics", MetricsPage(tallies).show)] if settings.metrics else []),
        *(
            [
                PageRoute(FORM.path, CheckEndpoint(pages, incoming)),
                *(PageRoute(page.path, PageEndpoint(page, pages)) for page in PAGES),
            ]
            if settings.pages
            else [Route("/", _home)]
        ),
        Route(f"{GRAPHQL_PATH}/", _without_slash, methods=["GET", "POST", "OPTIONS"]),
        *([Route("/schema.graphql", SchemaText())] if settings.introspection else []),
        Route(f"{FEEDS_PREFIX}{{path:path}}", feeds),
        Route("/health/live", live),
        Route("/health/ready", Readiness(watch).ready),
        files_below("/static/pages", PAGES_STATIC, allowances, lanes.compressing),
        files_below("/static", STATIC, allowances, lanes.compressing),
    ]
    ids, headers = RequestIds(is_trusted), SecurityHeaders(needs_cdn=bool(missing_assets(STATIC)))
    middleware = [
        Middleware(
            Exchanges,
            ids=ids,
            headers=headers,
            observers=observers,
            failure=_internal_error,
            tracing=None if telemetry is None else _request_spans(telemetry, is_trusted, routes),
        )
    ]
    if settings.trusted_proxies:
        # Inside of what reads the id of a request, which is to see the proxy's own address.
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
    middleware.append(Middleware(PathShortcut, path=GRAPHQL_PATH, target=endpoint))
    app = Application(
        routes=routes,
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers={404: NoPage(pages)} if settings.pages else None,
    )
    # They would lead to whatever host the client names.
    app.router.redirect_slashes = False
    app.drain = watch.publications.close
    if telemetry is None:  # spans belong to ASGI's way
        app.at_once = KeptAnswers(
            endpoint,
            GRAPHQL_PATH,
            ids=ids,
            headers=headers,
            observers=observers,
            client_of=client_finder(settings.trusted_proxies),
            has_cors=bool(settings.cors_origins),
        )
    return app


def app_from_environ() -> Application:
    """Build the application as each worker process does: from CACHELOG_* variables."""
    settings = settings_from(os.environ)
    formats.configure(settings.log_format)
    app = create_app(settings)
    ShortCollections().begin()
    # Beside two threads that compute, the event loop answers three times sooner so.
    sys.setswitchinterval(_SWITCH_SECONDS)
    return app


def _request_spans(
    telemetry: "Telemetry", is_trusted: IsTrusted | None, routes: Sequence[BaseRoute]
) -> Tracing:
    from server.tracing.requests import RequestSpans, route_finder

    return RequestSpans(telemetry.tracer, is_trusted, route_finder(routes, GRAPHQL_PATH))


async def _home(_request: Request) -> Response:
    return RedirectResponse(GRAPHQL_PATH)


async def _without_slash(request: Request) -> Response:
    """Lead to the address without the slash; a POST remains one (308)."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"..{GRAPHQL_PATH}{query}", status_code=308)


def _internal_error(error: Exception) -> Response:
    return JSONResponse({"errors": [incident(error)]}, status_code=500)

"""Applications to serve beside cachelog's, made as uvicorn's factories: settings in os.environ."""

import logging
import os

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send
from strawberry.asgi import GraphQL
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema import api
from schema.context import Context
from server.app import create_app
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library

BODY_BYTES = "BENCHMARK_BODY_BYTES"
CATALOG = "BENCHMARK_CATALOG"


def bare() -> ASGIApp:
    """Return an application that reads each request and sends so many bytes, and does no more."""
    body = b"x" * int(os.environ[BODY_BYTES])
    headers = [
        (b"content-length", str(len(body)).encode()),
        (b"content-type", b"application/json"),
    ]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def strawberry_as_it_comes() -> ASGIApp:
    """Return Strawberry's own application, with its own executor, over cachelog's schema."""
    catalog = Catalog(os.environ[CATALOG])
    catalog.refresh()
    library = Library(catalog)
    api.schema.execution_context_class = StrawberryGraphQLCoreExecutionContext

    class View(GraphQL[Context, None]):
        async def get_context(self, request: object, response: object) -> Context:  # noqa: ARG002
            return Context(catalog, library)

    return View(api.schema)


def by_uvicorn_alone() -> ASGIApp:
    """Return cachelog's application, of which uvicorn asks nothing but by ASGI."""
    return _cachelog()


def with_uvicorns_access_log() -> ASGIApp:
    """Return cachelog's application, logged as uvicorn does by itself."""
    access = logging.getLogger("uvicorn.access")
    access.setLevel(logging.INFO)
    access.handlers, access.propagate = [_handler()], False
    return _cachelog()


def _handler() -> logging.Handler:
    from uvicorn.logging import AccessFormatter

    handler = logging.StreamHandler()
    handler.setFormatter(AccessFormatter('%(client_addr)s - "%(request_line)s" %(status_code)s'))
    return handler


def _cachelog() -> Starlette:
    return create_app(Settings(catalog=os.environ[CATALOG], access_log=False))

"""Factories of other applications, configured by environment variables, for comparison."""

import os

from starlette.types import ASGIApp, Receive, Scope, Send
from strawberry.asgi import GraphQL
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema import api
from schema.context import Context
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library

BODY_BYTES = "BENCHMARK_BODY_BYTES"
CATALOG = "BENCHMARK_CATALOG"


def bare() -> ASGIApp:
    """Return an application that only reads each request and sends a fixed number of bytes."""
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
    """Return Strawberry's own application with its own executor, for cachelog's schema."""
    catalog = Catalog(os.environ[CATALOG])
    catalog.refresh()
    library = Library(catalog)
    api.schema.execution_context_class = StrawberryGraphQLCoreExecutionContext

    class View(GraphQL[Context, None]):
        async def get_context(self, request: object, response: object) -> Context:  # noqa: ARG002
            return Context(catalog, library)

    return View(api.schema)

"""A query in this process: by Strawberry's executor, by cachelog's, and by the application.

Strawberry and "execution alone" differ only in the executor class; documents are parsed once for
both. The application caches no responses.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import AsyncExitStack
from functools import partial
from time import perf_counter
from typing import Any

import orjson
from starlette.types import Scope
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.context import Context
from schema.execution.executor import RenderingExecutor
from server.app import GRAPHQL_PATH, Application, create_app
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.measurements import Measurement, Turn, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.queries import QUERIES, request_body, require_same
from tests.schema.default_api import api

Respond = Callable[[], Coroutine[Any, Any, bytes]]
"""Computes one response."""


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure one of the queries: the time to its answer as JSON bytes."""
    query, catalog = QUERIES[name], plan.data.opened()
    library = Library(catalog)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        app = runner.run(started(stack, plan, response_cache=0))
        scope = request_scope("POST", GRAPHQL_PATH, {"content-type": "application/json"})
        contenders = {
            "Strawberry as it comes": _executing(
                query, catalog, library, StrawberryGraphQLCoreExecutionContext
            ),
            "cachelog: execution alone": _executing(query, catalog, library, RenderingExecutor),
            "cachelog: whole application": responding(app, scope, request_body(query)),
        }
        require_same({contender: runner.run(it()) for contender, it in contenders.items()})
        turns = turns_of(runner, contenders, plan.seconds)
        yield from measure(name, "in process", turns, unit="ms", rounds=plan.rounds)
        runner.run(stack.aclose())


def turns_of(
    runner: asyncio.Runner, contenders: Mapping[str, Respond], seconds: float
) -> dict[str, Turn]:
    """Return the turns of contenders, each of which measures its average over some seconds."""

    def turn(respond: Respond) -> float:
        return runner.run(_average(respond, seconds))

    return {name: partial(turn, respond) for name, respond in contenders.items()}


async def _average(respond: Respond, seconds: float) -> float:
    """Return the milliseconds per call, including garbage collections."""
    calls, elapsed, start = 0, 0.0, perf_counter()
    while elapsed < seconds or not calls:
        await respond()
        calls += 1
        elapsed = perf_counter() - start
    return elapsed / calls * 1_000


def _executing(query: str, catalog: Catalog, library: Library, executor: type[Any]) -> Respond:
    async def respond() -> bytes:
        answer = api.execute(query, context=Context(catalog, library), executor=executor)
        return orjson.dumps(answer.body())

    return respond


async def started(stack: AsyncExitStack, plan: Plan, *, response_cache: int) -> Application:
    """Start the application with a cache of responses of some bytes, until the stack is closed."""
    app = create_app(
        Settings(catalog=str(plan.data.catalog), response_cache=response_cache, access_log=False)
    )
    await stack.enter_async_context(app.router.lifespan_context(app))
    return app


def request_scope(method: str, target: str, headers: Mapping[str, str]) -> Scope:
    """Return the ASGI scope of a request."""
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [
            (name.encode(), value.encode())
            for name, value in {"host": "localhost", **headers}.items()
        ],
        "client": ("127.0.0.1", 40_000),
        "server": ("127.0.0.1", 8_000),
    }


def responding(app: Application, scope: Scope, body: bytes = b"") -> Respond:
    """Send a request to an application; the status of its responses must be 200."""

    async def respond() -> bytes:
        chunks: list[bytes] = []
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            # The client never disconnects.
            return messages.pop() if messages else await asyncio.Future()

        async def send(message: MutableMapping[str, Any]) -> None:
            assert message.get("status", 200) == 200, (scope["path"], message)
            chunks.append(message.get("body", b""))

        await app(dict(scope), receive, send)
        return b"".join(chunks)

    return respond

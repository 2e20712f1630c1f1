"""A query in this process: Strawberry as it comes, and cachelog with and without kept responses.

Strawberry and "execution alone" differ in nothing but the executor class; documents are parsed
once for both. The whole application is asked as a server asks it: the cold one keeps no responses,
the hot one does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import AsyncExitStack
from functools import partial
from time import perf_counter
from typing import Any

import orjson
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.context import Context
from schema.execution.executor import RenderingExecutor
from server.app import GRAPHQL_PATH, create_app
from server.http.cycles import ReadyAnswer
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.measurements import Measurement, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.queries import QUERIES, request_body, require_same
from tests.schema.usual import api

Ask = Callable[[], Awaitable[bytes]]


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure one of the queries: the time to its answer as JSON bytes."""
    query, catalog = QUERIES[name], plan.data.opened()
    library = Library(catalog)
    with asyncio.Runner() as runner:
        running = AsyncExitStack()
        asked: dict[str, Ask] = {
            "Strawberry as it comes": _executing(
                query, catalog, library, StrawberryGraphQLCoreExecutionContext
            ),
            "cachelog: execution alone": _executing(query, catalog, library, RenderingExecutor),
        }
        for temper, kept in (("cold", 0), ("hot", Settings().response_cache)):
            settings = Settings(
                catalog=str(plan.data.catalog), response_cache=kept, access_log=False
            )
            asked[f"cachelog: whole application, {temper}"] = runner.run(
                _serving(running, settings, query)
            )
        require_same({contender: runner.run(_once(ask)) for contender, ask in asked.items()})
        turns = {
            contender: partial(_turn, runner, ask, plan.seconds) for contender, ask in asked.items()
        }
        yield from measure(name, "in process", turns, unit="ms", rounds=plan.rounds)
        runner.run(running.aclose())


def _turn(runner: asyncio.Runner, ask: Ask, seconds: float) -> float:
    return runner.run(average(ask, seconds))


async def average(ask: Ask, seconds: float) -> float:
    """Return the milliseconds of a call, collections of garbage included."""
    calls, elapsed, started = 0, 0.0, perf_counter()
    while elapsed < seconds or not calls:
        await ask()
        calls += 1
        elapsed = perf_counter() - started
    return elapsed / calls * 1_000


async def _once(ask: Ask) -> bytes:
    return await ask()


def _executing(query: str, catalog: Catalog, library: Library, executor: type[Any]) -> Ask:
    async def ask() -> bytes:
        answer = api.execute(query, context=Context(catalog, library), executor=executor)
        return orjson.dumps(answer.body())

    return ask


async def _serving(running: AsyncExitStack, settings: Settings, query: str) -> Ask:
    """Start the application and return what asks it as its server does.

    That is for what it has ready first, and else by ASGI.
    """
    app = create_app(settings)
    await running.enter_async_context(app.router.lifespan_context(app))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": GRAPHQL_PATH,
        "raw_path": GRAPHQL_PATH.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 40_000),
        "server": ("127.0.0.1", 8_000),
    }
    body = request_body(query)
    request = {"type": "http.request", "body": body, "more_body": False}

    async def ask() -> bytes:
        asked = dict(scope)
        ready = app.at_once(asked, body) if app.at_once else None
        if ready is not None and not isinstance(ready, ReadyAnswer):
            ready = ready()
        if ready is not None:
            if ready.held is not None:
                ready.held.leave()  # as a connection does whose client has read all of it
            return ready.body
        parts: list[bytes] = []
        messages = iter([request])

        async def receive() -> dict[str, Any]:
            for message in messages:
                return message
            return await asyncio.Future()  # this client never hangs up

        async def send(message: MutableMapping[str, Any]) -> None:
            parts.append(message.get("body", b""))

        await app(asked, receive, send)
        return b"".join(parts)

    return ask

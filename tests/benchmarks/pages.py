"""``pages``: each page, compared with the execution of its GraphQL document.

Revisions and comparisons are loaded before. "Cold" caches no pages; "repeated" does.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import AsyncExitStack
from functools import partial
from time import perf_counter
from typing import Any

import orjson
from starlette.routing import Match
from starlette.types import Scope

from schema.context import Context
from server.app import Application, create_app
from server.pages.addresses import PageRoute, given
from server.pages.routes import PAGES, Page
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.measurements import Measurement, Turn, measure, set_aside
from tests.benchmarks.plans import Plan
from tests.schema.default_api import api
from tests.server.pages.tour import tour
from tests.server.servers import application

Respond = Callable[[], Coroutine[Any, Any, bytes]]
"""Computes one response."""

_OF_COMMITS = ("commit", "compare_rebuilt")
"""The documents of pages about commits, which the synthetic catalog does not have."""

_ALONE = "its document alone"
_COLD, _REPEATED = "cachelog: the page, cold", "cachelog: the page, repeated"
_HTML = "cachelog: its HTML"


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure each page: the milliseconds to render it, and its size in kB."""
    catalog = plan.data.opened()
    library = Library(catalog)
    scopes = _scopes(plan)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        cold, hot = (
            runner.run(_started(stack, plan, response_cache=size))
            for size in (0, Settings().response_cache)
        )
        set_aside()
        for page, scope in scopes:
            contenders = {
                _ALONE: _executing(page, scope, catalog, library),
                _COLD: _responding(cold, scope),
                _REPEATED: _responding(hot, scope),
            }
            bodies = {name: runner.run(respond()) for name, respond in contenders.items()}
            turns = _turns_of(runner, contenders, plan.seconds / 4)
            yield from measure("pages", page.path, turns, unit="ms", rounds=plan.rounds)
            size = len(bodies[_COLD]) / 1_000
            yield Measurement("pages", page.path, _HTML, "kB", [size])
        runner.run(stack.aclose())


def _scopes(plan: Plan) -> list[tuple[Page, Scope]]:
    """Return each page with a request: the first one of the tour."""
    with application(Settings(catalog=str(plan.data.catalog), access_log=False)) as client:
        targets = tour(client).values()
    scopes = [_request_scope(target) for target in targets]
    first: dict[str, tuple[Page, Scope]] = {}
    for page in PAGES:
        for scope in scopes:
            match, found = PageRoute(page.path, _nothing).matches(scope)
            if match is Match.FULL and page.document_name not in _OF_COMMITS:
                first.setdefault(page.path, (page, {**scope, **found}))
    return list(first.values())


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    pass


def _executing(page: Page, scope: Scope, catalog: Catalog, library: Library) -> Respond:
    variables = page.document.variables(page.document.known(given(scope)))

    async def respond() -> bytes:
        answer = api.execute(page.document.text, variables, context=Context(catalog, library))
        return orjson.dumps(answer.body())

    return respond


def _turns_of(
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
        await asyncio.sleep(0)  # several requests of one iteration of the loop are a crowd
        calls += 1
        elapsed = perf_counter() - start
    return elapsed / calls * 1_000


async def _started(stack: AsyncExitStack, plan: Plan, *, response_cache: int) -> Application:
    """Start the application with a cache of responses of some bytes, until the stack is closed."""
    app = create_app(
        Settings(catalog=str(plan.data.catalog), response_cache=response_cache, access_log=False)
    )
    await stack.enter_async_context(app.router.lifespan_context(app))
    return app


def _request_scope(target: str) -> Scope:
    """Return the ASGI scope of the request of a page."""
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"accept", b"text/html")],
        "client": ("127.0.0.1", 40_000),
        "server": ("127.0.0.1", 8_000),
    }


def _responding(app: Application, scope: Scope) -> Respond:
    """Send a request to an application; the status of its responses must be 200."""

    async def respond() -> bytes:
        chunks: list[bytes] = []
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            # The client never disconnects.
            return messages.pop() if messages else await asyncio.Future()

        async def send(message: MutableMapping[str, Any]) -> None:
            assert message.get("status", 200) == 200, (scope["path"], message)
            chunks.append(message.get("body", b""))

        await app(dict(scope), receive, send)
        return b"".join(chunks)

    return respond

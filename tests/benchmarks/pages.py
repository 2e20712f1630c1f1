"""``pages``: each page, compared with the execution of its GraphQL document.

Revisions and comparisons are loaded before. "Cold" caches no pages; "repeated" does.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import orjson
from starlette.routing import Match
from starlette.types import Scope

from schema.context import Context
from server.pages.addresses import PageRoute, given
from server.pages.routes import PAGES, Page
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.documents import aligned
from tests.benchmarks.in_process import Respond, request_scope, responding, started, turns_of
from tests.benchmarks.measurements import Measurement, Target, measure, set_aside, summary
from tests.benchmarks.plans import Plan
from tests.schema.default_api import api
from tests.server.pages.tour import tour
from tests.server.servers import application

_PARAMETERS = re.compile(r"{[^}]*}(\.\.\.{[^}]*})?")
_PAGE, _COMPARISON = Target(30, "median"), Target(60, "median")
_SIZE = Target(100, "median")
_OF_COMMITS = ("commit", "compare_rebuilt")
"""The documents of pages about commits, which the synthetic catalog does not have."""

_ALONE = "its document alone"
_COLD, _REPEATED = "cachelog: the page, cold", "cachelog: the page, repeated"
_HTML = "cachelog: its HTML"


def table(measurements: Sequence[Measurement]) -> str:
    """Return the pages as a table in Markdown; empty if none was measured."""
    made = {it.subject: it for it in measurements if it.contender == _COLD}
    sizes = {it.subject: it for it in measurements if it.contender == _HTML}
    rows = [
        (
            f"`{_PARAMETERS.sub('…', path)}`",
            f"{it.median:.0f} ms",
            f"{it.target.at_most:g} ms" if it.target else "",
            f"{sizes[path].median:.0f} kB",
        )
        for path, it in made.items()
    ]
    return aligned([("Page", "Made", "Of at most", "HTML"), *rows]) if rows else ""


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure each page: the milliseconds to render it, and its size in kB."""
    catalog = plan.data.opened()
    library = Library(catalog)
    scopes = _scopes(plan)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        cold, hot = (
            runner.run(started(stack, plan, response_cache=size))
            for size in (0, Settings().response_cache)
        )
        set_aside()
        for page, scope in scopes:
            contenders = {
                _ALONE: _executing(page, scope, catalog, library),
                _COLD: responding(cold, scope),
                _REPEATED: responding(hot, scope),
            }
            bodies = {name: runner.run(respond()) for name, respond in contenders.items()}
            turns = turns_of(runner, contenders, plan.seconds / 4)
            target = _COMPARISON if page.path.startswith("/compare/") else _PAGE
            yield from measure(
                "pages", page.path, turns, unit="ms", rounds=plan.rounds, targets={_COLD: target}
            )
            size = len(bodies[_COLD]) / 1_000
            yield summary("pages", page.path, _HTML, unit="kB", values=[size], target=_SIZE)
        runner.run(stack.aclose())


def _scopes(plan: Plan) -> list[tuple[Page, Scope]]:
    """Return each page with a request: the first one of the tour."""
    with application(Settings(catalog=str(plan.data.catalog), access_log=False)) as client:
        targets = tour(client).values()
    scopes = [request_scope("GET", target, {"accept": "text/html"}) for target in targets]
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

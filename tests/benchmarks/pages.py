"""``pages``: each page beside the document that it asks, executed and written as JSON.

What is loaded and compared stays so for all. Cold, no page is kept; repeated, it is.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson
from starlette.routing import Match
from starlette.types import Scope

from schema.context import Context
from server.app import Application, create_app
from server.pages.addresses import PageRoute, given, query_string
from server.pages.routes import PAGES, SPEC_PAIR, Page
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.documents import aligned
from tests.benchmarks.in_process import average
from tests.benchmarks.measurements import Measurement, Target, measure, set_aside, summary
from tests.benchmarks.plans import Plan
from tests.schema.usual import api

_PARAMETERS = re.compile(r"{[^}]*}(\.\.\.{[^}]*})?")
_PAGE, _COMPARISON = Target(30, "median"), Target(60, "median")
_SIZE = Target(100, "median")

_ALONE = "its document alone"
_COLD, _REPEATED = "cachelog: the page, cold", "cachelog: the page, repeated"
_HTML = "cachelog: its HTML"

_FACTS = """{
  revision(ref: "develop") {
    packages(first: 1, orderBy: { field: NUM_SPECS, direction: DESC }) { nodes { name } }
    specs(first: 1, orderBy: { field: SIZE, direction: DESC }) { nodes { hash } }
    stacks { name }
  }
}"""
_SERIES = "{ allSeries { name } }"
_CAUSES = """query Causes($base: String!, $head: String!) {
  compare(base: $base, head: $head) {
    causes(first: 1) { nodes { kind package before after } }
  }
}"""

Ask = Callable[[], Awaitable[bytes]]


def table(measurements: Sequence[Measurement]) -> str:
    """Return the pages as a table in Markdown; empty where none was measured."""
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
    """Measure each page: the milliseconds until it is made, and how many kB of HTML it has."""
    catalog = plan.data.opened()
    library = Library(catalog)
    with asyncio.Runner() as runner:
        running = AsyncExitStack()
        cold, hot = (
            runner.run(_started(running, plan, kept)) for kept in (0, Settings().response_cache)
        )
        addresses = [*_addresses(catalog, library, plan.data.digests())]
        set_aside()
        for address in addresses:
            scope = _scope(address)
            page, params = _page_of(scope)
            asks = {
                _ALONE: _executing(page, {**scope, "path_params": params}, catalog, library),
                _COLD: _asking(cold, scope),
                _REPEATED: _asking(hot, scope),
            }
            bodies = {name: runner.run(_once(ask)) for name, ask in asks.items()}
            turns = {
                name: partial(_turn, runner, ask, plan.seconds / 4) for name, ask in asks.items()
            }
            target = _COMPARISON if page.path.startswith("/compare/") else _PAGE
            yield from measure(
                "pages", page.path, turns, unit="ms", rounds=plan.rounds, targets={_COLD: target}
            )
            size = len(bodies[_COLD]) / 1_000
            yield summary("pages", page.path, _HTML, unit="kB", values=[size], target=_SIZE)
        runner.run(running.aclose())


def _turn(runner: asyncio.Runner, ask: Ask, seconds: float) -> float:
    return runner.run(average(ask, seconds))


async def _once(ask: Ask) -> bytes:
    return await ask()


def _addresses(catalog: Catalog, library: Library, digests: tuple[str, str]) -> Iterator[str]:
    """Yield an address of each page, of what there is most of."""
    refs = dict(zip(("base", "head"), digests, strict=True))
    revision = _data(catalog, library, _FACTS)["revision"]
    causes = _data(catalog, library, _CAUSES, refs)["compare"]["causes"]["nodes"]
    package = revision["packages"]["nodes"][0]["name"]
    named = {
        "series": _data(catalog, library, _SERIES)["allSeries"][0]["name"],
        "stacks": revision["stacks"][0]["name"],
        "packages": package,
    }
    for page in PAGES:
        # A catalog of the demo has no recipes, and so no commits.
        of_a_commit = page.query in ("commit", "compare_rebuilt")
        if not page.media_type.startswith(b"text/html") or of_a_commit:
            continue
        kind = next((it for it in named if f"/{it}/{{name}}" in page.path), "")
        names = refs | {"ref": "develop", "hash": revision["specs"]["nodes"][0]["hash"]}
        if page.path == SPEC_PAIR:
            names |= {"base": names["hash"], "head": names["hash"]}
        names["name"] = named.get(kind, "")
        query = {"q": package} if page.path == "/search" else {}
        if "{cause" in page.path:
            if not causes:
                continue
            (cause,) = causes
            names["cause"] = cause["package"]
            query = {"kind": cause["kind"], "from": cause["before"], "to": cause["after"]}
        filled = page.path.format_map({it: quote(text) for it, text in names.items()})
        yield filled + query_string({it: text for it, text in query.items() if text})


def _data(
    catalog: Catalog, library: Library, query: str, variables: Mapping[str, str] | None = None
) -> Any:
    answer = api.execute(query, dict(variables or {}), context=Context(catalog, library))
    assert not answer.errors, answer.errors
    return orjson.loads(orjson.dumps(answer.body()))["data"]


def _page_of(scope: Scope) -> tuple[Page, Mapping[str, str]]:
    """Return the page that answers a request, and the names in its path."""
    for page in PAGES:
        match, found = PageRoute(page.path, _nothing).matches(scope)
        if match is Match.FULL:
            return page, found["path_params"]
    raise LookupError(scope["path"])


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    pass


def _executing(page: Page, scope: Scope, catalog: Catalog, library: Library) -> Ask:
    known = page.document.known(given(scope))
    variables = page.document.variables(known)

    async def ask() -> bytes:
        answer = api.execute(page.document.text, variables, context=Context(catalog, library))
        return orjson.dumps(answer.body())

    return ask


async def _started(running: AsyncExitStack, plan: Plan, kept: int) -> Application:
    """Start the application, which keeps so many bytes of responses."""
    settings = Settings(catalog=str(plan.data.catalog), response_cache=kept, access_log=False)
    app = create_app(settings)
    await running.enter_async_context(app.router.lifespan_context(app))
    return app


def _scope(address: str) -> Scope:
    path, _, query = address.partition("?")
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


def _asking(app: Application, scope: Scope) -> Ask:
    async def ask() -> bytes:
        parts: list[bytes] = []

        async def receive() -> dict[str, Any]:
            return await asyncio.Future()  # this client never hangs up

        async def send(message: MutableMapping[str, Any]) -> None:
            assert message.get("status", 200) == 200, (scope["path"], message)
            parts.append(message.get("body", b""))

        await app(dict(scope), receive, send)
        return b"".join(parts)

    return ask

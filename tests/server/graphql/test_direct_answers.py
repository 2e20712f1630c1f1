"""Cached responses that the connection writes directly, which equal those by ASGI."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import httpx
import orjson
import pytest
from msgspec.structs import replace
from starlette.types import Scope

from server.app import Application, create_app
from server.asgi.errors import BadRequest
from server.asgi.responses import Response
from server.http.cycles import ReadyAnswer
from server.settings import Settings
from tests.server.exchanges import scope
from tests.server.metrics.test_page import numbers_of
from tests.server.servers import Server, application, serving, until

SMALL = "query Small { tags { name } }"
LONG = "{ revision { specs(first: 200) { nodes { hash name version variants stacks } } } }"
LARGE = "{ revision { specs(first: 1000) { nodes { hash name version variants stacks } } } }"


@pytest.fixture(scope="module")
def by_asgi(demo_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of a server that uses only ASGI."""
    with application(Settings(catalog=str(demo_catalog), access_log=False)) as client:
        yield client


@pytest.fixture(scope="module")
def behind_proxy(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server behind a local proxy, with an allowance for each client."""
    log = tmp_path_factory.mktemp("behind") / "log"
    limits = {"requests_per_minute": 5, "trusted_proxies": "127.0.0.1"}
    with serving(demo_catalog, log, **limits) as server:
        yield server


def lines_of(server: Server, ids: list[str]) -> list[list[str]]:
    """Return the words of the log lines with these request ids, once all are written."""

    def lines() -> list[list[str]]:
        words = [line.split() for line in server.log.read_text().splitlines()]
        return [line for line in words if line[-1:] and line[-1] in ids]

    until(lambda: len(lines()) >= len(ids), "all are in the log")
    return lines()


REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "post": ("POST", SMALL, {}),
    "post, named type": ("POST", SMALL, {"accept": "application/graphql-response+json"}),
    "post, cost": ("POST", SMALL, {"x-cachelog-cost": "1"}),
    "get": ("GET", SMALL, {}),
    "head": ("HEAD", SMALL, {}),
    "page": ("GET", SMALL, {"accept": "text/html"}),
    "not acceptable": ("GET", SMALL, {"accept": "text/csv"}),
    "bad": ("POST", "{ nope }", {}),
    "compressed": ("GET", LONG, {"accept-encoding": "br"}),
    "plain": ("GET", LONG, {"accept-encoding": "identity"}),
    "large": ("POST", LARGE, {"accept-encoding": "identity"}),
    "etag matches": ("GET", SMALL, {"if-none-match": "*"}),
    "etag differs": ("GET", SMALL, {"if-none-match": '"other"'}),
    "etag of a post": ("POST", SMALL, {"if-none-match": "*"}),
    "put": ("PUT", SMALL, {}),
}


def response_to(client: httpx.Client, name: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and content of a response, except the id and date."""
    method, query, headers = REQUESTS[name]
    if method == "POST":
        response = client.post("/graphql", json={"query": query}, headers=headers)
    else:
        response = client.request(method, "/graphql", params={"query": query}, headers=headers)
    shared = dict(response.headers)
    assert shared.pop("x-request-id")
    shared.pop("date")
    return response.status_code, shared, response.content


@pytest.mark.parametrize("name", REQUESTS)
def test_direct_responses_equal_those_of_asgi(
    name: str, client: httpx.Client, by_asgi: httpx.Client
) -> None:
    """The first, second and third time, with every header."""
    expected = [response_to(by_asgi, name) for _ in range(3)]
    assert expected[0] == expected[2]
    assert [response_to(client, name) for _ in range(3)] == expected


def test_direct_responses_are_counted_and_logged(demo_server: Server) -> None:
    """Each has its own id, its line in the log and its place in the metrics."""
    body = {"query": "query Logged { tags { name } }", "operationName": "Logged"}
    with httpx.Client(base_url=demo_server.url) as client:
        before = numbers_of(client)
        ids = [client.post("/graphql", json=body).headers["x-request-id"] for _ in range(5)]
        after = numbers_of(client)
    increases = {name: after[name] - before.get(name, 0) for name in after}
    assert increases["cachelog_request_seconds_count", "Logged"] == 5
    assert increases["cachelog_response_cache_hits_total", ""] == 4
    assert increases["cachelog_requests_total", "200"] >= 5
    lines = lines_of(demo_server, ids)
    assert [line[-1] for line in lines] == ids
    assert len(set(ids)) == 5
    assert {tuple(line[2:5]) for line in lines} == {("POST", "/graphql", "200")}


TYPE = (b"content-type", b"application/json")
POST: dict[str, Any] = {"method": "POST", "query_string": b"", "headers": [TYPE]}
"""The facts of the scope of a request."""


async def status_by_asgi(app: Application, request: Scope, body: bytes) -> int:
    """Return the status of the response to a request by ASGI."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else await asyncio.get_running_loop().create_future()

    send = AsyncMock()
    await app(request, receive, send)
    status: int = send.call_args_list[0].args[0]["status"]
    return status


def direct_response(settings: Settings, **changes: Any) -> ReadyAnswer | None:
    """Return the direct response to a request that was answered by ASGI before, if there is one.

    `changes` are the differences between the scopes of the two requests.
    """
    app, body = create_app(settings), orjson.dumps({"query": SMALL})

    async def run() -> ReadyAnswer | None:
        async with app.router.lifespan_context(app):
            assert await status_by_asgi(app, scope(**POST), body) == 200
            ready = app.at_once(scope(**POST | changes), body) if app.at_once else None
            return ready if isinstance(ready, ReadyAnswer) else None

    return asyncio.run(run())


OTHER_ORIGIN = [TYPE, (b"origin", b"https://a.example")]
WITH_CORS = Settings(cors_origins=("https://a.example",))


@pytest.mark.parametrize(
    ("settings", "changes", "is_direct"),
    [
        (Settings(), {}, True),
        (Settings(), {"path": "/metrics"}, False),
        (WITH_CORS, {}, True),
        (WITH_CORS, {"headers": OTHER_ORIGIN}, False),
        (Settings(tracing=True), {}, False),
        (Settings(response_cache=0), {}, True),
        (Settings(response_cache=0, cost_per_minute=1_000_000), {}, False),
    ],
    ids=["cached", "path", "origin", "other origin", "tracing", "uncached", "uncached with a cost"],
)
def test_short_response_is_written_directly(
    demo_catalog: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    changes: dict[str, Any],
    *,
    is_direct: bool,
) -> None:
    """From the cache or by a quick execution; ASGI adds CORS headers, spans and costs."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    settings = replace(settings, catalog=str(demo_catalog), access_log=False)
    ready = direct_response(settings, **changes)
    assert (ready is not None) is is_direct
    assert ready is None or b'"develop"' in ready.body


@pytest.mark.parametrize("trusted", [True, False])
def test_client_behind_a_trusted_proxy_is_logged(
    trusted: bool, demo_server: Server, behind_proxy: Server
) -> None:
    """With the proxy's id, each time; other clients can set neither.

    Each client behind a proxy has its own allowance, of which direct responses use some, too.
    """
    headers = {"x-forwarded-for": "203.0.113.9", "x-request-id": "theirs"}
    server = behind_proxy if trusted else demo_server
    body = {"query": "{ tags { name } }"}
    answers = [httpx.post(server.graphql, json=body, headers=headers) for _ in range(3)]
    lines = lines_of(server, [answer.headers["x-request-id"] for answer in answers])
    assert len(lines) == 3
    assert {line[1] for line in lines} == {"203.0.113.9" if trusted else "127.0.0.1"}
    assert {line[-1] == "theirs" for line in lines} == {trusted}
    headers["x-forwarded-for"] = "203.0.113.1"
    more = [httpx.post(server.graphql, json=body, headers=headers) for _ in range(8)]
    expected = [200] * 5 + [429] * 3 if trusted else [200] * 8
    assert [answer.status_code for answer in more] == expected
    assert not trusted or int(more[-1].headers["retry-after"]) > 0


@pytest.mark.anyio
async def test_refused_response_counts_as_one_request(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cached response that is too large to write directly is refused by ASGI."""
    monkeypatch.setattr("server.asgi.room._LARGE_ANSWER", 1)
    settings = Settings(catalog=str(demo_catalog), access_log=False, requests_per_minute=3)
    app = create_app(replace(settings, sending_bytes=200_000))
    request, body = scope(**POST), orjson.dumps({"query": LARGE})
    direct: Any = app.at_once
    async with app.router.lifespan_context(app):
        assert await status_by_asgi(app, scope(**POST), body) == 200
        response = Response(200, bytes(70_000), b"text/plain", b"no-store")
        direct.outgoing.begin(response, scope(client=("10.0.0.2", 1)))
        assert direct(request, body) is None
        assert await status_by_asgi(app, request, body) == 503
        direct.allowances.count_request(request)
        with pytest.raises(BadRequest, match="requests"):
            direct.allowances.count_request(request)

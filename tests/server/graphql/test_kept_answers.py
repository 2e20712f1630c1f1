"""Kept answers, written at once: the same as by way of ASGI, and logged as those are."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from msgspec.structs import replace

from server.app import create_app
from server.http.cycles import ReadyAnswer
from server.settings import Settings
from tests.server.metrics.test_page import counted
from tests.server.servers import Server, application, serving, until

SMALL = "query Small { tags { name } }"
LONG = "{ revision { specs(first: 200) { nodes { hash name version variants stacks } } } }"
LARGE = "{ revision { specs(first: 1000) { nodes { hash name version variants stacks } } } }"


@pytest.fixture(scope="module")
def by_asgi(demo_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of a server that knows of ASGI alone."""
    with application(Settings(catalog=str(demo_catalog), access_log=False)) as client:
        yield client


@pytest.fixture(scope="module")
def behind_proxy(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server behind a proxy on this machine, of which each client has an allowance."""
    log = tmp_path_factory.mktemp("behind") / "log"
    limits = {"requests_per_minute": 5, "trusted_proxies": "127.0.0.1"}
    with serving(demo_catalog, log, **limits) as server:
        yield server


def lines_of(server: Server, ids: list[str]) -> list[list[str]]:
    """Return the words of the lines about answers with these ids, once all are in the log."""

    def found() -> list[list[str]]:
        lines = [it.split() for it in server.log.read_text().splitlines()]
        return [it for it in lines if it[-1:] and it[-1] in ids]

    until(lambda: len(found()) >= len(ids), "all are in the log")
    return found()


REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "post": ("POST", SMALL, {}),
    "post, named type": ("POST", SMALL, {"accept": "application/graphql-response+json"}),
    "post, cost": ("POST", SMALL, {"x-cachelog-cost": "1"}),
    "get": ("GET", SMALL, {}),
    "head": ("HEAD", SMALL, {}),
    "page": ("GET", SMALL, {"accept": "text/html"}),
    "not acceptable": ("GET", SMALL, {"accept": "text/csv"}),
    "bad": ("POST", "{ nope }", {}),
    "packed": ("GET", LONG, {"accept-encoding": "br"}),
    "plain": ("GET", LONG, {"accept-encoding": "identity"}),
    "large": ("POST", LARGE, {"accept-encoding": "identity"}),
    "known": ("GET", SMALL, {"if-none-match": "*"}),
    "unknown": ("GET", SMALL, {"if-none-match": '"other"'}),
    "known, posted": ("POST", SMALL, {"if-none-match": "*"}),
    "put": ("PUT", SMALL, {}),
}


def ask(client: httpx.Client, what: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and content of an answer, but for what differs each time."""
    method, query, headers = REQUESTS[what]
    if method == "POST":
        response = client.post("/graphql", json={"query": query}, headers=headers)
    else:
        response = client.request(method, "/graphql", params={"query": query}, headers=headers)
    kept = dict(response.headers)
    assert kept.pop("x-request-id")
    kept.pop("date")
    return response.status_code, kept, response.content


@pytest.mark.parametrize("what", REQUESTS)
def test_ready_answers_are_those_of_asgi(
    what: str, client: httpx.Client, by_asgi: httpx.Client
) -> None:
    """The first, the second and the third time, with every header."""
    expected = [ask(by_asgi, what) for _ in range(3)]
    assert expected[0] == expected[2]
    assert [ask(client, what) for _ in range(3)] == expected


def test_answers_are_counted_and_logged(demo_server: Server) -> None:
    """Each has its own id, its line in the log and its place in the numbers."""
    body = {"query": "query Logged { tags { name } }", "operationName": "Logged"}
    with httpx.Client(base_url=demo_server.url) as client:
        before = counted(client)
        ids = [client.post("/graphql", json=body).headers["x-request-id"] for _ in range(5)]
        found = counted(client)
    more = {name: found[name] - before.get(name, 0) for name in found}
    assert more["cachelog_request_seconds_count", "Logged"] == 5
    assert more["cachelog_response_cache_hits_total", ""] == 4
    assert more["cachelog_requests_total", "200"] >= 5
    lines = lines_of(demo_server, ids)
    assert [line[-1] for line in lines] == ids
    assert len(set(ids)) == 5
    assert {tuple(line[2:5]) for line in lines} == {("POST", "/graphql", "200")}


def scope(**headers: str) -> dict[str, Any]:
    """Return the scope of a request as a server makes it."""
    given = {"content-type": "application/json", **headers}
    return {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "client": ("192.0.2.1", 5),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }


def asked_twice(settings: Settings, **facts: Any) -> ReadyAnswer | None:
    """Return what is ready after a request was answered by way of ASGI; nothing before it.

    The second request differs in its scope by these facts.
    """
    app = create_app(settings)
    body = orjson.dumps({"query": SMALL})
    parts: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        parts.append(message)

    async def run() -> ReadyAnswer | None:
        async with app.router.lifespan_context(app):
            await app(scope(), receive, send)
            assert parts[0]["status"] == 200
            ready = app.at_once(scope() | facts, body) if app.at_once else None
            return ready if isinstance(ready, ReadyAnswer) else None

    return asyncio.run(run())


def test_what_was_answered_before_is_ready(demo_catalog: Path) -> None:
    """At its own address alone."""
    settings = Settings(catalog=str(demo_catalog), access_log=False)
    ready = asked_twice(settings)
    assert ready is not None
    assert b'"develop"' in ready.body
    assert asked_twice(settings, path="/metrics") is None


def test_pages_of_other_origins_go_by_way_of_asgi(demo_catalog: Path) -> None:
    """Which adds their headers; the answers of all other requests are ready."""
    settings = Settings(catalog=str(demo_catalog), cors_origins=("https://a.example",))
    assert asked_twice(settings) is not None
    other = scope(origin="https://a.example")["headers"]
    assert asked_twice(settings, headers=other) is None


def test_a_client_has_no_more_than_its_allowance(behind_proxy: Server) -> None:
    """Answers from memory count as requests; each client behind a proxy has its own."""
    for client in ("203.0.113.1", "203.0.113.2"):
        headers = {"x-forwarded-for": client}
        found = [
            httpx.post(behind_proxy.graphql, json={"query": SMALL}, headers=headers)
            for _ in range(8)
        ]
        assert [it.status_code for it in found] == [200] * 5 + [429] * 3
        assert int(found[-1].headers["retry-after"]) > 0


@pytest.mark.parametrize("trusted", [True, False])
def test_the_client_behind_a_trusted_proxy_is_noted(
    trusted: bool, demo_server: Server, behind_proxy: Server
) -> None:
    """With the id that the proxy has given, each time; others may state neither."""
    headers = {"x-forwarded-for": "203.0.113.9", "x-request-id": "theirs"}
    server = behind_proxy if trusted else demo_server
    body = {"query": "{ tags { name } }"}
    answers = [httpx.post(server.graphql, json=body, headers=headers) for _ in range(3)]
    lines = lines_of(server, [answer.headers["x-request-id"] for answer in answers])
    assert len(lines) == 3
    assert {line[1] for line in lines} == {"203.0.113.9" if trusted else "127.0.0.1"}
    assert {line[-1] == "theirs" for line in lines} == {trusted}


def test_what_has_more_to_pass_is_not_ready(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans belong to ASGI's way."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert asked_twice(Settings(catalog=str(demo_catalog), access_log=False, tracing=True)) is None


def test_what_is_quick_is_computed_at_once(demo_catalog: Path) -> None:
    """Where no answers are kept; what costs clients units of their allowance goes another way."""
    settings = Settings(catalog=str(demo_catalog), access_log=False, response_cache=0)
    ready = asked_twice(settings)
    assert ready is not None
    assert b'"develop"' in ready.body
    assert asked_twice(replace(settings, cost_per_minute=1_000_000)) is None

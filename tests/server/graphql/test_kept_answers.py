"""Kept answers, written at once: the same as by way of ASGI, and noted as those are."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from server.app import create_app
from server.http.at_once import ReadyAnswer
from server.settings import Settings
from tests.server.metrics.test_page import asked
from tests.server.servers import application, serving

SMALL = "query Small { tags { name } }"
LONG = "{ revision { specs(first: 200) { nodes { hash name version variants stacks } } } }"
LARGE = "{ revision { specs(first: 1000) { nodes { hash name version variants stacks } } } }"


@pytest.fixture(scope="module")
def by_asgi(demo_catalog: Path) -> Iterator[httpx.Client]:
    """Return a client of a server that knows of ASGI alone."""
    with application(Settings(catalog=str(demo_catalog), access_log=False)) as client:
        yield client


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
def test_it_is_the_answer_that_asgi_gives(
    what: str, client: httpx.Client, by_asgi: httpx.Client
) -> None:
    """Whenever it is asked, with every header."""
    expected = [ask(by_asgi, what) for _ in range(3)]
    assert expected[0] == expected[2]
    assert [ask(client, what) for _ in range(3)] == expected


def test_it_is_counted_and_logged(demo_catalog: Path, tmp_path: Path) -> None:
    """Each has its own id, its line in the log and its place in the numbers."""
    with serving(demo_catalog, tmp_path / "log") as server:
        body = {"query": SMALL, "operationName": "Small"}
        with httpx.Client(base_url=server.url) as client:
            ids = [client.post("/graphql", json=body).headers["x-request-id"] for _ in range(5)]
            found = asked(client)
        assert found["cachelog_request_seconds_count", "Small"] == 5
        assert found["cachelog_response_cache_hits_total", ""] == 4
        assert found["cachelog_requests_total", "200"] >= 5
    lines = [it for it in server.log.read_text().splitlines() if " POST /graphql 200 " in it]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ids
    assert len(set(ids)) == 5


def test_a_large_answer_is_counted_once(demo_catalog: Path, tmp_path: Path) -> None:
    """It goes by way of ASGI, which is told of a slow reader; so does what has to be packed."""
    with serving(demo_catalog, tmp_path / "log") as server:
        for query, coding in ((LARGE, "identity"), (LONG, "gzip"), (LONG, "br")):
            headers = {"accept-encoding": coding}
            for _ in range(3):
                httpx.post(f"{server.url}/graphql", json={"query": query}, headers=headers)
        with httpx.Client(base_url=server.url) as client:
            assert asked(client)["cachelog_response_cache_hits_total", ""] == 7


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
            assert app.at_once is None or app.at_once(scope(), body) is None
            await app(scope(), receive, send)
            assert parts[0]["status"] == 200
            return app.at_once(scope() | facts, body) if app.at_once else None

    return asyncio.run(run())


def test_what_was_answered_before_is_ready(demo_catalog: Path) -> None:
    """At its own address alone."""
    settings = Settings(catalog=str(demo_catalog), access_log=False)
    ready = asked_twice(settings)
    assert ready is not None
    assert b'"develop"' in ready.body
    assert asked_twice(settings, path="/metrics") is None


def test_pages_of_other_origins_go_by_way_of_asgi(demo_catalog: Path) -> None:
    """Only there are they told what they may read; all others have it as ready as ever."""
    settings = Settings(catalog=str(demo_catalog), cors_origins=("https://a.example",))
    assert asked_twice(settings) is not None
    other = scope(origin="https://a.example")["headers"]
    assert asked_twice(settings, headers=other) is None


def test_a_client_has_no_more_than_its_allowance(demo_catalog: Path, tmp_path: Path) -> None:
    """Answers from memory count as requests; each client behind a proxy has its own."""
    limits = {"requests_per_minute": 5, "trusted_proxies": "127.0.0.1"}
    with serving(demo_catalog, tmp_path / "log", **limits) as server:
        for client in ("203.0.113.1", "203.0.113.2"):
            headers = {"x-forwarded-for": client}
            found = [
                httpx.post(f"{server.url}/graphql", json={"query": SMALL}, headers=headers)
                for _ in range(8)
            ]
            assert [it.status_code for it in found] == [200] * 5 + [429] * 3
            assert int(found[-1].headers["retry-after"]) > 0


@pytest.mark.parametrize("trusted", [True, False])
def test_the_client_behind_a_trusted_proxy_is_noted(
    trusted: bool, demo_catalog: Path, tmp_path: Path
) -> None:
    """With the id that the proxy has given, each time; of others neither is believed."""
    proxies = "127.0.0.1" if trusted else "192.0.2.1"
    headers = {"x-forwarded-for": "203.0.113.9", "x-request-id": "theirs"}
    with serving(demo_catalog, tmp_path / "log", trusted_proxies=proxies) as server:
        for _ in range(3):
            httpx.post(f"{server.url}/graphql", json={"query": SMALL}, headers=headers)
    lines = [it.split() for it in server.log.read_text().splitlines() if " POST " in it]
    clients = {line[1] for line in lines}
    assert (len(lines), clients) == (3, {"203.0.113.9" if trusted else "127.0.0.1"})
    assert {line[-1] == "theirs" for line in lines} == {trusted}


@pytest.mark.parametrize(
    "setting",
    [
        {"response_cache": 0},
        {"tracing": True},
    ],
    ids=str,
)
def test_what_has_more_to_pass_is_not_ready(
    setting: dict[str, Any], demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans belong to ASGI's way."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert asked_twice(Settings(catalog=str(demo_catalog), access_log=False, **setting)) is None

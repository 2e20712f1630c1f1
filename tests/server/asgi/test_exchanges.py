"""Requests and responses: headers, ids, restrictions for browsers, and disconnects."""

import asyncio
import re
import socket
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schema.api import API, OperationResult
from schema.context import Context
from server.asgi.errors import BadRequest, Disconnected
from server.asgi.exchanges import (
    Exchange,
    Exchanges,
    RequestIds,
    unless_disconnected,
    with_security,
)
from server.asgi.lanes import HEAVY_THREADS, Lanes
from server.pages.renderer import POLICY
from server.settings import Settings
from tests.server.exchanges import exchange, fail, respond, scope
from tests.server.servers import application, until

REQUEST_ID = re.compile(r"[0-9a-f]{12}-[0-9a-f]+")


def request_ids(*sent: bytes | None) -> list[str]:
    """Return the ids of the responses to requests with these ids, or without any."""
    scopes = [scope(headers=[(b"x-request-id", id_)] if id_ is not None else []) for id_ in sent]
    messages = exchange(respond, *scopes)
    starts = [message for message in messages if message["type"] == "http.response.start"]
    return [dict(start["headers"])[b"x-request-id"].decode() for start in starts]


START: Message = {"type": "http.response.start", "status": 201, "headers": []}


def test_request_ids_are_unique() -> None:
    """Those of requests that have none."""
    ids = request_ids(None, None)
    assert len(set(ids)) == 2
    assert all(map(REQUEST_ID.fullmatch, ids))


def test_id_of_a_proxy_is_used() -> None:
    """The log of the proxy and that of the server have the same id."""
    sent = b"4bf92f3577b34da6:0/a+b=.-_@Z"
    assert request_ids(sent) == [sent.decode()]


@pytest.mark.parametrize("sent", [b"", b"a" * 129, b"a b", b"a\x1b[2J", b"\xff", b"a\r\nb: c"])
def test_unloggable_id_is_replaced(sent: bytes) -> None:
    """An id of any other form is not repeated in headers and the log."""
    (id_,) = request_ids(sent)
    assert REQUEST_ID.fullmatch(id_)


def test_error_response_has_the_common_headers() -> None:
    """Although the application raised it."""
    start, body = exchange(fail, scope())
    assert (start["status"], body["body"]) == (500, b"ZeroDivisionError")
    names = {name for name, _ in start["headers"]}
    assert {b"x-request-id", b"content-security-policy", b"x-content-type-options"} <= names


@pytest.mark.parametrize(("messages", "status"), [([], 503), ([START], 201)])
def test_cancelled_request_gets_503(messages: list[Message], status: int) -> None:
    """Unless its response has begun, which is then left unchanged."""

    async def cancelled(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        raise asyncio.CancelledError

    start, *rest = exchange(cancelled, scope())
    assert start["status"] == status
    assert bool(rest) == (status == 503)


NO_PAGE = "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/", POLICY.decode()),
        ("/graphql?query={x}", NO_PAGE),
        ("/schema.graphql", NO_PAGE),
        ("/health/live", NO_PAGE),
        ("/nope", NO_PAGE),
        ("/static/page.js", NO_PAGE),
    ],
)
def test_responses_restrict_browsers(client: httpx.Client, path: str, policy: str) -> None:
    """No type sniffing, referrer or framing; a page loads only its own files, others nothing."""
    headers = client.get(path).headers
    assert headers.get_list("content-security-policy") == [policy]
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert REQUEST_ID.fullmatch(headers["x-request-id"])


def test_graphiql_loads_only_its_own_files() -> None:
    """No inline script or style, no eval, and no other origin."""
    html = [(b"content-type", b"text/html; charset=utf-8")]
    policy = dict(with_security(html))[b"content-security-policy"].decode()
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert rules["script-src"] == rules["style-src"] == "'self'"
    assert "unsafe" not in policy


@pytest.mark.anyio
async def test_disconnect_cancels_the_work() -> None:
    """Other messages are ignored."""
    receive = AsyncMock(side_effect=[{"type": "http.request"}, {"type": "http.disconnect"}])
    with pytest.raises(Disconnected):
        async with asyncio.timeout(10):
            await unless_disconnected(receive, asyncio.sleep(60))


@pytest.mark.anyio
async def test_cancelled_request_is_not_a_disconnect() -> None:
    """Cancellation, as when the server stops, propagates."""
    receive: Any = asyncio.Event().wait
    request = asyncio.create_task(unless_disconnected(receive, asyncio.sleep(60)))
    await asyncio.sleep(0.01)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request


def test_server_is_idle_after_clients_disconnect(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running requests end at their next budget check, waiting ones leave the queue."""
    execute, running = API.execute, list[Context]()
    settings = Settings(catalog=str(demo_catalog))
    lanes = Lanes.of_server(patience=60)

    def endless(
        api: API, query: str, *args: Any, context: Context, **options: Any
    ) -> OperationResult:
        if "never" not in query:
            return execute(api, query, *args, context=context, **options)
        running.append(context)
        try:
            while True:
                context.budget.check()
        finally:
            running.pop()

    monkeypatch.setattr(API, "execute", endless)
    monkeypatch.setattr(Lanes, "of_server", lambda _patience: lanes)
    heavy = "query never { revision { packages(first: 100) { nodes { specs(first: 100) { nodes "
    body = f'{{"query": "{heavy} {{ hash variants }} }} }} }} }} }}"}}'.encode()
    head = (
        "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with application(settings) as client:
        port = client.base_url.port
        assert port is not None
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
        for connection in sockets:
            connection.sendall(head.encode() + body)
        until(lambda: len(running) == HEAVY_THREADS, "the heavy lane is full")
        for connection in sockets:
            connection.close()
        until(lambda: not running, "it is idle")
        answer = client.post("/graphql", json={"query": "{ tags { name } }"})
        assert answer.status_code == 200
        until(lambda: not running, "the requests that the server read last have ended")


# -- crowds


async def status_of(exchanges: Exchanges, path: str) -> int:
    """Send a request; return the status of the response, which tells when to try again."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await exchanges(scope(path), AsyncMock(), send)
    headers = dict(messages[0]["headers"])
    assert (headers.get(b"retry-after") == b"2") is (messages[0]["status"] == 503)
    assert b"x-content-type-options" in headers
    return int(messages[0]["status"])


@pytest.mark.anyio
async def test_further_requests_are_refused_before_any_work() -> None:
    """With 503 and Retry-After, until others have ended; they are observed with a code."""
    begun: list[str] = []
    observed: list[Exchange] = []
    may_end = asyncio.Event()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["path"])
        if scope["path"] == "/long":
            await may_end.wait()
        await respond(scope, receive, send)

    crowd = Exchanges(answer, RequestIds(), [observed.append], PlainTextResponse, 2)
    long = [asyncio.create_task(status_of(crowd, "/long")) for _ in range(2)]
    await asyncio.sleep(0)
    assert [await status_of(crowd, path) for path in "ab"] == [503, 503]
    assert begun == ["/long"] * 2
    assert {(it.status, it.code) for it in observed} == {(503, "OVERLOADED")}
    may_end.set()
    assert await asyncio.gather(*long) == [201, 201]
    assert await status_of(crowd, "/c") == 201


@pytest.mark.anyio
async def test_health_and_metrics_are_always_answered() -> None:
    """Also by a server that is overloaded."""
    crowd = Exchanges(respond, RequestIds(), [], PlainTextResponse, 0)
    paths = ("/health/live", "/health/ready", "/metrics", "/")
    assert [await status_of(crowd, path) for path in paths] == [201, 201, 201, 503]


@pytest.mark.anyio
async def test_slow_bodies_do_not_count() -> None:
    """Their requests are refused only if there are too many when the bodies have arrived."""
    arrival, gate = asyncio.Event(), asyncio.Event()

    async def receive() -> Message:
        await arrival.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await gate.wait()
        await respond(scope, receive, send)

    async def outcome() -> str:
        try:
            await crowd(scope(method="POST"), receive, AsyncMock())
        except BadRequest as error:
            return error.code
        return "answered"

    def refuse(error: Exception) -> ASGIApp:
        raise error

    crowd = Exchanges(answer, RequestIds(), [], refuse, 2)
    slow = [asyncio.create_task(outcome()) for _ in range(3)]
    await asyncio.sleep(0)
    assert crowd.num_unfinished == 0
    arrival.set()
    await asyncio.sleep(0.01)
    gate.set()
    assert sorted([await it for it in slow]) == ["OVERLOADED", "answered", "answered"]
    assert crowd.num_unfinished == 0

"""Clients that hang up: their requests end, also on a real server."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from schema.api import API, OperationResult
from schema.context import Context
from server.asgi.exchanges import unless_gone
from server.asgi.lanes import Lanes
from server.settings import Settings
from tests.server.servers import application, until


def received(*messages: str) -> Any:
    """Return an ASGI receive that has messages of these types, and then none."""
    left = list(messages)

    async def receive() -> dict[str, str]:
        if not left:
            await asyncio.Event().wait()
        return {"type": left.pop(0)}

    return receive


async def answered_late() -> str:
    """Return an answer after some rounds of the event loop."""
    for _ in range(10):
        await asyncio.sleep(0)
    return "answer"


@pytest.mark.anyio
async def test_a_client_that_stays_is_answered() -> None:
    """Messages other than a disconnect are ignored."""
    assert await unless_gone(received("http.request"), answered_late()) == "answer"


@pytest.mark.anyio
async def test_work_for_a_client_that_leaves_is_cancelled() -> None:
    """There is no answer."""
    cancelled: list[bool] = []

    async def work() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    assert await unless_gone(received("http.request", "http.disconnect"), work()) is None
    assert cancelled == [True]


@pytest.mark.anyio
async def test_an_error_of_the_work_is_raised() -> None:
    """As without a client."""

    async def work() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await unless_gone(received(), work())


@pytest.mark.anyio
async def test_a_request_that_is_cancelled_itself_is_cancelled() -> None:
    """As when the server stops: that is not a client who has left."""
    request = asyncio.create_task(unless_gone(received(), asyncio.sleep(60)))
    await asyncio.sleep(0.01)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request


def test_thirty_requests_hung_up_on_leave_an_idle_server(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that run end at their next check, those that wait are given up."""
    execute, running = API.execute, set()
    settings = Settings(catalog=str(demo_catalog), queue_seconds=60)
    lanes = Lanes.of(settings)

    def endless(
        api: API, query: str, *args: Any, context: Context, **options: Any
    ) -> OperationResult:
        if "never" not in query:
            return execute(api, query, *args, context=context, **options)
        running.add(context)
        try:
            while True:
                context.budget.check()
        finally:
            running.discard(context)

    monkeypatch.setattr(Context, "__hash__", object.__hash__)
    monkeypatch.setattr(API, "execute", endless)
    monkeypatch.setattr(Lanes, "of", lambda _settings: lanes)
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
        # A request that is read only after its client closed would begin later, and end as soon.
        until(lambda: lanes.heavy.num_waiting == 30 - settings.heavy_threads, "all have been read")
        until(lambda: len(running) == settings.heavy_threads, "the heavy lane is full")
        for connection in sockets:
            connection.close()
        until(lambda: not (lanes.heavy.num_waiting or lanes.heavy.num_running), "it is idle", 5)
        assert not running
        answer = client.post("/graphql", json={"query": "{ tags { name } }"})
        assert answer.status_code == 200
        assert not running

"""Clients that disconnect: their requests are cancelled, also on a real server."""

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
    """Return an ASGI receive that yields messages of these types and then blocks."""
    remaining = list(messages)

    async def receive() -> dict[str, str]:
        if not remaining:
            await asyncio.Event().wait()
        return {"type": remaining.pop(0)}

    return receive


async def late_result() -> str:
    """Return a result after several iterations of the event loop."""
    for _ in range(10):
        await asyncio.sleep(0)
    return "answer"


@pytest.mark.anyio
async def test_connected_client_gets_the_result() -> None:
    """Messages other than a disconnect are ignored."""
    assert await unless_gone(received("http.request"), late_result()) == "answer"


@pytest.mark.anyio
async def test_disconnect_cancels_the_work() -> None:
    """The result is None."""
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
async def test_error_of_the_work_is_raised() -> None:
    """The error propagates."""

    async def work() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await unless_gone(received(), work())


@pytest.mark.anyio
async def test_cancelled_request_is_not_a_disconnect() -> None:
    """Cancellation, as when the server stops, propagates."""
    request = asyncio.create_task(unless_gone(received(), asyncio.sleep(60)))
    await asyncio.sleep(0.01)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request


def test_server_is_idle_after_clients_disconnect(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running requests end at their next budget check, waiting ones leave the queue."""
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
        # A request that is read after its client closed would begin later, and end at once.
        until(lambda: lanes.heavy.num_waiting == 30 - settings.heavy_threads, "all have been read")
        until(lambda: len(running) == settings.heavy_threads, "the heavy lane is full")
        for connection in sockets:
            connection.close()
        until(lambda: not (lanes.heavy.num_waiting or lanes.heavy.num_running), "it is idle", 5)
        assert not running
        answer = client.post("/graphql", json={"query": "{ tags { name } }"})
        assert answer.status_code == 200
        assert not running

"""Bodies of requests: each is bounded, and large ones all together."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Scope

from server.asgi.errors import BadRequest
from server.asgi.room import LARGE_BODY, Incoming
from server.http.limits import DROP

MAX = 4 * LARGE_BODY
SCOPE: Scope = {"client": ("10.0.0.1", 1), "headers": []}


def read(incoming: Incoming, *sizes: int, hangs_up: bool = False) -> int:
    """Read a body in pieces of these sizes and end its request; return how many bytes it had."""

    async def run() -> int:
        with incoming.place(SCOPE) as place:
            data = await incoming.read(place, _receive(sizes, hangs_up=hangs_up))
        return -1 if data is None else len(data)

    return asyncio.run(run())


def _receive(sizes: Sequence[int], *, hangs_up: bool) -> Any:
    left = list(sizes)

    async def receive() -> dict[str, Any]:
        if not left and hangs_up:
            return {"type": "http.disconnect"}
        part = b"a" * left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left) or hangs_up}

    return receive


def test_bodies_are_read_whole() -> None:
    """Small and large ones, in one piece or several; nothing is counted afterwards."""
    incoming = Incoming(MAX, MAX)
    assert read(incoming, 0) == 0
    assert read(incoming, 10, 0, 20) == 30
    assert read(incoming, LARGE_BODY, LARGE_BODY, 2 * LARGE_BODY) == MAX
    assert read(incoming, LARGE_BODY + 1, 1, hangs_up=True) == -1
    assert incoming.num_bytes == 0


@pytest.mark.parametrize("max_body", [10, MAX])
def test_a_body_that_is_too_long_is_refused(max_body: int) -> None:
    """With status 413, as soon as it is; what it took is free again."""
    incoming = Incoming(max_body, MAX)
    with pytest.raises(BadRequest) as refused:
        read(incoming, max_body, 1, 10**9)
    assert (refused.value.status, refused.value.code) == (413, "PAYLOAD_TOO_LARGE")
    assert incoming.num_bytes == 0


def test_large_bodies_share_what_there_is() -> None:
    """What has no room is refused with status 503; small ones always have it, as has one alone."""
    incoming = Incoming(MAX, 2 * LARGE_BODY)

    async def hold() -> None:
        with incoming.place(SCOPE) as place:
            await incoming.read(place, _receive([LARGE_BODY + 1], hangs_up=False))
            assert incoming.num_bytes == LARGE_BODY + 1
            await asyncio.to_thread(read, incoming, LARGE_BODY)
            with pytest.raises(BadRequest) as refused:
                await asyncio.to_thread(read, incoming, LARGE_BODY + 1)
            assert refused.value.status == 503

    asyncio.run(hold())
    assert incoming.num_bytes == 0
    assert read(incoming, MAX) == MAX


@pytest.mark.parametrize("size", [2 * LARGE_BODY - 1, 2 * LARGE_BODY])
def test_a_body_that_stalls_gives_way(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others need the room that it takes, unless as much as a small one came meanwhile."""
    monkeypatch.setattr("server.asgi.room.INCOMING_PATIENCE", 0.2)
    incoming, dropped = Incoming(MAX, MAX), asyncio.Event()
    scope = {**SCOPE, "extensions": {DROP: dropped.set}}
    sizes = [LARGE_BODY + 1, size - LARGE_BODY - 1]

    async def receive() -> dict[str, Any]:
        if not sizes:
            await dropped.wait()
            return {"type": "http.disconnect"}
        await asyncio.sleep(0.15)
        return {"type": "http.request", "body": b"a" * sizes.pop(0), "more_body": True}

    async def stall() -> bytes | None:
        with incoming.place(scope) as place:
            return await incoming.read(place, receive)

    async def run() -> None:
        stalled = asyncio.create_task(stall())
        await asyncio.sleep(0.4)
        with incoming.place(SCOPE) as place:
            reading = incoming.read(place, _receive([MAX], hangs_up=False))
            if size < 2 * LARGE_BODY:
                assert await reading
                assert await stalled is None
            else:
                with pytest.raises(BadRequest):
                    await reading
                dropped.set()
                await stalled

    asyncio.run(run())
    assert incoming.num_bytes == 0

"""Bodies of requests: each is bounded, and large ones all together."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Scope

from server.asgi.errors import BadRequest
from server.asgi.room import LARGE_BODY, Incoming
from server.http.limits import DROP

pytestmark = pytest.mark.anyio

MAX = 4 * LARGE_BODY
SCOPE: Scope = {"client": ("10.0.0.1", 1), "headers": []}


async def read(incoming: Incoming, *sizes: int, hangs_up: bool = False) -> int:
    """Read a body in pieces of these sizes and end its request; return how many bytes it had."""
    with incoming.place(SCOPE) as place:
        data = await incoming.read(place, _receive(sizes, hangs_up=hangs_up))
    return -1 if data is None else len(data)


def _receive(sizes: Sequence[int], *, hangs_up: bool = False) -> Any:
    left = list(sizes)

    async def receive() -> dict[str, Any]:
        if not left and hangs_up:
            return {"type": "http.disconnect"}
        part = b"a" * left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left) or hangs_up}

    return receive


async def test_bodies_are_read_whole() -> None:
    """Small and large ones, in one piece or several; nothing is counted afterwards."""
    incoming = Incoming(MAX, MAX)
    assert await read(incoming, 0) == 0
    assert await read(incoming, 10, 0, 20) == 30
    assert await read(incoming, LARGE_BODY, LARGE_BODY, 2 * LARGE_BODY) == MAX
    assert await read(incoming, LARGE_BODY + 1, 1, hangs_up=True) == -1
    assert incoming.num_bytes == 0


@pytest.mark.parametrize("max_body", [10, MAX])
async def test_a_body_that_is_too_long_is_refused(max_body: int) -> None:
    """With status 413, as soon as it is; its room is free again."""
    incoming = Incoming(max_body, MAX)
    with pytest.raises(BadRequest) as refused:
        await read(incoming, max_body, 1, 10**9)
    assert (refused.value.status, refused.value.code) == (413, "PAYLOAD_TOO_LARGE")
    assert incoming.num_bytes == 0


async def test_large_bodies_share_a_bound() -> None:
    """Without room they are refused with status 503; small ones have room, and one alone."""
    incoming = Incoming(MAX, 2 * LARGE_BODY)
    with incoming.place(SCOPE) as place:
        await incoming.read(place, _receive([LARGE_BODY + 1]))
        assert incoming.num_bytes == LARGE_BODY + 1
        await read(incoming, LARGE_BODY)
        with pytest.raises(BadRequest) as refused:
            await read(incoming, LARGE_BODY + 1)
        assert refused.value.status == 503
    assert incoming.num_bytes == 0
    assert await read(incoming, MAX) == MAX


@pytest.mark.parametrize("size", [2 * LARGE_BODY - 1, 2 * LARGE_BODY])
async def test_a_body_that_stalls_gives_way(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others need its room, unless as much as a small one came meanwhile."""
    monkeypatch.setattr("server.asgi.room.INCOMING_PATIENCE", 0.2)
    incoming, dropped = Incoming(MAX, MAX), asyncio.Event()
    sizes = [LARGE_BODY + 1, size - LARGE_BODY - 1]

    async def receive() -> dict[str, Any]:
        if not sizes:
            await dropped.wait()
            return {"type": "http.disconnect"}
        await asyncio.sleep(0.15)
        return {"type": "http.request", "body": b"a" * sizes.pop(0), "more_body": True}

    async def stall() -> bytes | None:
        with incoming.place({**SCOPE, "extensions": {DROP: dropped.set}}) as place:
            return await incoming.read(place, receive)

    stalled = asyncio.create_task(stall())
    await asyncio.sleep(0.4)
    if size < 2 * LARGE_BODY:
        assert await read(incoming, MAX) == MAX
    else:
        with pytest.raises(BadRequest):
            await read(incoming, MAX)
        dropped.set()
    assert await stalled is None
    assert incoming.num_bytes == 0

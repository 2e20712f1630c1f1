"""Responses on their way: large bodies go piece by piece, and are compressed in their lane."""

import asyncio
import threading
from typing import Any

import pytest
import zstandard

from server.asgi.lanes import Lane
from server.asgi.responses import Response, send_response

pytestmark = pytest.mark.anyio

GET = {"type": "http", "method": "GET"}


def noise(num_bytes: int) -> bytes:
    """Return bytes that repeat themselves late."""
    return b"".join(number.to_bytes(4, "big") for number in range(num_bytes // 4))


async def sent(response: Response, headers: dict[bytes, bytes], lane: Lane) -> list[Any]:
    """Return the ASGI messages of a response, which a lane compresses."""
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    await send_response(response, GET, headers, send, compressing=lane)
    return messages


@pytest.mark.parametrize("num_bytes", [0, 256 << 10, (256 << 10) + 1, 1 << 20])
async def test_a_large_body_goes_in_pieces(num_bytes: int) -> None:
    """So that a slow client holds no copy of the whole; together they are the body."""
    response = Response(200, noise(num_bytes), b"text/plain", b"no-store")
    lane = Lane("test", threads=1, waiting=0, patience=1)
    start, *bodies = await sent(response, {}, lane)
    assert b"".join(it["body"] for it in bodies) == response.body
    assert all(len(it["body"]) <= 256 << 10 for it in bodies)
    assert [it.get("more_body", False) for it in bodies] == [True] * (len(bodies) - 1) + [False]
    assert dict(start["headers"])[b"content-length"] == str(len(response.body)).encode()


async def test_a_large_body_is_compressed_in_the_lane() -> None:
    """Where the lane is full, the body is sent uncompressed."""
    gate = threading.Event()
    lane = Lane("test", threads=1, waiting=0, patience=1)
    body = noise(200_000)

    async def messages() -> list[Any]:
        response = Response(200, body, b"text/plain", b"no-store")
        return await sent(response, {b"accept-encoding": b"zstd"}, lane)

    compressed = await messages()
    assert dict(compressed[0]["headers"])[b"content-encoding"] == b"zstd"
    assert zstandard.ZstdDecompressor().decompress(compressed[1]["body"]) == body
    busy = asyncio.ensure_future(lane.run(lambda: gate.wait(10)))
    await asyncio.sleep(0)
    plain = await messages()
    assert b"content-encoding" not in dict(plain[0]["headers"])
    assert plain[1]["body"] == body
    gate.set()
    await busy
    lane.close()

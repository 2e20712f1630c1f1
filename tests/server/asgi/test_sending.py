"""Responses on their way: large bodies go piece by piece, and are compressed in their lane."""

import asyncio
import threading
from typing import Any

import pytest
import zstandard

from server.asgi.lanes import Lane
from server.asgi.responses import Response, send_response

GET = {"type": "http", "method": "GET"}


def noise(num_bytes: int) -> bytes:
    """Return bytes that repeat themselves late."""
    return b"".join(number.to_bytes(4, "big") for number in range(num_bytes // 4))


async def sent(response: Response, headers: dict[bytes, bytes], **options: Any) -> list[Any]:
    """Return the ASGI messages of a response."""
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    await send_response(response, GET, headers, send, **options)
    return messages


@pytest.mark.parametrize("num_bytes", [0, 1_000, 256 << 10, (256 << 10) + 1, 1 << 20, 3_000_000])
def test_a_large_body_goes_in_pieces(num_bytes: int) -> None:
    """So that a slow client holds no copy of the whole; together they are the body."""
    response = Response(200, noise(num_bytes), b"text/plain", b"no-store")
    start, *bodies = asyncio.run(sent(response, {}))
    assert b"".join(it["body"] for it in bodies) == response.body
    assert all(len(it["body"]) <= 256 << 10 for it in bodies)
    assert [it.get("more_body", False) for it in bodies] == [True] * (len(bodies) - 1) + [False]
    assert dict(start["headers"])[b"content-length"] == str(len(response.body)).encode()


def test_a_large_body_is_compressed_in_the_lane() -> None:
    """Where the lane is full it is sent as it is, rather than not at all."""
    gate = threading.Event()

    async def run() -> tuple[list[Any], list[Any]]:
        lane = Lane("test", threads=1, waiting=0, patience=1)
        accept = {b"accept-encoding": b"zstd"}
        compressed = await sent(
            Response(200, noise(200_000), b"text/plain", b"no-store"), accept, compressing=lane
        )
        busy = asyncio.ensure_future(lane.run(lambda: gate.wait(10)))
        await asyncio.sleep(0)
        plain = await sent(
            Response(200, noise(200_000), b"text/plain", b"no-store"), accept, compressing=lane
        )
        gate.set()
        await busy
        lane.close()
        return compressed, plain

    compressed, plain = asyncio.run(run())
    assert dict(compressed[0]["headers"])[b"content-encoding"] == b"zstd"
    assert zstandard.ZstdDecompressor().decompress(compressed[1]["body"]) == noise(200_000)
    assert b"content-encoding" not in dict(plain[0]["headers"])
    assert plain[1]["body"] == noise(200_000)

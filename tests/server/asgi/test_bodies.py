"""Bodies of requests: their parts, maximum size, and how many large ones are in memory."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Message, Receive

from server.asgi.bodies import LARGE_BODY, MAX_PIECES, MAX_UPLOADS, Bodies
from server.asgi.errors import BadRequest, Disconnected

pytestmark = pytest.mark.anyio

MAX_BODY = 1 << 20


def message(content: bytes, *, more_body: bool = False) -> Message:
    """Return the message of a part of a body."""
    return {"type": "http.request", "body": content, "more_body": more_body}


def received(*messages: Message, hangs: bool = False) -> Receive:
    """Return a function that receives messages, and then that the client is gone, or nothing."""
    rest = iter(messages)

    async def receive() -> Message:
        following = next(rest, None)
        if following is None and hangs:
            await asyncio.Event().wait()
        return following or {"type": "http.disconnect"}

    return receive


async def read(receive: Receive, bodies: Bodies | None = None, max_body: int | None = None) -> Any:
    """Return a body, or the status of its refusal."""
    try:
        async with (bodies or Bodies(MAX_BODY)).body(receive, max_body) as body:
            return body
    except BadRequest as error:
        return error.status


@pytest.mark.parametrize("parts", [[b""], [b"ab"], [b"a", b"", b"b"], [b"x" * 40_000] * 20])
async def test_body_is_read_from_its_parts(parts: Sequence[bytes]) -> None:
    """In their order."""
    messages = [message(part, more_body=True) for part in parts[:-1]]
    assert await read(received(*messages, message(parts[-1]))) == b"".join(parts)


async def test_long_body_is_refused() -> None:
    """As soon as it exceeds the maximum size, which a form may raise."""
    part = message(b"x" * MAX_BODY, more_body=True)
    assert await read(received(part, message(b"x"), hangs=True)) == 413
    assert len(await read(received(part, message(b"x")), max_body=2 * MAX_BODY)) == MAX_BODY + 1


async def test_body_in_too_many_pieces_is_refused() -> None:
    """As soon as it has one more."""
    pieces = [message(b"x", more_body=True)] * (MAX_PIECES - 1)
    assert await read(received(*pieces, message(b"x"))) == b"x" * MAX_PIECES
    pieces.append(message(b"x", more_body=True))
    assert await read(received(*pieces, hangs=True)) == 413


async def test_slow_body_is_refused() -> None:
    """Even if it is small: its request counts until its end."""
    bodies = Bodies(MAX_BODY, seconds=0.01)
    assert await read(received(message(b"x", more_body=True), hangs=True), bodies) == 408


async def test_disconnected_client_has_no_body() -> None:
    """Whether it leaves before or within the body."""
    for messages in ([], [message(b"x", more_body=True)]):
        with pytest.raises(Disconnected):
            await read(received(*messages))


async def test_uploads_wait_for_each_other() -> None:
    """A large body beyond their number is read when one has ended; small ones are read at once."""
    bodies = Bodies(MAX_BODY)
    large = message(b"x" * (LARGE_BODY + 1), more_body=True)
    reading = [
        asyncio.create_task(read(received(large, hangs=True), bodies)) for _ in range(MAX_UPLOADS)
    ]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(read(received(message(large["body"])), bodies))
    assert await read(received(message(b"small")), bodies) == b"small"
    assert not waiting.done()
    reading[0].cancel()
    assert await waiting == large["body"]
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)

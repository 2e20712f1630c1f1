"""The access log: one line a request, whatever becomes of it, and none that a client forges."""

import asyncio
import io
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from server.access_log import AccessLog

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?P<client>\S+) (?P<method>\S+) (?P<path>\S+) "
    r"(?P<status>\d+) (?P<size>\d+)B \d+\.\d\dms"
)
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


async def answering(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer in two pieces."""
    await send({"type": "http.response.start", "status": 201, "headers": []})
    await send({"type": "http.response.body", "body": b"abc", "more_body": True})
    await send({"type": "http.response.body", "body": b"de"})


async def failing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Fail before anything is sent."""
    raise ZeroDivisionError


def scope(path: str = "/graphql", **facts: Any) -> Scope:
    """Return the scope of a request."""
    return {"type": "http", "method": "GET", "path": path, "client": ("10.0.0.1", 5)} | facts


def logged(application: Application, *scopes: Scope, wait: float = 0.0) -> list[str]:
    """Return what is logged of requests until some seconds after the last."""
    stream = io.StringIO()
    log = AccessLog(application, stream)

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(_message: Message) -> None:
        pass

    async def run() -> None:
        for it in scopes:
            await log(it, receive, send)
        await asyncio.sleep(wait)

    asyncio.run(run())
    return stream.getvalue().splitlines()


LIFESPAN: Scope = {"type": "lifespan"}


def test_a_line_says_who_asked_what_and_what_came_of_it() -> None:
    """Time, client, method, path, status, bytes and duration."""
    (line,) = logged(answering, scope(), LIFESPAN)
    match = LINE.fullmatch(line)
    assert match is not None
    assert match.groups() == ("10.0.0.1", "GET", "/graphql", "201", "5")


def test_a_request_that_fails_is_logged_as_such() -> None:
    """The error goes on to whoever answers it, and the line says 500."""
    stream = io.StringIO()
    log = AccessLog(failing, stream)

    async def run() -> None:
        with pytest.raises(ZeroDivisionError):
            await log(scope(), None, None)  # type: ignore[arg-type]
        log.flush()

    asyncio.run(run())
    match = LINE.fullmatch(stream.getvalue().rstrip("\n"))
    assert match is not None
    assert match["status"] == "500"


@pytest.mark.parametrize(
    "path", ["/a\n2025-01-01T00:00:00Z 10.0.0.2 GET /b 200 1B 0.01ms", "/a b", "/\x1b[2J", "/ü"]
)
def test_a_path_cannot_forge_lines(path: str) -> None:
    """Line breaks, spaces and what terminals obey stay escaped, as they were sent."""
    (line,) = logged(answering, scope(path), LIFESPAN)
    match = LINE.fullmatch(line)
    assert match is not None
    assert match["client"] == "10.0.0.1"
    assert match["path"].isascii()
    assert match["path"].isprintable()


def test_a_client_without_an_address_is_a_dash() -> None:
    """Over a Unix socket there is none."""
    (line,) = logged(answering, scope(client=None), LIFESPAN)
    assert " - GET /graphql " in line


def test_lines_are_written_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written at once, everything soon after, in the order of the requests' ends."""
    monkeypatch.setattr("server.access_log.FLUSH_SECONDS", 0.05)
    scopes = [scope(f"/{number}") for number in range(5)]
    assert logged(answering, *scopes) == []
    lines = logged(answering, *scopes, wait=0.2)
    assert [line.split()[3] for line in lines] == [f"/{number}" for number in range(5)]


def test_what_is_left_is_written_at_the_end() -> None:
    """A server that is stopped loses no line."""
    lines = logged(answering, scope("/a"), scope("/b"), LIFESPAN)
    assert [line.split()[3] for line in lines] == ["/a", "/b"]

"""Responses written directly: in the order of requests, complete, and only if none needs a task."""

import asyncio
import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from itertools import pairwise
from random import Random

import pytest
from starlette.types import Receive, Scope, Send

from server.http.connections import BoundedConnection
from server.http.cycles import MAX_AT_ONCE, ReadyAnswer
from server.http.limits import ConnectionLimits
from tests.expensive import cases
from tests.server.http.test_connections import (
    CLOSE,
    Running,
    request_bytes,
    response_to,
    rest,
    running,
)
from tests.server.servers import PATIENCE, until

LARGE = 16 << 20

LIMITS = ConnectionLimits(keep_alive=0.6)


class Application:
    """Responds directly to short paths, and by a task to all others; the body says which."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond by a task."""
        if scope["type"] != "http":
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        if scope["path"] == "/slow-task":
            await asyncio.sleep(0.02)
        content = b"task %b %b" % (scope["path"].encode(), body or _names(scope))
        length = (b"content-length", str(len(content)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": content})

    def __init__(self) -> None:
        self.num_held = 0

    def release(self) -> None:
        """Count a large response as read."""
        self.num_held -= 1

    def at_once(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        """Respond directly."""
        if scope["path"] == "/bad":
            raise ZeroDivisionError
        if scope["path"].endswith("task"):
            return None
        if scope["path"] == "/large":
            self.num_held += 1
            return ReadyAnswer(200, b"content-length: %d\r\n" % LARGE, bytes(LARGE), self.release)
        content = b"ready %b %b" % (scope["path"].encode(), body or _names(scope))
        return ReadyAnswer(200, b"content-length: %d\r\n" % len(content), content)


def _names(scope: Scope) -> bytes:
    """Return the names of the X- headers."""
    return b",".join(name for name, _ in scope["headers"] if name.startswith(b"x-"))


@pytest.fixture(scope="module")
def ready() -> Iterator[Running]:
    """Serve the application."""
    with running(LIMITS, Application()) as server:
        yield server


@pytest.fixture(scope="module")
def plain() -> Iterator[Running]:
    """Serve the application by tasks only."""
    application = Application()

    async def by_tasks(scope: Scope, receive: Receive, send: Send) -> None:
        await application(scope, receive, send)

    with running(LIMITS, by_tasks) as server:
        yield server


def bodies_of(running: Running, *requests: bytes) -> list[bytes]:
    """Send requests in one piece, the last of which closes, and return the response bodies."""
    received = response_to(running, b"".join(requests))
    return [part.split(b"HTTP/1.1")[0] for part in received.split(b"\r\n\r\n")[1:]]


def test_event_loop_continues_between_requests(ready: Running) -> None:
    """After some requests of one packet, the next uses a task; the order remains."""
    requests = [request_bytes(f"/{number}") for number in range(MAX_AT_ONCE + 20)]
    bodies = bodies_of(ready, *requests, request_bytes("/last", CLOSE))
    ways = [body.split()[0] for body in bodies]
    assert ways[: MAX_AT_ONCE + 1] == [b"ready"] * MAX_AT_ONCE + [b"task"]
    assert [body.split()[1] for body in bodies] == [
        *(b"/%d" % number for number in range(MAX_AT_ONCE + 20)),
        b"/last",
    ]


@pytest.mark.parametrize("seed", range(cases(20)))
@pytest.mark.parametrize("server", ["plain", "ready"])
def test_any_conversation_is_answered(
    server: str, seed: int, request: pytest.FixtureRequest
) -> None:
    """Requests of all kinds, cut anywhere: one complete response each, in order."""
    running: Running = request.getfixturevalue(server)
    random = Random(seed)
    expected, parts = [], []
    for _ in range(random.randint(1, 20)):
        path = random.choice(("/a", "/a-task", "/slow-task"))
        body = b"x" * random.choice((0, 0, 1, 10, 300, 70_000))
        expected.append(path.encode() + b" " + body)
        parts.append(
            request_bytes(path, body=body) if random.random() < 0.7 else chunked(path, body, random)
        )
    conversation = b"".join(parts) + request_bytes("/last", CLOSE)
    cuts = sorted(random.randrange(len(conversation)) for _ in range(random.randint(0, 12)))
    with ThreadPoolExecutor(1) as pool, running.connect() as connection:
        receiving = pool.submit(rest, connection)
        for start, end in pairwise([0, *cuts, len(conversation)]):
            connection.sendall(conversation[start:end])
            time.sleep(random.choice((0, 0, 0.01)))
        answered = receiving.result(PATIENCE)
    bodies = [part.split(b"HTTP/1.1")[0] for part in answered.split(b"\r\n\r\n")[1:]]
    assert [body.partition(b" ")[2] for body in bodies] == [*expected, b"/last "]


def chunked(path: str, body: bytes, random: Random) -> bytes:
    """Return a request with a chunked body."""
    cuts = sorted(random.randrange(len(body)) for _ in range(3)) if body else []
    chunks = [body[start:end] for start, end in pairwise([0, *cuts, len(body)]) if end > start]
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


@pytest.mark.parametrize("path", ["/a", "/a-task"])
@pytest.mark.parametrize("trailers", [1, 500])
def test_trailers_are_not_headers(ready: Running, path: str, trailers: int) -> None:
    """A client cannot send after the body what only a proxy may send before it."""
    head = f"POST {path} HTTP/1.1\r\nX-First: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = "0\r\n" + "X-Forwarded-For: 192.0.2.1\r\n" * trailers + "\r\n"
    bodies = bodies_of(ready, (head + body).encode(), request_bytes("/last", CLOSE))
    assert [body.split()[1:] for body in bodies] == [[path.encode(), b"x-first"], [b"/last"]]


def test_expect_100_continue(ready: Running) -> None:
    """Also if the body has arrived."""
    answer = response_to(ready, request_bytes("/a", f"Expect: 100-continue\r\n{CLOSE}", b"x"))
    assert answer.startswith(b"HTTP/1.1 100 ")
    assert answer.endswith(b"task /a x")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_connection_is_kept_alive_or_closed(ready: Running, version: str) -> None:
    """HTTP/1.0 closes, as does Connection: close; the response says so."""
    headers = CLOSE if version == "1.1" else ""
    answer = response_to(
        ready, request_bytes("/a", headers).replace(b"HTTP/1.1", b"HTTP/" + version.encode())
    )
    assert b"\r\nconnection: close\r\n" in answer
    with ready.connect() as connection:
        for _ in range(3):
            connection.sendall(request_bytes("/a"))
            response = HTTPResponse(connection)
            response.begin()
            assert response.getheader("connection") is None
            assert response.getheader("date")
            assert response.read() == b"ready /a "


@pytest.mark.parametrize("path", ["/a", "/a-task"])
def test_idle_connection_is_closed(ready: Running, path: str) -> None:
    """Counted from the last response: an active connection stays open."""
    with ready.connect() as connection:
        for _ in range(3):
            time.sleep(0.25)
            connection.sendall(request_bytes(path))
            assert connection.recv(1_000).endswith(b" %b " % path.encode())
        began = time.monotonic()
        assert connection.recv(1) == b""
        assert 0.4 < time.monotonic() - began < 5


def test_exception_is_handled_by_a_task(ready: Running) -> None:
    """The application handles it like its other errors; it is no client error."""
    assert response_to(ready, request_bytes("/bad", CLOSE)).endswith(b"task /bad ")


def test_large_response_is_held_until_it_is_read() -> None:
    """A response in transit counts until it is read or its client disconnects."""
    application = Application()
    with running(LIMITS, application) as server:
        with server.connect() as connection:
            connection.sendall(request_bytes("/large", CLOSE))
            until(lambda: application.num_held == 1, "it waits for its client")
            assert len(rest(connection).partition(b"\r\n\r\n")[2]) == LARGE
        until(lambda: not application.num_held, "it was read")
        with server.connect() as connection:
            connection.sendall(request_bytes("/large"))
            until(lambda: application.num_held == 1, "it waits for its client")
        until(lambda: not application.num_held, "the client is gone")


def test_input_after_a_response_is_parsed_strictly(ready: Running) -> None:
    """Invalid input is refused after the response; a request with a bad body gets none."""
    answer = response_to(ready, request_bytes("/a") + b"nonsense\r\n\r\n")
    assert answer.count(b"ready /a ") == 1
    assert b"HTTP/1.1 400 " in answer
    bad = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n\r\n"
    answer = response_to(ready, bad)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"/a" not in answer
    # Requests that wait for earlier ones are answered; then the connection is released.
    answer = response_to(ready, request_bytes("/slow-task") * 3 + b"nonsense\r\n\r\n")
    assert answer.count(b" /slow-task ") == 3
    until(lambda: not ready.num_connections(), "it is closed")


def test_closed_connection_is_freed(ready: Running) -> None:
    """Without the cyclic garbage collector, which seldom examines old objects."""

    def count() -> int:
        return sum(isinstance(value, BoundedConnection) for value in gc.get_objects())

    gc.collect()
    before = count()
    gc.disable()
    try:
        for _ in range(50):
            response_to(ready, request_bytes("/a", CLOSE))
        until(lambda: not ready.num_connections(), "all are closed")
        assert count() - before < 5
    finally:
        gc.enable()


@pytest.mark.parametrize("gap", [0, 0.1])
@pytest.mark.parametrize("path", ["/a", "/a-task"])
@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
def test_body_after_an_upgrade_offer_is_a_body(
    ready: Running, protocol: str, path: str, gap: float
) -> None:
    """And not another request: otherwise a client could smuggle requests."""
    inner = request_bytes("/hidden")
    head = (
        f"POST {path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n"
        f"Content-Length: {len(inner)}\r\n\r\n"
    )
    with ready.connect() as connection:
        connection.sendall(head.encode())
        time.sleep(gap)
        connection.sendall(inner)
        time.sleep(gap)
        connection.sendall(request_bytes("/last", CLOSE))
        answered = rest(connection)
    assert answered.count(b"HTTP/1.1 200 ") == 2
    assert f" {path} ".encode() + inner in answered
    assert answered.endswith(b" /last ")


@pytest.mark.parametrize("target", ["x:443", "/a"])
def test_connect_is_refused(ready: Running, target: str) -> None:
    """What follows it is not read."""
    answered = response_to(
        ready, f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + request_bytes("/a")
    )
    assert answered.startswith(b"HTTP/1.1 400 ")
    assert answered.count(b"HTTP/1.1 ") == 1

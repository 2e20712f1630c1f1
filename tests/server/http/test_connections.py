"""Limits of connections: sizes, timeouts, and the number of connections."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from server.app import create_app
from server.http.cycles import ReadyAnswer
from server.http.limits import DROP, ConnectionLimits
from server.http.servers import DrainingServer, ServerConfig, listening_socket
from server.settings import Settings
from tests.server.servers import PATIENCE, until

BIG = 30_000_000
SOON = 5.0
"""Seconds within which a client sees the effect of a deadline of less than a second."""

LIMITS = ConnectionLimits(
    max_connections=20,
    max_headers=4_000,
    max_body=10_000,
    head_timeout=0.5,
    body_timeout=0.5,
    send_timeout=0.5,
)


MAY_END = threading.Event()
"""Set to answer requests for /held and /late."""


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the number of body bytes; at /early and /late before reading them."""
    if scope["type"] != "http":
        return
    size, more = 0, scope["path"] not in ("/early", "/late")
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
        if scope["path"] == "/drop":
            scope["extensions"][DROP]()
    while scope["path"] in ("/held", "/late") and not MAY_END.is_set():
        await asyncio.sleep(0.01)
    body = b"x" * BIG if scope["path"] == "/big" else str(size).encode()
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    if scope["path"] == "/drop-answer":
        scope["extensions"][DROP]()
    await send({"type": "http.response.body", "body": body})


class DirectApplication:
    """The application, which responds directly except at its special paths."""

    __call__ = staticmethod(application)

    def at_once(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        """Respond as the application does."""
        if scope["path"] in ("/early", "/late", "/held", "/big", "/drop", "/drop-answer"):
            return None
        size = str(len(body)).encode()
        return ReadyAnswer(200, b"content-length: %d\r\n" % len(size), size)


class Running(NamedTuple):
    """A server in a thread, and its address."""

    server: DrainingServer
    address: tuple[str, int]

    def connect(self) -> socket.socket:
        """Return a new connection."""
        return socket.create_connection(self.address, timeout=PATIENCE)

    def num_connections(self) -> int:
        """Return the number of open connections."""
        return len(self.server.server_state.connections)


@contextmanager
def running(limits: ConnectionLimits, answering: ASGIApp = application) -> Iterator[Running]:
    """Serve from a thread."""
    listening = listening_socket("127.0.0.1", 0)
    server = DrainingServer(ServerConfig(lambda: answering, limits, owns_socket=True))
    address = listening.getsockname()[:2]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(lambda: server.started, "the server has started")
        yield Running(server, address)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()


@pytest.fixture(scope="module")
def bounded() -> Iterator[Running]:
    """Serve with low limits."""
    with running(LIMITS, DirectApplication()) as server:
        yield server


@pytest.fixture(scope="module")
def by_tasks() -> Iterator[Running]:
    """Serve an application that responds only by tasks."""
    with running(LIMITS) as server:
        yield server


@pytest.fixture(params=["by_tasks", "bounded"])
def either(request: pytest.FixtureRequest) -> Running:
    """Return each of the two, for tests of how requests are read."""
    server: Running = request.getfixturevalue(request.param)
    return server


def rest(connection: socket.socket) -> bytes:
    """Return all input until the server closes or resets the connection."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


def response_to(running: Running, request: bytes) -> bytes:
    """Send a request, and return the response until the server closes the connection."""
    with running.connect() as connection:
        with suppress(ConnectionError):  # the server does not read to the end
            connection.sendall(request)
        return rest(connection)


def request_bytes(path: str = "/", headers: str = "", body: bytes = b"") -> bytes:
    """Return a request."""
    method = "POST" if body else "GET"
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{length}{headers}\r\n".encode() + body


CLOSE = "Connection: close\r\n"


def status(answer: bytes) -> int:
    """Return the status of a response, 0 if there is none."""
    return int(answer.split()[1]) if answer else 0


# -- sizes

OVERSIZED = {
    "a line": (request_bytes("/" + "a" * 5_000), 414),
    "a line without an end": (b"GET /" + b"a" * 3_000_000, 414),
    "a header": (request_bytes(headers=f"A: {'b' * 5_000}\r\n"), 431),
    "a header without an end": (b"GET / HTTP/1.1\r\nA: " + b"b" * 3_000_000, 431),
    "a name without an end": (b"GET / HTTP/1.1\r\n" + b"b" * 3_000_000, 431),
    "small headers": (request_bytes(headers="A: b\r\n" * 101), 431),
    "empty lines without an end": (b"\r\n" * 1_000_000, 431),
    "no request": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "chunks with long extensions": (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"1;" + b"e" * 1_000 + b"\r\nx\r\n") * 3_000,
        413,
    ),
    "a trailer without an end": (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: "
        + b"b" * 3_000_000,
        413,
    ),
}


@pytest.mark.parametrize("name", OVERSIZED)
def test_oversized_request_is_refused(either: Running, name: str) -> None:
    """With a specific status, and the connection is closed without reading megabytes."""
    request, expected = OVERSIZED[name]
    answer = response_to(either, request)
    assert status(answer) in (expected, 0 if len(request) > 1_000_000 else expected)
    assert b"200 OK" not in answer
    until(lambda: not either.num_connections(), "the connection is closed", SOON)


@pytest.mark.parametrize("pieces", [1, 40])
def test_request_within_the_limits_is_answered(either: Running, pieces: int) -> None:
    """Regardless of its division into packets."""
    request = request_bytes("/" + "a" * 1_800, f"A: {'b' * 1_900}\r\n{CLOSE}", b"c" * 10_000)
    with either.connect() as connection:
        step = -(-len(request) // pieces)
        for start in range(0, len(request), step):
            connection.sendall(request[start : start + step])
            time.sleep(0.1 / pieces)
        answer = rest(connection)
    assert (status(answer), answer[-5:]) == (200, b"10000")


def test_limits_apply_to_each_request(bounded: Running) -> None:
    """Consecutive requests together may exceed them."""
    with bounded.connect() as connection:
        for _ in range(30):
            connection.sendall(request_bytes(headers=f"A: {'b' * 1_000}\r\n", body=b"c" * 1_000))
            assert connection.recv(1_000).endswith(b"1000")
        connection.sendall(request_bytes(headers=CLOSE))
        assert rest(connection).endswith(b"0")


def test_pipelining_is_bounded(either: Running) -> None:
    """A connection with hundreds of waiting requests is closed after some of them."""
    responses = response_to(either, request_bytes() * 1_000)
    assert 1 <= responses.count(b"200 OK") < 100


def test_response_before_the_end_of_the_body_closes(bounded: Running) -> None:
    """The client receives it; the rest of the body is not awaited."""
    body = b"c" * 1_000_000
    for sent in (1_000, 200_000, len(body)):
        with bounded.connect() as connection:
            connection.sendall(request_bytes("/early", body=body)[: 100 + sent])
            answer = rest(connection)
        assert status(answer) == 200
        assert b"connection: close" in answer


def test_client_gone_before_the_end_of_the_body_is_no_error(
    bounded: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Its response is discarded, and nothing is logged, so that no client can fill the log."""
    MAY_END.clear()
    tasks = bounded.server.server_state.tasks
    with bounded.connect() as connection:
        connection.sendall(request_bytes("/late", body=b"c" * 1_000)[:-10])
        until(lambda: tasks, "it is being answered")
    until(lambda: not bounded.num_connections(), "the server noticed that the client is gone", SOON)
    MAY_END.set()
    until(lambda: not tasks, "its task has ended", SOON)
    assert not caplog.records


# -- times


def drip(connection: socket.socket, data: bytes) -> None:
    """Send a byte each 50 ms until the server closes the connection."""
    with suppress(OSError):
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)


LATE = {
    "nothing": (b"", b"", 0),
    "a line": (b"GET", b" /" + b"a" * 200, 408),
    "a header": (b"GET / HTTP/1.1\r\nA: ", b"b" * 200, 408),
    "empty lines": (b"\r\n", b"\r\n" * 100, 0),
    "a body": (request_bytes(body=b"c" * 9_000)[:500], b"c" * 200, 408),
    "a second request": (request_bytes() + b"GET", b" /" + b"a" * 200, 200),
    "lines after a request": (request_bytes(), b"\r\n" * 100, 200),
}


def test_slow_clients_are_refused(either: Running) -> None:
    """Within the deadline, although they continue to send; without a request, no response."""

    def status_of(at_once: bytes, slowly: bytes) -> int:
        with either.connect() as connection:
            connection.sendall(at_once)
            pool.submit(drip, connection, slowly)
            began = time.monotonic()
            answer = rest(connection)
            assert time.monotonic() - began < SOON
            return status(answer)

    with ThreadPoolExecutor(2 * len(LATE)) as pool:
        statuses = {
            name: pool.submit(status_of, at_once, slowly)
            for name, (at_once, slowly, _) in LATE.items()
        }
        expected = {name: late[-1] for name, late in LATE.items()}
        assert {name: statuses[name].result(PATIENCE) for name in statuses} == expected


def test_slow_response_has_no_deadline(bounded: Running) -> None:
    """The deadlines apply only to the client."""
    MAY_END.clear()
    with bounded.connect() as connection:
        connection.sendall(request_bytes("/held", CLOSE, b"c" * 100))
        time.sleep(1.2 * LIMITS.send_timeout)
        MAY_END.set()
        assert rest(connection).endswith(b"100")


def test_clients_that_do_not_read_are_dropped(bounded: Running) -> None:
    """With the rest of the response, also if the server has already sent all of it."""
    with bounded.connect() as kept_alive, bounded.connect() as closed:
        kept_alive.sendall(request_bytes("/big"))
        closed.sendall(request_bytes("/big", CLOSE))
        until(lambda: bounded.num_connections() == 2, "they are connected", SOON)
        until(lambda: not bounded.num_connections(), "they are dropped", SOON)
        assert all(len(rest(connection)) < BIG for connection in (kept_alive, closed))


def test_slow_reader_gets_the_complete_response(bounded: Running) -> None:
    """The kernel buffers megabytes, and accepts more only when much of it was read."""
    with bounded.connect() as connection:
        connection.sendall(request_bytes("/big", CLOSE))
        size, slow_until = 0, time.monotonic() + 3 * LIMITS.send_timeout
        while time.monotonic() < slow_until:
            size += len(connection.recv(20_000))
            time.sleep(0.05)
        size += len(rest(connection))
    assert size > BIG


@pytest.mark.parametrize(
    ("path", "left_out", "expected"),
    [("/drop", 10, 503), ("/drop", 0, 0), ("/drop-answer", 0, 200)],
)
def test_dropped_request_is_aborted(
    bounded: Running, path: str, left_out: int, expected: int
) -> None:
    """With 503 and Retry-After if the client is still sending; others continue."""
    request = request_bytes(path, body=b"c" * 1_000)
    answer = response_to(bounded, request[: len(request) - left_out])
    assert status(answer) == expected
    assert not answer.endswith(b"1000")
    assert (b"retry-after: 1\r\n" in answer) == (expected == 503)
    until(lambda: not bounded.server.server_state.tasks, "its task has ended", SOON)


def test_incomplete_request_is_refused_at_shutdown(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After the time limit of requests, with 503, and without an error in the log."""
    monkeypatch.setattr("server.http.servers.GRACE_SECONDS", 0.3)
    app = create_app(Settings(catalog=str(demo_catalog)))
    with ExitStack() as opened:
        with running(ConnectionLimits(), app) as server:
            connection = opened.enter_context(server.connect())
            connection.sendall(request_bytes("/check", body=b"c" * 100_000)[:-100])
            until(lambda: server.server.server_state.tasks, "it is being read")
        assert status(rest(connection)) == 503
    assert not [record for record in caplog.records if record.exc_info]


# -- connections


def test_longest_waiting_connection_is_closed(either: Running) -> None:
    """A client with many connections does not exclude others, and their number is bounded."""
    with ExitStack() as opened:
        for number in range(60):
            slow = opened.enter_context(either.connect())
            slow.sendall(request_bytes(body=b"c" * 100)[: (0, 10, 70)[number % 3]])
        assert response_to(either, request_bytes(headers=CLOSE)).endswith(b"0")
        assert either.num_connections() <= LIMITS.max_connections
    until(lambda: not either.num_connections(), "all are closed", SOON)


def test_busy_server_refuses_connections(bounded: Running) -> None:
    """503 with Retry-After; the requests in progress are answered."""
    MAY_END.clear()
    with ExitStack() as opened:
        busy = [opened.enter_context(bounded.connect()) for _ in range(LIMITS.max_connections)]
        for connection in busy:
            connection.sendall(request_bytes("/held", CLOSE))
        until(lambda: len(bounded.server.server_state.tasks) == len(busy), "all are asked", SOON)
        refused = response_to(bounded, request_bytes())
        assert status(refused) == 503
        assert b"retry-after: 1\r\n" in refused
        MAY_END.set()
        assert all(rest(connection).endswith(b"0") for connection in busy)

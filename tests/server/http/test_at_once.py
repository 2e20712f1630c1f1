"""Answers at once: in the order of the requests, whole, and none that should go another way."""

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http.client import HTTPResponse
from itertools import pairwise
from random import Random

import pytest
from starlette.types import Receive, Scope, Send

from server.http.connections import BoundedConnection, Deadline
from server.http.cycles import MAX_AT_ONCE, AnswerBytes, ReadyAnswer, Work
from server.http.limits import ConnectionLimits
from tests.expensive import cases
from tests.server.http.test_connections import CLOSE, Running, ask, rest, running, said
from tests.server.servers import PATIENCE, until

LARGE = 16 << 20

LIMITS = ConnectionLimits(keep_alive_seconds=0.6)


class Application:
    """Says how it was asked: at once for short paths, and by a task for all others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by a task."""
        if scope["type"] != "http":
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        self.num_gone += message["type"] == "http.disconnect"
        if scope["path"] == "/slow-task":
            await asyncio.sleep(0.02)
        said = b"task %b %b" % (scope["path"].encode(), body or _names(scope))
        length = (b"content-length", str(len(said)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": said})

    def __init__(self) -> None:
        self.num_held = self.num_gone = 0
        self.may_end = threading.Event()
        """When the work for /turn-slow ends, and with it that of the event loop."""

    def leave(self) -> None:
        """Count a large answer as read."""
        self.num_held -= 1

    def at_once(self, scope: Scope, body: bytes) -> ReadyAnswer | Work | None:
        """Answer at once, or in a turn."""
        if scope["path"] == "/bad":
            raise ZeroDivisionError
        if scope["path"].startswith("/turn"):
            return partial(self._ready, scope, body)
        return self._ready(scope, body)

    def _ready(self, scope: Scope, body: bytes) -> ReadyAnswer | None:
        if scope["path"] == "/turn-bad":
            raise ZeroDivisionError
        if scope["path"].endswith("task"):
            return None
        if scope["path"] == "/turn-slow":
            self.may_end.wait(PATIENCE)
        if scope["path"] == "/large":
            self.num_held += 1
            return ReadyAnswer(200, b"content-length: %d\r\n" % LARGE, bytes(LARGE), self)
        said = b"ready %b %b" % (scope["path"].encode(), body or _names(scope))
        return ReadyAnswer(200, b"content-length: %d\r\n" % len(said), said)


def _names(scope: Scope) -> bytes:
    """Return the names of headers that tests ask about."""
    return b",".join(name for name, _ in scope["headers"] if name.startswith(b"x-"))


@pytest.fixture(scope="module")
def ready() -> Iterator[Running]:
    """Serve the application."""
    with running(LIMITS, Application()) as it:
        yield it


@pytest.fixture(scope="module")
def plain() -> Iterator[Running]:
    """Serve the application by tasks alone."""
    application = Application()

    async def by_tasks(scope: Scope, receive: Receive, send: Send) -> None:
        await application(scope, receive, send)

    with running(LIMITS, by_tasks) as it:
        yield it


def answers(running: Running, *requests: bytes) -> list[bytes]:
    """Send requests in one piece, the last of which closes, and return the bodies."""
    said_all = said(running, b"".join(requests))
    return [part.split(b"HTTP/1.1")[0] for part in said_all.split(b"\r\n\r\n")[1:]]


def test_requests_are_answered_in_their_order(ready: Running) -> None:
    """Whichever way each of them goes: what is ready waits for what came before it."""
    paths = ["/a", "/slow-task", "/turn", "/task", "/turn", "/turn", "/b", "/turn-task", "/turn"]
    requests = [ask(path, body=b"x") for path in paths]
    found = answers(ready, *requests, ask("/last", CLOSE))
    assert [it.split()[1].decode() for it in found] == [*paths, "/last"]
    assert found[0] == b"ready /a x"
    assert found[1] == b"task /slow-task x"


def test_the_event_loop_goes_on_between_many(ready: Running) -> None:
    """After some requests of one packet the next goes by a task, and so on in order."""
    requests = [ask(f"/{number}") for number in range(MAX_AT_ONCE + 20)]
    found = answers(ready, *requests, ask("/last", CLOSE))
    ways = [it.split()[0] for it in found]
    assert ways[: MAX_AT_ONCE + 1] == [b"ready"] * MAX_AT_ONCE + [b"task"]
    assert [it.split()[1] for it in found] == [
        *(b"/%d" % number for number in range(MAX_AT_ONCE + 20)),
        b"/last",
    ]


@pytest.mark.parametrize("seed", range(cases(20)))
@pytest.mark.parametrize("server", ["plain", "ready"])
def test_any_conversation_is_answered(
    server: str, seed: int, request: pytest.FixtureRequest
) -> None:
    """Requests of all kinds, cut anywhere: as many answers, in order, each whole."""
    running: Running = request.getfixturevalue(server)
    random = Random(seed)
    expected, parts = [], []
    for _ in range(random.randint(1, 20)):
        path = random.choice(("/a", "/turn", "/turn-task", "/a-task", "/slow-task"))
        body = b"x" * random.choice((0, 0, 1, 10, 300, 70_000))
        expected.append(path.encode() + b" " + body)
        parts.append(ask(path, body=body) if random.random() < 0.7 else chunked(path, body, random))
    conversation = b"".join(parts) + ask("/last", CLOSE)
    cuts = sorted(random.randrange(len(conversation)) for _ in range(random.randint(0, 12)))
    with ThreadPoolExecutor(1) as pool, running.connect() as connection:
        receiving = pool.submit(rest, connection)
        for start, end in pairwise([0, *cuts, len(conversation)]):
            connection.sendall(conversation[start:end])
            time.sleep(random.choice((0, 0, 0.01)))
        answered = receiving.result(PATIENCE)
    bodies = [part.split(b"HTTP/1.1")[0] for part in answered.split(b"\r\n\r\n")[1:]]
    assert [it.partition(b" ")[2] for it in bodies] == [*expected, b"/last "]


def chunked(path: str, body: bytes, random: Random) -> bytes:
    """Return a request whose body comes in chunks."""
    cuts = sorted(random.randrange(len(body)) for _ in range(3)) if body else []
    chunks = [body[start:end] for start, end in pairwise([0, *cuts, len(body)]) if end > start]
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(it), it) for it in chunks) + b"0\r\n\r\n"


@pytest.mark.parametrize("path", ["/a", "/a-task"])
@pytest.mark.parametrize("trailers", [1, 500])
def test_trailers_are_no_headers(ready: Running, path: str, trailers: int) -> None:
    """A client can not say behind a body what only a proxy may say before it."""
    head = f"POST {path} HTTP/1.1\r\nX-First: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = "0\r\n" + "X-Forwarded-For: 192.0.2.1\r\n" * trailers + "\r\n"
    found = answers(ready, (head + body).encode(), ask("/last", CLOSE))
    assert [it.split()[1:] for it in found] == [[path.encode(), b"x-first"], [b"/last"]]


def test_a_client_that_expects_100_is_answered_so(ready: Running) -> None:
    """Also where the body has arrived."""
    answer = said(ready, ask("/a", f"Expect: 100-continue\r\n{CLOSE}", b"x"))
    assert answer.startswith(b"HTTP/1.1 100 ")
    assert answer.endswith(b"task /a x")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_the_connection_is_kept_or_closed_as_asked(ready: Running, version: str) -> None:
    """HTTP/1.0 closes, as do those who ask for it; the answer says so."""
    headers = CLOSE if version == "1.1" else ""
    answer = said(ready, ask("/a", headers).replace(b"HTTP/1.1", b"HTTP/" + version.encode()))
    assert b"\r\nconnection: close\r\n" in answer
    with ready.connect() as connection:
        for _ in range(3):
            connection.sendall(ask("/a"))
            kept = HTTPResponse(connection)
            kept.begin()
            assert kept.getheader("connection") is None
            assert kept.getheader("date")
            assert kept.read() == b"ready /a "


@pytest.mark.parametrize("path", ["/a", "/a-task"])
def test_an_idle_connection_is_closed(ready: Running, path: str) -> None:
    """Counted from the last answer: one that asks now and then stays."""
    with ready.connect() as connection:
        for _ in range(3):
            time.sleep(0.25)
            connection.sendall(ask(path))
            assert connection.recv(1_000).endswith(b" %b " % path.encode())
        began = time.monotonic()
        assert connection.recv(1) == b""
        assert 0.4 < time.monotonic() - began < 5


@pytest.mark.parametrize("path", ["/bad", "/turn-bad"])
def test_a_fault_goes_by_a_task(ready: Running, path: str) -> None:
    """The application answers it as any other of its errors; the client is not blamed."""
    assert said(ready, ask(path, CLOSE)).endswith(b"task %b " % path.encode())


def test_clients_take_turns(ready: Running) -> None:
    """All that come together are answered, also behind one that hangs up while it waits."""
    with ExitStack() as held:
        connections = [held.enter_context(ready.connect()) for _ in range(20)]
        for connection in connections:
            connection.sendall(ask("/turn") * 3 + ask("/last", CLOSE))
        connections.pop(1).close()
        assert {rest(connection).count(b" /turn ") for connection in connections} == {3}


def test_a_client_that_leaves_before_its_turn_is_noted() -> None:
    """By the application, as one that leaves during its request."""
    application = Application()
    with running(LIMITS, application) as server, ExitStack() as held:
        connections = [held.enter_context(server.connect()) for _ in range(10)]
        until(lambda: server.num_connections() == 10, "they are connected")
        for path, connection in zip(["/turn-slow", *["/turn"] * 9], connections, strict=True):
            connection.sendall(ask(path, CLOSE))
        connections.pop().close()
        application.may_end.set()
        assert all(b" /turn" in rest(connection) for connection in connections)
        until(lambda: application.num_gone == 1, "it was noted")


def test_a_large_answer_is_held_until_it_is_read() -> None:
    """What waits for its client counts; nothing does when it has hung up."""
    application = Application()
    with running(LIMITS, application) as server:
        with server.connect() as connection:
            connection.sendall(ask("/large", CLOSE))
            until(lambda: application.num_held == 1, "it waits for its client")
            assert len(rest(connection).partition(b"\r\n\r\n")[2]) == LARGE
        until(lambda: not application.num_held, "it was read")
        with server.connect() as connection:
            connection.sendall(ask("/large"))
            until(lambda: application.num_held == 1, "it waits for its client")
        until(lambda: not application.num_held, "the client is gone")


def test_what_follows_an_answer_is_read_strictly(ready: Running) -> None:
    """Nonsense is refused after the answer before it; half of a bad body is not answered."""
    answer = said(ready, ask("/a") + b"nonsense\r\n\r\n")
    assert answer.count(b"ready /a ") == 1
    assert b"HTTP/1.1 400 " in answer
    bad = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n\r\n"
    answer = said(ready, bad)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"/a" not in answer


def test_nonsense_behind_requests_that_wait_closes_after_their_answers(ready: Running) -> None:
    """What waits for its turn is answered, and nothing is held for the connection afterwards."""
    answer = said(ready, ask("/turn") * 3 + b"nonsense\r\n\r\n")
    assert answer.count(b" /turn ") == 3
    until(lambda: not ready.num_connections(), "it is closed")


def test_a_closed_connection_takes_no_memory(ready: Running) -> None:
    """Without waiting for the collector of garbage, which seldom looks at what is old."""

    def count() -> int:
        return sum(isinstance(it, BoundedConnection) for it in gc.get_objects())

    gc.collect()
    before = count()
    gc.disable()
    try:
        for _ in range(50):
            said(ready, ask("/a", CLOSE))
        until(lambda: not ready.num_connections(), "all are closed")
        assert count() - before < 5
    finally:
        gc.enable()


def test_the_time_of_an_answer_is_that_of_now() -> None:
    """The lines that all answers share are made anew when the server changes them."""
    answer, made = ReadyAnswer(304, b"etag: x\r\n", b""), AnswerBytes()
    for date in (b"Mon", b"Tue"):
        found = made.of(answer, [(b"date", date)], keeps_alive=True)
        assert b"".join(found) == b"HTTP/1.1 304 Not Modified\r\ndate: %b\r\netag: x\r\n\r\n" % date


@pytest.mark.anyio
async def test_a_deadline_is_the_last_that_was_set() -> None:
    """However it moves; none is left where it was cancelled, or the connection is closed."""
    ended: list[str] = []
    loop = asyncio.get_running_loop()
    names = ("closed", "cancelled", "moved away", "moved nearer", "set")
    deadlines = {name: Deadline(loop, partial(ended.append, name)) for name in names}
    for name, deadline in deadlines.items():
        deadline.set(60 if name == "moved nearer" else 0.01)
    deadlines["closed"].close()
    deadlines["cancelled"].cancel()
    deadlines["moved away"].set(0.1)
    deadlines["moved nearer"].set(0.02)
    await asyncio.sleep(0.06)
    assert ended == ["set", "moved nearer"]
    assert [name for name in names if deadlines[name].is_set] == ["moved away"]
    await asyncio.sleep(0.1)
    assert ended[2:] == ["moved away"]


@pytest.mark.parametrize("gap", [0, 0.1])
@pytest.mark.parametrize("path", ["/a", "/a-task"])
@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
def test_the_body_behind_an_offer_to_upgrade_is_a_body(
    ready: Running, protocol: str, path: str, gap: float
) -> None:
    """And no request of its own: else one client could have others answered what it likes."""
    inner = ask("/hidden")
    head = (
        f"POST {path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n"
        f"Content-Length: {len(inner)}\r\n\r\n"
    )
    with ready.connect() as connection:
        connection.sendall(head.encode())
        time.sleep(gap)
        connection.sendall(inner)
        time.sleep(gap)
        connection.sendall(ask("/last", CLOSE))
        answered = rest(connection)
    assert answered.count(b"HTTP/1.1 200 ") == 2
    assert f" {path} ".encode() + inner in answered
    assert answered.endswith(b" /last ")


@pytest.mark.parametrize("target", ["x:443", "/a"])
def test_no_tunnel_is_opened(ready: Running, target: str) -> None:
    """CONNECT is refused, and what follows it is not read."""
    answered = said(ready, f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + ask("/a"))
    assert answered.startswith(b"HTTP/1.1 400 ")
    assert answered.count(b"HTTP/1.1 ") == 1

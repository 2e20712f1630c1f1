"""Subscriptions: many of them, some that ask for all that was ever published, and read nothing."""

import contextlib
import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection

import orjson

from tests.hostile.attack import HOST, PATIENCE, Answer, Attack, Target, fresh, query

_SELECTED = "id numSpecs packages(first: 200) { nodes { name versions stacks } }"


def _oldest_id(target: Target) -> str:
    """Return the id of the oldest revision, as a client that was away for long has it."""
    connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
    ask = query("{ revisions(last: 1) { nodes { id } } }")
    connection.request(ask.method, ask.path, ask.body, dict(ask.headers))
    answer = orjson.loads(connection.getresponse().read())
    connection.close()
    name: str = answer["data"]["revisions"]["nodes"][0]["id"]
    return name


def _opening(target: Target, last_event_id: str = "") -> bytes:
    text = f"subscription {{ {fresh()}: revisionPublished {{ {_SELECTED} }} }}"
    body = orjson.dumps({"query": text})
    head = (
        f"POST /graphql HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n"
        f"Last-Event-ID: {last_event_id}\r\n\r\n"
    )
    return head.encode() + body


def _connected(target: Target, held: contextlib.ExitStack, opening: bytes) -> socket.socket:
    connection = socket.create_connection((HOST, target.port), PATIENCE)
    held.enter_context(connection)
    connection.sendall(opening)
    return connection


def _status(connection: socket.socket, started: float) -> Answer:
    """Return the beginning of an answer; what follows is not read."""
    try:
        part = connection.recv(256)
    except TimeoutError:
        return Answer(None, time.perf_counter() - started, in_time=False)
    except OSError:
        part = b""
    seconds = time.perf_counter() - started
    status = int(part.split(maxsplit=2)[1]) if part.startswith(b"HTTP/") else None
    return Answer(status, seconds, len(part), is_internal_error=status == 500)


def _flood(count: int, *, resumed: bool) -> Callable[[Target], list[Answer]]:
    """Return a run that begins subscriptions, and holds them for 1 s at most without reading."""

    def run(target: Target) -> list[Answer]:
        name = _oldest_id(target) if resumed else ""
        with contextlib.ExitStack() as held:
            opened = [
                (time.perf_counter(), _connected(target, held, _opening(target, name)))
                for _ in range(count)
            ]
            answers = [_status(connection, started) for started, connection in opened]
            time.sleep(min(1, target.longest))
        return answers

    return run


def _hung_up(target: Target) -> list[Answer]:
    """Ask for all that was published and hang up, again and again; then be one who waits."""
    name = _oldest_id(target)
    for _ in range(200):
        with contextlib.ExitStack() as held:
            _connected(target, held, _opening(target, name))
            time.sleep(0.002)
    with contextlib.ExitStack() as held:
        started = time.perf_counter()
        return [_status(_connected(target, held, _opening(target, name)), started)]


ATTACKS = (
    Attack("subscriptions: flood", "200 at the same time", _flood(200, resumed=False)),
    Attack(
        "subscriptions: resumed",
        "200 that ask for all there is, each another question, and do not read",
        _flood(200, resumed=True),
    ),
    Attack("subscriptions: hung up", "200 that ask for all there is, and leave", _hung_up),
)

"""Many subscriptions, some of which request everything ever published, and read nothing."""

import contextlib
import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection

import orjson

from tests.hostile.attack import HOST, PATIENCE, Answer, Attack, Target, fresh, query, raw_post

_SELECTED = "id numSpecs packages(first: 200) { nodes { name versions stacks } }"


def _oldest_id(target: Target) -> str:
    """Return the id of the oldest revision, the last one that a client has received."""
    connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
    request = query("{ revisions(last: 1) { nodes { id } } }")
    connection.request(request.method, request.path, request.body, dict(request.headers))
    answer = orjson.loads(connection.getresponse().read())
    connection.close()
    name: str = answer["data"]["revisions"]["nodes"][0]["id"]
    return name


def _subscribed(
    held: contextlib.ExitStack, target: Target, last_event_id: str
) -> tuple[socket.socket, float]:
    """Begin a subscription; return its connection and when it began."""
    request = query(f"subscription {{ {fresh()}: revisionPublished {{ {_SELECTED} }} }}")
    headers = ("Accept: text/event-stream", f"Last-Event-ID: {last_event_id}")
    started = time.perf_counter()
    connection = socket.create_connection((HOST, target.port), PATIENCE)
    held.enter_context(connection)
    connection.sendall(raw_post(target, request, *headers))
    return connection, started


def _status(connection: socket.socket, started: float) -> Answer:
    """Read only the beginning of a response."""
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
    """Return a run that begins subscriptions, and holds them for up to 1 s without reading."""

    def run(target: Target) -> list[Answer]:
        last = _oldest_id(target) if resumed else ""
        with contextlib.ExitStack() as held:
            opened = [_subscribed(held, target, last) for _ in range(count)]
            answers = [_status(*subscription) for subscription in opened]
            time.sleep(min(1, target.longest))
        return answers

    return run


ATTACKS = (
    Attack("subscriptions: flood", "200 at the same time", _flood(200, resumed=False)),
    Attack(
        "subscriptions: resumed",
        "200 that request all events, and do not read",
        _flood(200, resumed=True),
    ),
)

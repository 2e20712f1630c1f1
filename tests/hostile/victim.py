"""A well-behaved client in a process of its own: it asks something tiny, all the time.

It sends at fixed times, and counts each answer from when its request was due. A server that stands
still for a second so costs many late answers and not one, as it would cost many visitors.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import orjson

from tests.hostile.attack import HOST

EVERY = 0.03
"""How many seconds pass between two requests."""

_PATIENCE = 5.0
_JSON = {"Content-Type": "application/json"}
_KEPT = orjson.dumps({"query": "{ tags { name } }"})
"""Answered from memory after the first time."""


class Suffered(NamedTuple):
    """What a victim saw in a span of time; latencies in seconds, ``failed`` answers missing."""

    asked: int
    p50: float
    p99: float
    worst: float
    failed: int


class Victim:
    """The client; ``since_mark`` reports what it saw since the last call."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe

    def since_mark(self) -> Suffered:
        """Return what was seen since the last call, and begin anew."""
        self._pipe.send("report")
        return suffered(*self._pipe.recv())


def suffered(latencies: list[float], failed: int) -> Suffered:
    """Sum up latencies in seconds."""
    ordered = sorted(latencies) or [0.0]
    return Suffered(
        len(latencies),
        ordered[len(ordered) // 2],
        ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
        ordered[-1],
        failed,
    )


@contextmanager
def victim_of(port: int) -> Iterator[Victim]:
    """Ask a server, from a process of its own, until the context ends."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_ask_on, args=(port, theirs), daemon=True)
    process.start()
    try:
        yield Victim(ours)
    finally:
        ours.send("stop")
        process.join(2 * _PATIENCE)
        process.kill()


def _ask_on(port: int, pipe: "Connection[Any, Any]") -> None:
    connection = HTTPConnection(HOST, port, timeout=_PATIENCE)
    latencies, failed, number = list[float](), 0, 0
    due = time.perf_counter()
    while True:
        while pipe.poll():
            if pipe.recv() == "stop":
                return
            pipe.send((latencies, failed))
            latencies, failed, due = [], 0, max(due, time.perf_counter() - _PATIENCE)
        if (early := due - time.perf_counter()) > 0:
            time.sleep(early)
            due = time.perf_counter()  # waking up late is the machine's doing, not the server's
        number += 1
        try:
            connection.request("POST", "/graphql", _tiny(number), _JSON)
            answered = connection.getresponse()
            is_good = answered.read().startswith(b'{"data"') and answered.status == 200
        except (OSError, HTTPException):
            connection.close()
            is_good = False
        failed += not is_good
        latencies.append(time.perf_counter() - due)
        due += EVERY


def _tiny(number: int) -> bytes:
    """Return a request: every other one is answered from memory, the rest must be executed."""
    if number % 2:
        return _KEPT
    text = "query($tag: String!) { tag(name: $tag) { name } }"
    return orjson.dumps({"query": text, "variables": {"tag": f"no-{number}"}})

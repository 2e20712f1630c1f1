"""The victim: a client in a separate process that constantly sends tiny queries.

It sends requests at fixed times, and measures from these times. If a server is blocked for a
second, many responses are late, as they would be for many clients.
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
"""Seconds between two requests."""

_PATIENCE = 5.0
_JSON = {"Content-Type": "application/json"}
_CACHED = orjson.dumps({"query": "{ tags { name } }"})
"""A query whose response is cached."""


class Latencies(NamedTuple):
    """The latencies of a victim in seconds, and the number of failed requests."""

    num_requests: int
    p50: float
    p99: float
    failed: int


class Victim:
    """The client."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe

    def since_mark(self) -> Latencies:
        """Return the latencies since the last call."""
        self._pipe.send("report")
        latencies, failed = self._pipe.recv()
        ordered = sorted(latencies) or [0.0]
        return Latencies(
            len(latencies),
            ordered[len(ordered) // 2],
            ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
            failed,
        )


@contextmanager
def victim_of(port: int) -> Iterator[Victim]:
    """Send queries to a server from a separate process during the context."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_send_queries, args=(port, theirs), daemon=True)
    process.start()
    try:
        yield Victim(ours)
    finally:
        ours.send("stop")
        process.join(2 * _PATIENCE)
        process.kill()


def _send_queries(port: int, pipe: "Connection[Any, Any]") -> None:
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
            due = time.perf_counter()  # waking up late is not caused by the server
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
    """Return a request; every other one has a cached response."""
    if number % 2:
        return _CACHED
    text = "query($tag: String!) { tag(name: $tag) { name } }"
    return orjson.dumps({"query": text, "variables": {"tag": f"no-{number}"}})

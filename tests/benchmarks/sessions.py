"""A session with ``cachelog serve``: its start, its memory, and how long it takes to answer."""

import os
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from tests.benchmarks.measurements import milliseconds
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.processes import serving

_MB = 1_000_000
_SECONDS = 60


class Question(NamedTuple):
    """Requests that ask for the same of other things; a path, or a document of GraphQL."""

    name: str
    asked: Sequence[str]


class Session(NamedTuple):
    """What a server took: seconds, MB, and what each question took.

    ``first`` is of the first request of a question, ``later`` the median of the others.
    """

    start_seconds: float
    start_cpu_seconds: float
    memory_at_start: float
    memory_at_end: float
    first: dict[str, "Taken"]
    later: dict[str, "Taken"]


class Taken(NamedTuple):
    """What an answer took, in milliseconds: until it was there, and of the server's processor."""

    elapsed: float
    processor: float


def ask_server(
    catalog: Path | str, questions: Sequence[Question], *, times: int, **settings: str
) -> Session:
    """Start a server that keeps no responses, and ask each question in turn, ``times`` later.

    What it loads and works out it keeps. Raises SystemExit where an answer has errors.
    """
    how = cachelog(catalog, CACHELOG_RESPONSE_CACHE="0", **settings)
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        cpu, memory = _cpu_seconds(server.pid), _resident_mb(server.pid)
        parts = urlsplit(server.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
        first, later = {}, {}
        for question in questions:
            first[question.name], *others = (
                _taken(connection, server.pid, text) for text in _turns(question, times)
            )
            later[question.name] = Taken(*map(median, zip(*others, strict=True)))
        connection.close()
        end = _resident_mb(server.pid)
    return Session(server.start_seconds, cpu, memory, end, first, later)


def _turns(question: Question, times: int) -> Iterator[str]:
    every = (text for _ in range(times + 1) for text in question.asked)
    return islice(every, times + 1)


def _taken(connection: HTTPConnection, pid: int, text: str) -> Taken:
    answered: list[tuple[int, bytes]] = []
    before = _cpu_seconds(pid)
    elapsed = milliseconds(lambda: answered.append(_ask(connection, text)))
    processor = 1_000 * (_cpu_seconds(pid) - before)
    status, body = answered[0]
    if status != 200 or b'"errors"' in body[:2_000]:
        raise SystemExit(f"{text}: {status} {body[:500].decode(errors='replace')}")
    return Taken(elapsed, processor)


def _ask(connection: HTTPConnection, text: str) -> tuple[int, bytes]:
    if text.startswith("/"):
        connection.request("GET", text, headers={"Accept": "text/html, */*"})
    else:
        body = orjson.dumps({"query": text})
        connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def _cpu_seconds(pid: int) -> float:
    """Return what the threads have taken that a process has now, finer than its own statistics."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(it.read_text().split()[0]) for it in threads) / 1e9


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB

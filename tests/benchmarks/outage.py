"""``outage``: what two replicas answer while their store fails for a minute, and is silent for one.

They are asked through nginx for pages of a revision that is in memory, and every answer must be
byte by byte as it should be. Beside that clients ask for what would have to be read; they must be
told ``CATALOG_UNAVAILABLE``.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple
from unittest.mock import patch

import httpx
import orjson

from tests.benchmarks.checked_load import (
    COLD,
    NEEDED,
    Files,
    asked,
    body_of,
    is_possible,
    load,
    questions,
)
from tests.benchmarks.measurements import Measurement, summary
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import Server, serving
from tests.benchmarks.replicas import LOCATION, copy_to_bucket
from tests.deploy.proxies import UNLIMITED, nginx
from tests.snapshots.catalog.emulators import Emulator

_SECONDS = 60
_WORKING = "the store works"
_OTHERS = 4
_UNAVAILABLE = "CATALOG_UNAVAILABLE"
_PATIENCE = 60

State = Callable[[], AbstractContextManager[None]]


class _Phase(NamedTuple):
    """Requests a second, and after how many seconds all servers told of an outage and its end."""

    rate: float
    told: float
    over: float


class _Replicas(NamedTuple):
    url: str
    servers: list[Server]
    files: Files
    unread: bytes


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure requests a second in each state of the store, and when health tells of it."""
    if not is_possible():
        plan.notes.append(NEEDED)
        return
    with tempfile.TemporaryDirectory() as text, ExitStack() as running:
        folder = Path(text)
        store = Emulator(folder / "log")
        running.callback(store.stop)
        running.enter_context(patch.dict(os.environ, store.variables()))
        copy_to_bucket(plan.data.catalog)
        replicas = _started(running, plan, folder)
        states: dict[str, State] = {
            _WORKING: nullcontext,
            "it fails": store.failing,
            "it works again": nullcontext,
            "it does not answer": store.silent,
            "it works once more": nullcontext,
        }
        seconds = max(1, round(_SECONDS * plan.seconds))
        found = {name: _phase(plan, replicas, it, name, seconds) for name, it in states.items()}
    yield from _summaries(found, seconds)


def _summaries(found: dict[str, _Phase], seconds: int) -> Iterator[Measurement]:
    for name, it in found.items():
        yield summary(
            "outage",
            f"requests for what is in memory, {seconds} s each, none lost",
            name,
            unit="requests/s",
            values=[it.rate],
            ratio=it.rate / found[_WORKING].rate,
        )
    for what, field in (("tells", "told"), ("is ready again", "over")):
        for name, it in found.items():
            value: float = getattr(it, field)
            if value:
                yield summary(
                    "outage",
                    f"until /health/ready of both {what}, with a look each second",
                    name,
                    unit="s",
                    values=[value],
                )


def _started(running: ExitStack, plan: Plan, folder: Path) -> _Replicas:
    how = cachelog(LOCATION, **COLD)
    servers = [
        running.enter_context(serving(how.command, environ=how.environ, ready=how.ready))
        for _ in range(2)
    ]
    own = folder / "proxy"
    own.mkdir()
    proxy = running.enter_context(nginx([it.url for it in servers], own, UNLIMITED))
    older, newer = plan.data.digests()
    return _Replicas(proxy.url, servers, questions(servers, newer, folder), body_of(older))


def _phase(plan: Plan, replicas: _Replicas, state: State, name: str, seconds: int) -> _Phase:
    if state is nullcontext:
        requests, took = load(replicas.url, replicas.files, seconds)
        plan.notes.append(f"outage: {name}: {requests:,} requests, none lost")
        return _Phase(requests / took, 0, 0)
    stopping = threading.Event()
    with ThreadPoolExecutor(_OTHERS + 1) as pool:
        with state():
            try:
                told = pool.submit(_seconds_until, replicas.servers, 503)
                others = [pool.submit(_refused, replicas, stopping) for _ in range(_OTHERS)]
                requests, took = load(replicas.url, replicas.files, seconds)
            finally:
                stopping.set()
            refused = sum(it.result() for it in others)
        over = _seconds_until(replicas.servers, 200)
    plan.notes.append(
        f"outage: {name}: {requests:,} requests, none lost; beside them {refused:,} for what would "
        f"have to be read, all told {_UNAVAILABLE}"
    )
    return _Phase(requests / took, told.result(), over)


def _refused(replicas: _Replicas, stopping: threading.Event) -> int:
    """Ask for what is not in memory until told to stop; return how many times."""
    number = 0
    while not stopping.is_set():
        answer = orjson.loads(asked(replicas.servers[number % 2], replicas.unread))
        codes = {it["extensions"]["code"] for it in answer.get("errors", ())}
        if codes != {_UNAVAILABLE}:
            raise SystemExit(f"not {_UNAVAILABLE}: {orjson.dumps(answer)[:300].decode()}")
        number += 1
    return number


def _seconds_until(servers: list[Server], status: int) -> float:
    """Return when all servers have said by their health that they are in a state."""
    began = perf_counter()
    for it in servers:
        while httpx.get(f"{it.url}/health/ready", timeout=_PATIENCE).status_code != status:
            if perf_counter() - began > _PATIENCE:
                raise SystemExit(f"{it.url} does not say {status}")
            sleep(0.02)
    return perf_counter() - began

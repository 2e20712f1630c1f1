"""Separate processes, for work that a process does only once or that would affect others."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_context
from time import perf_counter, sleep
from typing import NamedTuple, ParamSpec, TypeVar

from tests.benchmarks.plans import ROOT
from tests.server.servers import free_port

_HOST = "127.0.0.1"
_START_SECONDS = 60
_STOP_SECONDS = 15

FRESH = get_context("forkserver")
"""Starts processes that have imported the modules which most of them need."""

FRESH.set_forkserver_preload(["snapshots.catalog.history_queries", "tests.benchmarks.plans"])

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Server(NamedTuple):
    """A running server; ``start_seconds`` is the time from its start to its first response."""

    url: str
    start_seconds: float
    pid: int


class Cores(NamedTuple):
    """The cores to which a server and its load are pinned; None if that is not possible."""

    server: int | None
    load: int | None

    @classmethod
    def available(cls) -> "Cores":
        """Return two of the cores that this process may use."""
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2 or not shutil.which("taskset"):
            return cls(None, None)
        return cls(cores[0], cores[1])


def in_fresh_process(
    function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Return the result of a module's function in a new process."""
    with ProcessPoolExecutor(1, mp_context=FRESH) as pool:
        return pool.submit(function, *args, **kwargs).result()


def pinned(command: Sequence[str], core: int | None) -> list[str]:
    """Return the command that runs another one on a single core."""
    return [*command] if core is None else ["taskset", "-c", str(core), *command]


@contextlib.contextmanager
def serving(
    command: Callable[[int], Sequence[str]],
    *,
    environ: Mapping[str, str] | None = None,
    core: int | None = None,
    ready: str = "/",
) -> Iterator[Server]:
    """Run a server during the context; ``command`` returns the command for a port.

    It is ready when the path ``ready`` has a response with a status below 500.
    """
    port = free_port()
    with tempfile.TemporaryFile() as log:
        started = perf_counter()
        process = subprocess.Popen(
            pinned(command(port), core),
            cwd=ROOT,
            env=os.environ | (environ or {}),
            stdout=log,
            stderr=log,
        )
        try:
            while not _answers(port, ready):
                if process.poll() is not None or perf_counter() - started > _START_SECONDS:
                    log.seek(0)
                    output = log.read().decode(errors="replace")
                    raise SystemExit(f"{' '.join(command(port))} does not serve:\n{output}")
                sleep(0.005)
            yield Server(f"http://{_HOST}:{port}", perf_counter() - started, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(port: int, path: str) -> bool:
    connection = HTTPConnection(_HOST, port, timeout=_START_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()

"""Several processes that serve one address, and the one that looks after them."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from multiprocessing.context import SpawnProcess
from types import FrameType

from server.http.draining import refuse_newcomers
from server.http.limits import ConnectionLimits
from server.http.servers import GRACE_SECONDS, ServerConfig, run_server

_NOT_STARTED = 3
"""The exit code of a worker that could not start: another one could not, either."""

_KILL_SECONDS = GRACE_SECONDS + 5
_SHORT_LIFE_SECONDS = 1.0
_STOPS = (signal.SIGTERM, signal.SIGINT)


class Workers:
    """``count`` processes that serve what a factory (MODULE:FUNCTION) makes.

    One that dies is replaced. All of them end with this process, however it ends.
    """

    def __init__(
        self, factory: str, listening: socket.socket, limits: ConnectionLimits, *, count: int
    ) -> None:
        self._arguments = (factory, listening, limits)
        self._listening = listening
        self._count = count
        self._processes: dict[SpawnProcess, float] = {}
        """Each with the moment of its start."""

    def run(self) -> bool:
        """Serve until a signal ends this process; return False where workers cannot start."""
        with _told_to_stop() as told:
            try:
                for _ in range(self._count):
                    self._start()
                return self._replace_the_dead(told)
            finally:
                self._stop()

    def _start(self) -> None:
        # A fork would share threads' locks and the loop of this process.
        process = get_context("spawn").Process(target=_work, args=self._arguments)
        process.start()
        self._processes[process] = time.monotonic()

    def _replace_the_dead(self, told: connection.Connection) -> bool:
        while True:
            sentinels = {process.sentinel: process for process in self._processes}
            ended = connection.wait([told, *sentinels])
            if told in ended:
                return True
            for sentinel in ended:
                process = sentinels[sentinel]  # type: ignore[index]
                began = self._processes.pop(process)
                process.join()
                if process.exitcode == _NOT_STARTED:
                    return False
                # Workers that die at once would keep the machine busy with their successors.
                if time.monotonic() - began < _SHORT_LIFE_SECONDS and told.poll(
                    _SHORT_LIFE_SECONDS
                ):
                    return True
                self._start()

    def _stop(self) -> None:
        """End all workers: those that do not end by themselves are killed."""
        refuse_newcomers(self._listening)
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + _KILL_SECONDS
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _told_to_stop() -> Iterator[connection.Connection]:
    """Return what has something to read once a signal asks this process to stop."""
    context = get_context("spawn")
    told, tell = context.Pipe(duplex=False)

    def stop(_number: int, _frame: FrameType | None) -> None:
        tell.send_bytes(b".")

    before = {number: signal.signal(number, stop) for number in _STOPS}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work(factory: str, listening: socket.socket, limits: ConnectionLimits) -> None:
    """Serve in a worker process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    config = ServerConfig(factory, limits, owns_socket=False)
    if not run_server(config, listening):
        raise SystemExit(_NOT_STARTED)


def _end_with_parent() -> None:
    """Stop this process, as a signal would, when the one that started it is gone."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

"""Several processes that serve one address, and the one that looks after them."""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from types import FrameType
from typing import NamedTuple

from server.http.draining import refuse_newcomers
from server.http.heartbeats import Heartbeat, Listener, Patience
from server.http.limits import ConnectionLimits
from server.http.servers import GRACE_SECONDS, ServerConfig, run_server
from snapshots.catalog.bulk.processes import DeafProcess

_log = logging.getLogger("cachelog.server")

_NOT_STARTED = 3
"""The exit code of a worker that could not start: another one could not, either."""

_KILL_SECONDS = GRACE_SECONDS + 5
_SHORT_LIFE_SECONDS = 1.0
_STOPS = (signal.SIGTERM, signal.SIGINT)


class _Life(NamedTuple):
    """When a process began, and who listens to it."""

    began: float
    listener: Listener


class Workers:
    """``count`` processes that serve what a factory (MODULE:FUNCTION) makes.

    One that dies is replaced, and so is one that gives no sign of life for ``hang_seconds``. All of
    them end with this process, however it ends.
    """

    def __init__(
        self,
        factory: str,
        listening: socket.socket,
        limits: ConnectionLimits,
        *,
        count: int,
        hang_seconds: float,
    ) -> None:
        self._arguments = (factory, listening, limits, hang_seconds)
        self._listening = listening
        self._count = count
        self._patience = Patience(hang_seconds)
        self._processes: dict[DeafProcess, _Life] = {}

    def run(self) -> bool:
        """Serve until a signal ends this process; return False where workers cannot start."""
        with _told_to_stop() as told:
            try:
                for _ in range(self._count):
                    self._start()
                return self._replace(told)
            finally:
                self._stop()

    def _start(self) -> None:
        # A fork would share threads' locks and the loop of this process.
        context = get_context("spawn")
        receiving, sending = context.Pipe(duplex=False)
        process = DeafProcess(target=_work, args=(*self._arguments, sending))
        process.start()
        sending.close()
        self._processes[process] = _Life(time.monotonic(), Listener(receiving))

    def _replace(self, told: connection.Connection) -> bool:
        """Replace processes that die or hang; return whether this one was told to stop."""
        while True:
            sentinels = {process.sentinel: process for process in self._processes}
            ended = connection.wait([told, *sentinels], self._patience.step)
            if told in ended:
                return True
            for sentinel in ended:
                process = sentinels[sentinel]  # type: ignore[index]
                life = self._processes.pop(process)
                life.listener.close()
                process.join()
                if process.exitcode == _NOT_STARTED:
                    return False
                # Workers that die at once would keep the machine busy with their successors.
                if time.monotonic() - life.began < _SHORT_LIFE_SECONDS and told.poll(
                    _SHORT_LIFE_SECONDS
                ):
                    return True
                self._start()
            self._kill_the_hung()

    def _kill_the_hung(self) -> None:
        """End those that hang: they are replaced as soon as they have ended."""
        processes = {life.listener: process for process, life in self._processes.items()}
        for listener in self._patience.silent(processes):
            process = processes[listener]
            seconds = self._patience.seconds
            _log.warning("process %s has hung for %g seconds: it is ended", process.pid, seconds)
            process.kill()

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
        for life in self._processes.values():
            life.listener.close()


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


def _work(
    factory: str,
    listening: socket.socket,
    limits: ConnectionLimits,
    hang_seconds: float,
    sending: connection.Connection,
) -> None:
    """Serve in a worker process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    heartbeat = Heartbeat(sending, hang_seconds)
    config = ServerConfig(factory, limits, owns_socket=False, heartbeat=heartbeat)
    if not run_server(config, listening):
        raise SystemExit(_NOT_STARTED)


def _end_with_parent() -> None:
    """Stop this process, as a signal would, when the one that started it is gone."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

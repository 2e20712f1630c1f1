"""From an address to the processes that serve it: a socket, one server on it or several workers."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection, get_context, parent_process
from types import FrameType
from typing import Any, TypeVar

import msgspec
import uvicorn
from starlette.types import ASGIApp

from server.http.connections import BoundedConnection, Waiting
from server.http.cycles import AnswerBytes, AnswersAtOnce, ReadyAnswer, Turns, Work
from server.http.limits import ConnectionLimits
from snapshots.catalog.workers import DeafProcess
from snapshots.errors import InvalidArgument

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, which Python does not name."""

_SYN = 0x02
_FLAGS = 13
"""Where the flags stand in a TCP header."""

_INSTRUCTIONS = (
    (0x30, 0, 0, _FLAGS),  # load the byte with the flags
    (0x45, 0, 1, _SYN),  # where SYN is set, go on, else skip one
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0xFFFF_FFFF),  # take the whole packet
)
"""A classic BPF program; see Linux's Documentation/networking/filter.rst."""


def refuse_newcomers(listening: socket.socket) -> None:
    """Let nobody new connect, in all processes that share the socket.

    Who has begun to connect still can, and is to be accepted. A closed socket resets those
    connections instead, with the requests that were sent over them. Who comes later waits, and is
    refused when the socket is closed. Where the system has no such filter nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _INSTRUCTIONS)
    buffer = ctypes.create_string_buffer(program)
    option = struct.pack("HL", len(_INSTRUCTIONS), ctypes.addressof(buffer))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, option)


_log = logging.getLogger("cachelog.server")

Answer = TypeVar("Answer")

GRACE_SECONDS = 10
"""How long requests under way may take after a server is asked to stop."""

_DRAIN_SECONDS = 0.5
"""How long a server that stops takes requests of those who have just connected.

Who uses a kept connection is told in this time, with an answer, that it will be closed.
"""


_NEVER = 0.0
"""The beat of an event loop that is not to be judged by it."""


class ServerConfig(uvicorn.Config):
    """How an application is served, and what the connections of one process share.

    ``factory`` makes the application; it may be named as MODULE:FUNCTION. ``owns_socket`` says that
    no other process accepts from the socket. ``last_beat`` is a number in shared memory that shows
    another process when the event loop of this one last ran.
    """

    def __init__(
        self,
        factory: str | Callable[[], ASGIApp],
        limits: ConnectionLimits,
        *,
        owns_socket: bool,
        last_beat: Any = None,
    ) -> None:
        super().__init__(
            factory,
            factory=True,
            http=BoundedConnection,
            ws="none",
            access_log=False,
            log_config=None,  # the application says how the log looks
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # the application knows which proxies it trusts
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self.limits = limits
        self.owns_socket = owns_socket
        self.last_beat = last_beat
        self.waiting: Waiting = Waiting()
        self.is_draining = False
        self.at_once: AnswersAtOnce | None = None
        """What answers some requests at once: the application's attribute of that name, if any."""

        self.drain: Callable[[], None] | None = None
        """Ends the answers that have no end of their own: the application's attribute, if any."""

        self.turns = Turns()
        """Those of the application, which does other small work in them, if it has any."""

        self.bytes_of = AnswerBytes().of

    def load(self) -> None:
        """Make the application."""
        super().load()
        self.at_once = getattr(self.loaded_app, "at_once", None)
        self.drain = getattr(self.loaded_app, "drain", None)
        self.turns = getattr(self.loaded_app, "turns", self.turns)

    def answer_at_once(self, scope: Any, body: bytes) -> ReadyAnswer | Work | None:
        """Return the answer to a request where the application has it ready, or what makes it."""
        return None if self.at_once is None else self.answer_of(partial(self.at_once, scope, body))

    def answer_of(self, work: Callable[[], Answer]) -> Answer | None:
        """Return the answer that work makes; None where that fails, which is logged."""
        try:
            return work()
        except Exception:  # noqa: BLE001 - in the midst of parsing it would pass for a bad request
            _log.exception("an answer could not be looked up")
            return None  # asked by way of ASGI, the application answers the error as any other


class DrainingServer(uvicorn.Server):
    """A server that answers all that was asked before it was told to stop."""

    config: ServerConfig

    async def on_tick(self, counter: int) -> bool:
        """Do what is done ten times a second; return whether to stop."""
        self._beat(time.monotonic())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: take no new connections, answer all requests, then close."""
        self.config.is_draining = True
        self._beat(_NEVER)  # from now on there are no ticks
        if self.config.drain is not None:
            self.config.drain()
        if self.config.owns_socket:
            for listening in sockets or []:
                refuse_newcomers(listening)
        await asyncio.sleep(_DRAIN_SECONDS)
        await super().shutdown(sockets)
        # Those that linger after a refusal have what they were told: a loop ends without them.
        for lingering in [*self.server_state.connections]:
            lingering.transport.abort()
        await asyncio.sleep(0)

    def _beat(self, moment: float) -> None:
        if self.config.last_beat is not None:
            self.config.last_beat.value = moment


def run_server(config: ServerConfig, listening: socket.socket) -> bool:
    """Serve until a signal ends it; return whether it could start. Why not is logged."""
    server = DrainingServer(config)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return True
    except SystemExit:
        return False  # with a code of uvicorn's own
    return server.started


_NOT_STARTED = 3
"""The exit code of a worker that could not start: another one could not, either."""

_KILL_SECONDS = GRACE_SECONDS + 5
_SHORT_LIFE_SECONDS = 1.0
_STOPS = (signal.SIGTERM, signal.SIGINT)


_LOOKS_IN_PATIENCE = 4
"""How often workers are looked at while one may be silent."""


class Worker(msgspec.Struct, eq=False):
    """A process that serves."""

    process: DeafProcess
    began: float
    last_beat: Any
    """When its event loop last ran: a number in shared memory, 0 while that is not to be judged."""


class HangMonitor:
    """Tells which workers' event loops have not run for more than so many ``seconds``."""

    def __init__(self, seconds: float, now: float) -> None:
        self.seconds = seconds
        self._looked_at = self._waits_since = now

    def hung(self, workers: Iterable[Worker], now: float) -> list[Worker]:
        """Return those that hang; to start and to stop may take longer.

        Where this process itself was held up, as when a machine is paused, all of them have as much
        time again: they were held up with it.
        """
        if now - self._looked_at > self.seconds / 2:
            self._waits_since = now
        self._looked_at = now
        latest = now - self.seconds
        return [
            worker
            for worker in workers
            if worker.last_beat.value and max(worker.last_beat.value, self._waits_since) < latest
        ]


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
        self._look_seconds = min(1.0, hang_seconds / _LOOKS_IN_PATIENCE)
        self._arguments = (factory, listening, limits)
        self._listening = listening
        self._count = count
        self._monitor = HangMonitor(hang_seconds, time.monotonic())
        self._workers: dict[int, Worker] = {}
        """Those that run, by the sentinels of their processes."""

    def run(self) -> bool:
        """Serve until a signal ends this process; return False where workers cannot start."""
        with _told_to_stop() as stopping:
            try:
                for _ in range(self._count):
                    self._start()
                return self._replace(stopping)
            finally:
                self._stop()

    def _start(self) -> None:
        last_beat = get_context("spawn").RawValue("d")
        # A fork would share threads' locks and the loop of this process.
        process = DeafProcess(target=_work, args=(*self._arguments, last_beat))
        process.start()
        self._workers[process.sentinel] = Worker(process, time.monotonic(), last_beat)

    def _replace(self, stopping: connection.Connection) -> bool:
        """Replace processes that die or hang; return whether this one was told to stop."""
        while True:
            ended = connection.wait([stopping, *self._workers], self._look_seconds)
            if stopping in ended:
                return True
            for sentinel in ended:
                worker = self._workers.pop(sentinel)  # type: ignore[arg-type]
                worker.process.join()
                if worker.process.exitcode == _NOT_STARTED:
                    return False
                # Workers that die at once would keep the machine busy with their successors.
                if time.monotonic() - worker.began < _SHORT_LIFE_SECONDS and stopping.poll(
                    _SHORT_LIFE_SECONDS
                ):
                    return True
                self._start()
            # Those that hang are replaced as soon as they have ended.
            for worker in self._monitor.hung(self._workers.values(), time.monotonic()):
                _log.warning(
                    "process %s has hung for %g seconds: it is ended",
                    worker.process.pid,
                    self._monitor.seconds,
                )
                worker.process.kill()
                worker.last_beat.value = _NEVER  # so that it is ended once

    def _stop(self) -> None:
        """End all workers: those that do not end by themselves are killed."""
        refuse_newcomers(self._listening)
        processes = [worker.process for worker in self._workers.values()]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + _KILL_SECONDS
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _told_to_stop() -> Iterator[connection.Connection]:
    """Return what has something to read once a signal asks this process to stop."""
    context = get_context("spawn")
    stopping, tell = context.Pipe(duplex=False)

    def stop(_number: int, _frame: FrameType | None) -> None:
        tell.send_bytes(b".")

    before = {number: signal.signal(number, stop) for number in _STOPS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work(
    factory: str,
    listening: socket.socket,
    limits: ConnectionLimits,
    last_beat: Any,
) -> None:
    """Serve in a worker process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    config = ServerConfig(factory, limits, owns_socket=False, last_beat=last_beat)
    if not run_server(config, listening):
        raise SystemExit(_NOT_STARTED)


def _end_with_parent() -> None:
    """Stop this process, as a signal would, when the one that started it is gone."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


_BACKLOG = 2_048


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that clients can connect to; a port of 0 takes one that is free.

    Raises InvalidArgument where it cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        # Python repeats the address in the text; names that are not found have negative numbers.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error.strerror)
        raise InvalidArgument(f"cannot listen on {host} port {port}", reason.lower()) from None
    listening.set_inheritable(True)
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the address of what a socket serves."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def serve(
    factory: str,
    listening: socket.socket,
    *,
    workers: int,
    limits: ConnectionLimits,
    hang_seconds: float,
) -> None:
    """Serve the application that ``MODULE:FUNCTION`` makes until a signal ends this process.

    Of several workers one that hangs for ``hang_seconds`` is replaced. Raises SystemExit with code
    1 where it does not start; why is logged.
    """
    if workers > 1:
        started = Workers(
            factory, listening, limits, count=workers, hang_seconds=hang_seconds
        ).run()
    else:
        started = run_server(ServerConfig(factory, limits, owns_socket=True), listening)
    if not started:
        raise SystemExit(1)

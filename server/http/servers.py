"""From an address to the processes that serve it: a socket, one server on it or several workers."""

import asyncio
import contextlib
import ctypes
import errno
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
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


def refuse_newcomers(listening: socket.socket) -> bool:
    """Let nobody new connect, in all processes that share the socket; return whether that works.

    Who has begun to connect still can, and is to be accepted. A closed socket resets those
    connections instead, with the requests that were sent over them. Who comes later waits, and is
    refused when the socket is closed. Where the system has no such filter nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _INSTRUCTIONS)
    buffer = ctypes.create_string_buffer(program)
    option = struct.pack("HL", len(_INSTRUCTIONS), ctypes.addressof(buffer))
    try:
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, option)
    except OSError as error:
        if error.errno in (errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL):
            return False
        raise
    return True


_BEAT_SECONDS = 1.0
_BEATS_IN_PATIENCE = 4
"""How many signs of life must fail to come, at least, before a process counts as hung."""

_READ_BYTES = 65_536


class Heartbeat:
    """Sends signs of life over a pipe, often enough for one who waits ``patience`` seconds."""

    def __init__(self, sending: Connection, patience: float) -> None:
        self._sending = sending
        self._seconds = min(_BEAT_SECONDS, patience / _BEATS_IN_PATIENCE)
        os.set_blocking(sending.fileno(), False)

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """Send them from the event loop, as long as that runs and the context lasts."""
        task = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            task.cancel()

    async def _beat(self) -> None:
        while True:
            # The pipe is full where nobody listens, and broken where nobody is left.
            with contextlib.suppress(OSError):
                os.write(self._sending.fileno(), b".")
            await asyncio.sleep(self._seconds)


class Listener:
    """Listens to one process, and knows when it last gave a sign of life."""

    def __init__(self, receiving: Connection) -> None:
        self.receiving = receiving
        os.set_blocking(receiving.fileno(), False)
        self.heard_at: float | None = None
        """None before the first sign: a start takes as long as it takes."""

    def listen(self, now: float) -> None:
        """Take in what has come."""
        with contextlib.suppress(BlockingIOError):
            if os.read(self.receiving.fileno(), _READ_BYTES):
                self.heard_at = now

    def close(self) -> None:
        """Forget the process."""
        self.receiving.close()


class SilenceMonitor:
    """Tells which processes have been silent for more than so many ``seconds``."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._looked_at = clock()

    @property
    def step(self) -> float:
        """How many seconds may pass between two looks."""
        return min(_BEAT_SECONDS, self.seconds / _BEATS_IN_PATIENCE)

    def silent(self, listeners: Iterable[Listener]) -> list[Listener]:
        """Listen, and return those that were silent for too long, each of them once.

        Where this process itself was held up, as when a machine is paused, all of them have as much
        time again: they were held up with it.
        """
        now = self._clock()
        was_held_up = now - self._looked_at > self.seconds / 2
        self._looked_at = now
        late = []
        for listener in listeners:
            listener.listen(now)
            if listener.heard_at is None:
                continue
            if was_held_up:
                listener.heard_at = now
            elif now - listener.heard_at > self.seconds:
                listener.heard_at = None
                late.append(listener)
        return late


_log = logging.getLogger("cachelog.server")

Answer = TypeVar("Answer")

GRACE_SECONDS = 10
"""How long requests under way may take after a server is asked to stop."""

_DRAIN_SECONDS = 0.5
"""How long a server that stops takes requests of those who have just connected.

Who uses a kept connection is told in this time, with an answer, that it will be closed.
"""


class ServerConfig(uvicorn.Config):
    """How an application is served, and what the connections of one process share.

    ``factory`` makes the application; it may be named as MODULE:FUNCTION. ``owns_socket`` says that
    no other process accepts from the socket. A ``heartbeat`` tells another one that this one runs.
    """

    def __init__(
        self,
        factory: str | Callable[[], ASGIApp],
        limits: ConnectionLimits,
        *,
        owns_socket: bool,
        heartbeat: Heartbeat | None = None,
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
        self.heartbeat = heartbeat
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

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal ends this process."""
        heartbeat = self.config.heartbeat
        async with heartbeat.beating() if heartbeat else nullcontext():
            await super().serve(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: take no new connections, answer all requests, then close."""
        self.config.is_draining = True
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


class _Life(msgspec.Struct, frozen=True):
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
        self._patience = SilenceMonitor(hang_seconds)
        self._processes: dict[DeafProcess, _Life] = {}

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
        # A fork would share threads' locks and the loop of this process.
        context = get_context("spawn")
        receiving, sending = context.Pipe(duplex=False)
        process = DeafProcess(target=_work, args=(*self._arguments, sending))
        process.start()
        sending.close()
        self._processes[process] = _Life(time.monotonic(), Listener(receiving))

    def _replace(self, stopping: connection.Connection) -> bool:
        """Replace processes that die or hang; return whether this one was told to stop."""
        while True:
            sentinels = {process.sentinel: process for process in self._processes}
            ended = connection.wait([stopping, *sentinels], self._patience.step)
            if stopping in ended:
                return True
            for sentinel in ended:
                process = sentinels[sentinel]  # type: ignore[index]
                life = self._processes.pop(process)
                life.listener.close()
                process.join()
                if process.exitcode == _NOT_STARTED:
                    return False
                # Workers that die at once would keep the machine busy with their successors.
                if time.monotonic() - life.began < _SHORT_LIFE_SECONDS and stopping.poll(
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

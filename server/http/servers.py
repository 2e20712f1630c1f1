"""Servers: the listening socket, a server in this process, and several worker processes."""

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
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp

from server.http.connections import BoundedConnection, Waiting
from server.http.cycles import DirectResponder, ReadyAnswer
from server.http.limits import ConnectionLimits
from snapshots.catalog.workers import UninterruptibleProcess
from snapshots.errors import InvalidArgument

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, for which Python has no constant."""

_SYN = 0x02
_FLAGS = 13
"""Offset of the flags in a TCP header."""

_INSTRUCTIONS = (
    (0x30, 0, 0, _FLAGS),  # load the byte with the flags
    (0x45, 0, 1, _SYN),  # if SYN is set continue, else skip one instruction
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0xFFFF_FFFF),  # accept the entire packet
)
"""A classic BPF program; see Linux's Documentation/networking/filter.rst."""


def refuse_newcomers(listening: socket.socket) -> None:
    """Stop new connections to a socket, in all processes that share it.

    Connections whose handshake has begun can still be completed and should be accepted; closing the
    socket would reset them, with the requests sent over them. Later connection attempts wait, and
    are refused when the socket is closed. Has no effect on systems without such a filter.
    """
    if not sys.platform.startswith("linux"):
        return
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _INSTRUCTIONS)
    buffer = ctypes.create_string_buffer(program)
    option = struct.pack("HL", len(_INSTRUCTIONS), ctypes.addressof(buffer))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, option)


_log = logging.getLogger("cachelog.server")

GRACE_SECONDS = 10
"""Seconds that requests in progress may take after a server is asked to stop."""

_DRAIN_SECONDS = 0.5
"""Seconds in which a server that stops still accepts requests from new connections.

Responses on persistent connections announce in this time that the connection will be closed.
"""


_NOT_MONITORED = 0.0
"""The heartbeat of an event loop that is not monitored."""


class ServerConfig(uvicorn.Config):
    """The configuration of a server, and the state that all connections of its process share.

    ``factory`` creates the application; it is a function or its name, MODULE:FUNCTION.
    ``owns_socket`` means that no other process accepts connections from the socket. ``last_beat``
    is a number in shared memory: the time when the event loop last ran, for a monitoring process.
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
            log_config=None,  # the application configures logging
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # the application evaluates these
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self.limits = limits
        self.owns_socket = owns_socket
        self.last_beat = last_beat
        self.waiting: Waiting = Waiting()
        self.is_draining = False
        self.default_lines = b""
        """The header lines of all responses, such as Date."""

        self.at_once: DirectResponder | None = None
        """Answers some requests without ASGI: the application's attribute of this name, if any."""

    def load(self) -> None:
        """Create the application."""
        super().load()
        self.at_once = getattr(self.loaded_app, "at_once", None)

    def answer_at_once(self, scope: Any, body: bytes) -> ReadyAnswer | None:
        """Return the response to a request; None to use ASGI, and if an error was logged."""
        try:
            return None if self.at_once is None else self.at_once(scope, body)
        except Exception:  # noqa: BLE001 - the parser would report it as an invalid request
            _log.exception("an answer could not be looked up")
            return None  # by ASGI, the application responds to the error as usual


class DrainingServer(uvicorn.Server):
    """A server that answers all requests received before it was asked to stop."""

    config: ServerConfig

    async def on_tick(self, counter: int) -> bool:
        """Run periodic work, ten times a second; return whether to stop."""
        self._beat(time.monotonic())
        must_stop = await super().on_tick(counter)
        headers = self.server_state.default_headers
        self.config.default_lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        return must_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: accept no new connections, answer all requests, then close."""
        self.config.is_draining = True
        self._beat(_NOT_MONITORED)  # from now on there are no ticks
        if self.config.owns_socket:
            for listening in sockets or []:
                refuse_newcomers(listening)
        await asyncio.sleep(_DRAIN_SECONDS)
        await super().shutdown(sockets)
        # Connections that linger after a refusal have been answered; they need not delay the end.
        for lingering in [*self.server_state.connections]:
            lingering.transport.abort()
        await asyncio.sleep(0)

    def _beat(self, moment: float) -> None:
        if self.config.last_beat is not None:
            self.config.last_beat.value = moment


def run_server(config: ServerConfig, listening: socket.socket) -> bool:
    """Serve until a signal; return whether the server could start. A failure is logged."""
    server = DrainingServer(config)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return True
    except SystemExit:
        return False  # uvicorn's own exit code is replaced
    return server.started


_NOT_STARTED = 3
"""The exit code of a worker that could not start, so that starting another one is useless."""

_KILL_SECONDS = GRACE_SECONDS + 5
_SHORT_LIFE_SECONDS = 1.0
_STOPS = (signal.SIGTERM, signal.SIGINT)


_CHECKS_PER_TIMEOUT = 4
"""Number of checks of the workers within the hang timeout."""


class Worker(msgspec.Struct, eq=False):
    """A worker process."""

    process: UninterruptibleProcess
    began: float
    last_beat: Any
    """When its event loop last ran: a number in shared memory, 0 while it is not monitored."""


class Workers:
    """``count`` processes that serve the application of a factory (MODULE:FUNCTION).

    A process that dies, or whose event loop does not run for ``hang_seconds``, is replaced. All of
    them exit when this process does, for any reason.
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
        self._check_seconds = min(1.0, hang_seconds / _CHECKS_PER_TIMEOUT)
        self._arguments = (factory, listening, limits)
        self._listening = listening
        self._count = count
        self._hang_seconds = hang_seconds
        self._workers: dict[int, Worker] = {}
        """The running workers, by the sentinels of their processes."""

    def run(self) -> bool:
        """Serve until a signal ends this process; return False if workers cannot start."""
        for number in _STOPS:
            signal.signal(number, signal.default_int_handler)
        try:
            for _ in range(self._count):
                self._start()
            self._replace()
        except KeyboardInterrupt:
            return True
        else:
            return False
        finally:
            self._stop()

    def _start(self) -> None:
        last_beat = get_context("spawn").RawValue("d")
        # A fork would inherit locks of threads and the event loop of this process.
        process = UninterruptibleProcess(target=_work, args=(*self._arguments, last_beat))
        process.start()
        self._workers[process.sentinel] = Worker(process, time.monotonic(), last_beat)

    def _replace(self) -> None:
        """Replace workers that die or hang, until one cannot start."""
        checked_at = time.monotonic()
        while True:
            for sentinel in connection.wait([*self._workers], self._check_seconds):
                worker = self._workers.pop(sentinel)  # type: ignore[arg-type]
                worker.process.join()
                if worker.process.exitcode == _NOT_STARTED:
                    return
                # Replacing workers that die immediately without a pause would use all of the CPU.
                if time.monotonic() - worker.began < _SHORT_LIFE_SECONDS:
                    time.sleep(_SHORT_LIFE_SECONDS)
                self._start()
            now = time.monotonic()
            # If this process itself was suspended, for example with the machine, so were they.
            if now - checked_at < self._hang_seconds / 2:
                self._kill_hung(now - self._hang_seconds)
            checked_at = now

    def _kill_hung(self, latest: float) -> None:
        """Kill the workers without a heartbeat since ``latest``, to be replaced when they exit."""
        for worker in self._workers.values():
            if _NOT_MONITORED < worker.last_beat.value < latest:
                _log.warning(
                    "process %s has hung for %g seconds: it is ended",
                    worker.process.pid,
                    self._hang_seconds,
                )
                worker.process.kill()
                worker.last_beat.value = _NOT_MONITORED  # so that it is killed only once

    def _stop(self) -> None:
        """Terminate all workers, and kill those that do not exit in time."""
        for number in _STOPS:
            signal.signal(number, signal.SIG_IGN)
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


def _work(factory: str, listening: socket.socket, limits: ConnectionLimits, last_beat: Any) -> None:
    """Serve in a worker process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    config = ServerConfig(factory, limits, owns_socket=False, last_beat=last_beat)
    if not run_server(config, listening):
        raise SystemExit(_NOT_STARTED)


def _end_with_parent() -> None:
    """Send SIGTERM to this process when its parent process exits."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


_BACKLOG = 2_048


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 selects a free port.

    Raises InvalidArgument if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        # Python's message repeats the address. Errors of name resolution have negative numbers.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error.strerror)
        raise InvalidArgument(f"cannot listen on {host} port {port}", reason.lower()) from None
    listening.set_inheritable(True)
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
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
    """Serve the application of ``factory`` (MODULE:FUNCTION) until a signal ends this process.

    With several workers, one that hangs for ``hang_seconds`` is replaced. Raises SystemExit with
    code 1 if the server does not start; the reason is logged.
    """
    if workers > 1:
        started = Workers(
            factory, listening, limits, count=workers, hang_seconds=hang_seconds
        ).run()
    else:
        started = run_server(ServerConfig(factory, limits, owns_socket=True), listening)
    if not started:
        raise SystemExit(1)

"""From an address to processes that serve it: a socket first, then one server on it or several."""

import os
import socket

from server.http.limits import ConnectionLimits
from server.http.servers import ServerConfig, run_server
from server.http.workers import Workers
from server.logs import formats
from snapshots.errors import InvalidArgument

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
    log_format: str,
) -> None:
    """Serve the application that ``MODULE:FUNCTION`` makes until a signal ends this process.

    Of several workers one that hangs for ``hang_seconds`` is replaced, which this process logs in
    the ``log_format``. Raises SystemExit with code 1 where it does not start; why is logged.
    """
    if workers > 1:
        formats.configure(log_format)  # each worker does so for itself
        started = Workers(
            factory, listening, limits, count=workers, hang_seconds=hang_seconds
        ).run()
    else:
        started = run_server(ServerConfig(factory, limits, owns_socket=True), listening)
    if not started:
        raise SystemExit(1)

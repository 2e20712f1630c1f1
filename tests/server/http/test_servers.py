"""Servers: sockets that refuse new connections, and workers that hang."""

import socket
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.http.servers import HangMonitor, Worker, listening_socket, refuse_newcomers


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the filter is Linux's")
def test_draining_socket_serves_only_earlier_connections() -> None:
    """None is reset: new connections wait until the socket is closed."""
    with listening_socket("127.0.0.1", 0) as listening:
        address = listening.getsockname()
        with socket.create_connection(address) as connected:
            refuse_newcomers(listening)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.3)
            accepted, _ = listening.accept()
            with accepted:
                connected.sendall(b"a")
                assert accepted.recv(1) == b"a"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


BEGAN = 1_000.0


def worker(last_beat: float) -> Worker:
    """Return a worker whose last heartbeat was at a time; 0 if there was none."""
    return Worker(cast("Any", None), BEGAN, SimpleNamespace(value=last_beat))


@pytest.mark.parametrize(
    ("looks", "last_beat", "is_hung"),
    [
        (range(11), BEGAN, False),
        (range(12), BEGAN, True),
        (range(12), BEGAN + 2, False),
        (range(100), 0.0, False),
        ([1, 3_600], BEGAN, False),
        ([1, *range(3_600, 3_611)], BEGAN, False),
        ([1, *range(3_600, 3_612)], BEGAN, True),
    ],
    ids=[
        "in time",
        "silent",
        "after a heartbeat",
        "starting",
        "delayed with this process",
        "in time after a delay",
        "silent after a delay",
    ],
)
def test_silent_worker_hangs(looks: list[int], last_beat: float, is_hung: bool) -> None:
    """Counted from its last heartbeat, or from when the monitor itself was delayed."""
    monitor, watched = HangMonitor(10.0, BEGAN), worker(last_beat)
    hung: list[Worker] = []
    for seconds in looks:
        hung = monitor.hung([watched], BEGAN + seconds)
    assert hung == ([watched] if is_hung else [])

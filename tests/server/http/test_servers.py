"""Servers: their end without lost responses, failing workers, and sockets that refuse clients."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.parse import urlsplit

import httpx
import pytest

from server.http.limits import ConnectionLimits
from server.http.servers import Worker, Workers, listening_socket, refuse_newcomers
from tests.server.servers import CACHELOG, PATIENCE, Server, environ, serving, until

BODY = b'{"query": "{ tags { name } }"}'
HEAD = (
    b"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n" % len(BODY)
)
CLIENTS = 8


def address(server: Server) -> tuple[str, int]:
    """Return the host and port of a server."""
    place = urlsplit(server.url)
    return str(place.hostname), int(place.port or 0)


def workers_of(server: Server) -> set[int]:
    """Return the process ids of the workers."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    workers = set()
    for child in map(int, children.read_text().split()):
        with suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                workers.add(child)
    return workers


def is_running(process: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def outcome(place: tuple[str, int], *, is_persistent: bool = False) -> str:
    """Send a request over a new connection, or several until a response announces its end.

    Return whether the last one was answered, refused or cut off.
    """
    end = b"\r\n" if is_persistent else b"Connection: close\r\n\r\n"
    try:
        connection = socket.create_connection(place, timeout=PATIENCE)
    except ConnectionRefusedError:
        return "refused"
    with connection:
        while True:
            try:
                connection.sendall(HEAD + end + BODY)
                answer = HTTPResponse(connection)
                answer.begin()
                answer.read()
            except (ConnectionError, HTTPException):
                return "cut"
            if answer.status != 200:
                return "cut"
            if answer.getheader("connection") == "close":
                return "answered"


def wait_for_workers(server: Server, count: int) -> None:
    """Wait until a server has ``count`` workers."""
    until(lambda: len(workers_of(server)) == count, f"{count} workers run")


@pytest.mark.parametrize("workers", [1, 2])
def test_pending_responses_are_sent(demo_catalog: Path, tmp_path: Path, workers: int) -> None:
    """Continuous requests are answered or refused, and never cut off."""
    outcomes: Counter[str] = Counter()
    options = ("--workers", str(workers))
    with serving(demo_catalog, tmp_path / "log", *options, access_log="no") as server:
        place = address(server)

        def send_requests(number: int) -> None:
            is_persistent = bool(number % 2)
            while (result := outcome(place, is_persistent=is_persistent)) != "refused":
                outcomes[result] += 1
            outcomes["refused"] += 1

        threads = [
            threading.Thread(target=send_requests, args=(number,)) for number in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        until(lambda: outcomes["answered"] > 100, "clients are answered")
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(PATIENCE)
        assert server.process.wait(PATIENCE) in (0, -signal.SIGTERM)
    assert outcomes["cut"] == 0
    assert outcomes["refused"] == CLIENTS


def test_failed_workers_are_replaced(demo_catalog: Path, tmp_path: Path) -> None:
    """Requests are answered in the meantime; workers end if their parent is killed.

    The log names a hanging worker. Finally, the port is free.
    """
    options: dict[str, object] = {"hang_timeout": 2, "log_format": "json"}
    with serving(demo_catalog, tmp_path / "log", "--workers", "2", **options) as server:
        wait_for_workers(server, 2)
        killed = min(workers_of(server))
        os.kill(killed, signal.SIGKILL)
        until(lambda: not is_running(killed), "the killed worker has ended")
        wait_for_workers(server, 2)
        assert killed not in workers_of(server)
        assert outcome(address(server)) == "answered"
        page = f"{server.url}/metrics"
        until(lambda: "\ncachelog_processes 2.0" in httpx.get(page).text, "both workers serve")
        hung, other = sorted(workers_of(server))
        os.kill(hung, signal.SIGSTOP)
        until(lambda: not is_running(hung), "the suspended worker has ended")
        wait_for_workers(server, 2)
        assert other in workers_of(server)
        assert outcome(address(server)) == "answered"
        workers = workers_of(server)
        server.process.kill()
        server.process.wait(PATIENCE)
        try:
            until(lambda: not any(map(is_running, workers)), "the workers have ended")
            until(lambda: outcome(address(server)) == "refused", "the port is free")
        finally:
            for worker in filter(is_running, workers):
                os.kill(worker, signal.SIGKILL)
    (line,) = [line for line in server.log.read_text().splitlines() if "has hung" in line]
    assert f"process {hung} has hung for 2 seconds: it is ended" in line
    assert line.startswith("{")


@pytest.mark.parametrize("workers", [1, 2])
def test_application_that_cannot_be_created(tmp_path: Path, workers: int) -> None:
    """No worker could start: the server ends with exit code 1, and logs the reason."""
    program = (
        "from server.http.limits import ConnectionLimits\n"
        "from server.http.servers import listening_socket, serve\n"
        "if __name__ == '__main__':\n"
        "    listening = listening_socket('127.0.0.1', 0)\n"
        f"    more = {{'hang_seconds': 30, 'workers': {workers}}}\n"
        "    serve('server.nope:x', listening, limits=ConnectionLimits(), **more)\n"
    )
    script = tmp_path / "serve.py"
    script.write_text(program)
    began = time.monotonic()
    command = [CACHELOG.with_name("python"), script]
    done = subprocess.run(command, env=environ(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "server.nope" in done.stderr
    assert time.monotonic() - began < PATIENCE


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


@pytest.mark.parametrize(
    ("checks", "last_beat", "is_killed"),
    [
        (range(11), 0.5, False),
        (range(12), 0.5, True),
        (range(12), 2.0, False),
        (range(100), 0.0, False),
        ([1, 3_600], 0.5, False),
        ([1, 3_600, 3_601], 3_600.1, False),
        ([1, 3_600, 3_601], 0.5, True),
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
def test_silent_worker_is_killed(
    monkeypatch: pytest.MonkeyPatch, checks: list[int], last_beat: float, is_killed: bool
) -> None:
    """Once, and not as soon as this process itself was delayed."""
    workers = Workers("m:f", Mock(), ConnectionLimits(), count=1, hang_seconds=10)
    process, times = Mock(), iter([0, *checks])
    workers._workers[1] = Worker(process, 0, SimpleNamespace(value=last_beat))
    monkeypatch.setattr("server.http.servers.time.monotonic", lambda: next(times))
    monkeypatch.setattr("server.http.servers.connection.wait", lambda *_: [])
    with pytest.raises(StopIteration):
        workers._replace()
    assert process.kill.call_count == is_killed

"""Real servers for tests: ``cachelog serve`` as a process, or the application in a thread."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from server.app import create_app
from server.settings import PREFIX, Settings

CACHELOG = Path(sys.executable).with_name("cachelog")
PATIENCE = 60
"""Seconds that a process may take to start, to respond or to stop, on a busy machine."""


@dataclass(frozen=True)
class Server:
    """A running ``cachelog serve``; ``log`` is the file of its output."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def graphql(self) -> str:
        """The URL of the API."""
        return f"{self.url}/graphql"

    def stop(self) -> int:
        """Send SIGTERM to the server, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def serving(
    catalog: Path | str, log: Path, *options: str, **settings: object
) -> AbstractContextManager[Server]:
    """Serve with ``settings`` as CACHELOG_* variables; the server must stop cleanly."""
    return serving_by(CACHELOG, catalog, log, *options, **settings)


@contextmanager
def serving_by(
    program: Path, catalog: Path | str, log: Path, *options: str, **settings: object
) -> Iterator[Server]:
    """Serve with another program than the one next to this Python; else as ``serving``."""
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "serve", "--catalog", str(catalog), "--port", str(port), *options],
            env=environ(**settings),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", process, log)
    try:
        until(lambda: _is_ready(server), "the server is ready")
        yield server
    finally:
        if process.poll() is None:
            code = server.stop()
            # uvicorn raises the signal that stopped it again after the shutdown.
            assert code in (0, -signal.SIGTERM), f"exited with {code}: {log.read_text()}"
    assert "Traceback" not in log.read_text()


def application(settings: Settings) -> AbstractContextManager[httpx.Client]:
    """Serve the application from a thread of this process; yield a client of it."""
    return serving_app(create_app(settings))


@contextmanager
def serving_app(app: Any) -> Iterator[httpx.Client]:
    """Serve an application from a thread of this process; yield a client of it."""
    config = uvicorn.Config(app, log_config=None, server_header=False)
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started, "the application has started")
            port = listener.getsockname()[1]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


class _Files(SimpleHTTPRequestHandler):
    """Serves files without a log, and 404.html at every unknown URL, as static hosts do."""

    def send_error(self, code: int, *_: object) -> None:
        """Answer with the page, if there is one."""
        page = Path(self.directory, "404.html")
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.read_bytes() if page.exists() else b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Discard the message."""


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield the origin."""
    handler = partial(_Files, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def tags(client: httpx.Client) -> list[str]:
    """Return the tags that a server lists."""
    response = client.post("/graphql", json={"query": "{ tags { name } }"})
    return [tag["name"] for tag in response.json()["data"]["tags"]]


def environ(**settings: object) -> dict[str, str]:
    """Return the environment of this process with only these settings of cachelog."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
    return inherited | {PREFIX + name.upper(): str(value) for name, value in settings.items()}


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; ``what`` describes it."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{seconds} s have passed, and not yet: {what}"
        time.sleep(0.02)


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_ready(server: Server) -> bool:
    assert server.process.poll() is None, f"the server does not start: {server.log.read_text()}"
    try:
        return httpx.get(f"{server.url}/health/ready").is_success
    except httpx.TransportError:
        return False

"""S3 servers, each in a separate process."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[3]

_REQUEST = re.compile(r"([A-Z]+ /\S*) HTTP/1\.1")


class Emulator:
    """An S3 server with a bucket named ``bucket``."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        command = [sys.executable, "-m", "tests.snapshots.catalog.s3_emulator", str(self.port)]
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.put(f"{self.url}/bucket").raise_for_status()
                return
            except httpx.TransportError:
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)

    def num_requests(self) -> int:
        """Return the number of requests that were answered so far."""
        return self._log.read_text().count("HTTP/1.1")

    def requests(self) -> list[str]:
        """Return the method and path of each request that was answered so far."""
        return _REQUEST.findall(self._log.read_text())

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Respond to every request with status 503, like a store that is out of order."""
        with self._faulty("failing"):
            yield

    @contextmanager
    def unconditional(self) -> Iterator[None]:
        """Ignore If-None-Match, so that writes overwrite existing objects."""
        with self._faulty("unconditional"):
            yield

    @contextmanager
    def _faulty(self, fault: str) -> Iterator[None]:
        httpx.post(f"{self.url}/-/{fault}").raise_for_status()
        try:
            yield
        finally:
            httpx.delete(f"{self.url}/-/{fault}").raise_for_status()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Accept connections, but send no response."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Terminate the process, and wait until it has exited."""
        self.process.terminate()
        self.process.wait()

    def variables(self) -> dict[str, str]:
        """Return the environment variables with which a client uses this server."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

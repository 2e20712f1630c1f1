"""The attacked ``cachelog serve``: started, observed, and restarted if an effect lasts."""

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.hostile.attack import HOST, Target
from tests.server.servers import environ, free_port, until

KILL_BYTES = 4 << 30
"""A server that uses more memory is killed, before the machine has none left."""

_WATCH_SECONDS = 0.05
_DESCRIPTORS = 1_024
"""The maximum number of open files and connections, the default of many systems."""

_LEARN = """{
  tags { name } revisions { nodes { digest } }
  revision { packages(first: 200) { nodes { name } } specs(first: 1000) { nodes { id hash } } }
}"""


SMALL_CACHES: Mapping[str, Any] = {
    "response_cache": 32 << 20,
    "frame_cache": 128 << 20,
    "comparison_cache": 96 << 20,
}
"""Settings for little memory; the data of one comparison fits into each cache."""


class AttackedServer:
    """A server process with one worker; its memory is read from /proc."""

    def __init__(self, catalog: Path, settings: Mapping[str, object]) -> None:
        self._catalog = catalog
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close
        self.port = free_port()
        self.was_killed = False

    def start(self) -> Target:
        """Start the server and return what a client can learn; the port stays the same."""
        command = [sys.executable, "-m", "server", "serve", "--catalog", str(self._catalog)]
        self._process = process = subprocess.Popen(
            [*command, "--host", HOST, "--port", str(self.port)],
            env=environ(access_log=False, **self._settings),
            stdout=self._log,
            stderr=self._log,
        )
        self.was_killed = False
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        until(self._is_ready, "the server is ready")
        return self.learn()

    def stop(self) -> None:
        """Stop the server; kill it if it does not stop."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Stop the server, and delete its log."""
        self.stop()
        self._log.close()

    def restart(self) -> Target:
        """Stop the server, and start it again."""
        self.stop()
        return self.start()

    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def cpu_seconds(self) -> float:
        """Return the processor time of the process."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Return the maximum resident memory since ``reset_peak``; 0 if the process has ended."""
        return self._kilobytes("VmHWM") << 10

    def resident_bytes(self) -> int:
        """Return the resident memory; 0 if the process has ended."""
        return self._kilobytes("VmRSS") << 10

    def reset_peak(self) -> None:
        """Reset the maximum resident memory (proc(5), clear_refs)."""
        if self._process is not None:
            Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def log_text(self) -> str:
        """Return the log of the server."""
        # Without seeking, as the server writes at the same offset.
        number = self._log.fileno()
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")

    def _kilobytes(self, name: str) -> int:
        for line in self._proc("status").splitlines():
            if line.startswith(name):
                return int(line.split()[1])
        return 0

    def _proc(self, name: str) -> str:
        assert self._process is not None, "the server has not been started"
        try:
            return Path(f"/proc/{self._process.pid}/{name}").read_text()
        except OSError:
            return ""

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        while process.poll() is None:
            if process is self._process and self.resident_bytes() > KILL_BYTES:
                self.was_killed = True
                process.kill()
            time.sleep(_WATCH_SECONDS)

    def _is_ready(self) -> bool:
        assert self.is_running(), f"the server does not start: {self.log_text()}"
        try:
            return httpx.get(f"http://{HOST}:{self.port}/health/ready").is_success
        except httpx.TransportError:
            return False

    def learn(self) -> Target:
        """Return the information that any client can request."""
        response = httpx.post(
            f"http://{HOST}:{self.port}/graphql", json={"query": _LEARN}, timeout=60
        )
        data: dict[str, Any] = response.json()["data"]
        newest = data["revision"]
        return Target(
            self.port,
            digests=tuple(it["digest"] for it in data["revisions"]["nodes"]),
            tags=tuple(it["name"] for it in data["tags"]),
            packages=tuple(it["name"] for it in newest["packages"]["nodes"]),
            hashes=tuple(it["hash"] for it in newest["specs"]["nodes"]),
            ids=tuple(it["id"] for it in newest["specs"]["nodes"]),
        )


@contextmanager
def attacked(catalog: Path, **settings: object) -> Iterator[AttackedServer]:
    """Yield a server of a catalog, not yet started; it is stopped after the context."""
    server = AttackedServer(catalog, settings)
    try:
        yield server
    finally:
        server.close()

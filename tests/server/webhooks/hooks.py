"""A receiver of webhooks that records requests and sends predefined responses."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from typing import Any

import orjson

from server.webhooks import announcement
from snapshots.history import Neighbours
from snapshots.models import is_revision
from tests.snapshots.notes.stories import BASE, HEAD, log_between


@dataclass(frozen=True)
class Received:
    """A request: its path, headers and body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body parsed as JSON."""
        return orjson.loads(self.body)


@dataclass
class Hook:
    """A receiver at a ``url``, and the requests that it ``received``."""

    url: str
    received: list[Received] = field(default_factory=list)

    @property
    def tags(self) -> list[str]:
        """The tags of the announced revisions."""
        return [request.json["revision"]["tag"] for request in self.received]


LOG = log_between(BASE, HEAD)
assert is_revision(LOG.base) and is_revision(LOG.head)  # noqa: PT018
REVISION = LOG.head
ANNOUNCEMENT = announcement(Neighbours(LOG.base, REVISION), LOG)

Answer = tuple[int, dict[str, str]]


@contextmanager
def receiving(answers: Sequence[Answer] = (), *, silent_seconds: float = 0) -> Iterator[Hook]:
    """Receive on a free port: respond with ``answers`` in order, then with 204.

    The receiver may be silent for a while first.
    """
    remaining = iter(answers)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                headers = {name.lower(): value for name, value in self.headers.items()}
                hook.received.append(Received(self.path, headers, body))
                status, extra_headers = next(remaining, (204, {}))
            sleep(silent_seconds)
            self.send_response(status)
            for name, value in extra_headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # clients may disconnect
                super().handle()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hook = Hook(f"http://127.0.0.1:{server.server_port}/hooks/token?key=s3cret")
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        try:
            yield hook
        finally:
            server.shutdown()

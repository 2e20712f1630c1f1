"""A receiver of webhooks that records requests and sends predefined responses."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from time import sleep
from typing import Any

import orjson

from server.webhooks import announcement
from snapshots.history import Neighbours
from snapshots.models import is_revision
from tests.snapshots.notes.stories import BASE, HEAD, log_between
from tests.snapshots.sources.buildcache.misbehaving_servers import send, serving


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
    with serving() as server:
        hook = Hook(server.at("/hooks/token?key=s3cret"))

        def receive(request: BaseHTTPRequestHandler) -> None:
            body = request.rfile.read(int(request.headers["content-length"]))
            headers = {name.lower(): value for name, value in request.headers.items()}
            hook.received.append(Received(request.path, headers, body))
            code, extra_headers = next(remaining, (204, {}))
            sleep(silent_seconds)
            send(request, code, headers={**extra_headers, "Content-Length": "0"})

        server.otherwise = receive
        yield hook

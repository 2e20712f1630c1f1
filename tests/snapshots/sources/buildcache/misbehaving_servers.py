"""A real HTTP server on 127.0.0.1 with scripted replies, which records its requests.

Each path has a reply: a function that handles one request. ``in_turn`` combines several.
"""

import gzip
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """The replies by path, and the requests so far as ``METHOD PATH``, with their headers.

    ``otherwise`` is the reply for all other paths.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: dict[str, Reply] = {}
        self.otherwise = status(404)
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.closing = Event()

    def __setitem__(self, path: str, reply: Reply) -> None:
        self.replies[path] = reply

    def at(self, path: str) -> str:
        """Return the URL of a path."""
        return f"{self.url}{path}"

    def serve_folder(self, folder: Path) -> None:
        """Reply with the files below a folder, each with an ETag of its content."""
        for file in folder.rglob("*"):
            if file.is_file():
                self[f"/{file.relative_to(folder).as_posix()}"] = content(file.read_bytes())

    def downloads(self, ending: str = "") -> int:
        """Return the number of GET requests for paths with a suffix."""
        return sum(line.startswith("GET ") and line.endswith(ending) for line in self.requests)


@contextmanager
def serving(encrypted: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server in its own threads for the duration of the block."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    if encrypted is not None:
        httpd.socket = encrypted.wrap_socket(httpd.socket, server_side=True)
    scheme = "http" if encrypted is None else "https"
    server = Server(f"{scheme}://127.0.0.1:{httpd.server_port}")
    httpd.RequestHandlerClass = _handler(server)
    httpd.daemon_threads = True
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def content(
    data: bytes, *, etag: str | None = None, packed: bool = False, length: int | None = None
) -> Reply:
    """Reply with the bytes, or with 304 if the client has them; ``length`` is a wrong length."""
    tag = etag or f'"{hash(data):x}"'
    body = gzip.compress(data, mtime=0) if packed else data

    def reply(request: BaseHTTPRequestHandler) -> None:
        if request.headers.get("If-None-Match") == tag:
            return send(request, 304)
        headers = {"ETag": tag, "Content-Length": str(len(body) if length is None else length)}
        if packed:
            headers["Content-Encoding"] = "gzip"
        return send(request, 200, body, headers)

    return reply


def document(value: Any) -> Reply:
    """Reply with a value as JSON."""
    return content(json.dumps(value).encode())


def unmeasured(data: bytes, **headers: str) -> Reply:
    """Reply with the bytes, without a Content-Length and without an ETag."""
    return lambda request: send(request, 200, data, headers)


def status(code: int, **headers: str) -> Reply:
    """Reply with a status and headers; underscores in their names become dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: send(request, code, b"", named | {"Content-Length": "0"})


def cut(data: bytes) -> Reply:
    """Close the connection before all bytes of the Content-Length are sent."""
    return content(data, length=len(data) + 1000)


def silence(server: Server) -> Reply:
    """Send nothing while the server runs."""

    def reply(_: BaseHTTPRequestHandler) -> None:
        server.closing.wait()

    return reply


def in_turn(*replies: Reply) -> Reply:
    """Reply with each reply in turn, then always with the last one."""
    waiting = list(replies)
    lock = Lock()

    def reply(request: BaseHTTPRequestHandler) -> None:
        with lock:
            chosen = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        chosen(request)

    return reply


def send(
    request: BaseHTTPRequestHandler,
    code: int,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
) -> None:
    """Send a response; a client that has disconnected is no error."""
    request.send_response(code)
    for name, value in (headers or {}).items():
        request.send_header(name, value)
    try:
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)
    except OSError:
        request.close_connection = True


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            server.requests.append(f"{self.command} {self.path}")
            server.headers.append(dict(self.headers))
            server.replies.get(self.path, server.otherwise)(self)

        do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815  # the names that http.server asks for

        def log_message(self, *_: object) -> None:
            """Write nothing to standard error."""

    return Handler

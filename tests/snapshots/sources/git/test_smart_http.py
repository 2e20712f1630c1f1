"""A repository is fetched over git's own protocol on HTTP, and from nowhere else."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from snapshots.errors import SourceError
from tests.snapshots.sources.git.repositories import (
    ZLIB,
    Repository,
    labels,
    page,
    read_at,
    specs,
)


class Backend:
    """A server of the repositories in a folder; ``moved`` maps paths to where they lead."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.asked: list[str] = []
        self.moved: dict[str, str] = {}

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer as git's own program for servers does."""
        self.asked.append(f"{request.command} {request.path}")
        parts = urlsplit(request.path)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if parts.path in self.moved:
            request.send_response(307)
            request.send_header("Location", self.moved[parts.path] + f"?{parts.query}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        environment = os.environ | {
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": request.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        request.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


@contextmanager
def serving(folder: Path) -> Iterator[Backend]:
    """Run a server for the length of the block."""
    backend = Backend(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            backend.answer(self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing on standard error."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    backend.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield backend
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@pytest.fixture
def backend(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    """Serve a repository of two states at /pages.git."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({ZLIB: page("zlib", "b")})
    repository.git("clone", "--quiet", "--bare", ".", str(tmp_path / "served" / "pages.git"))
    with serving(tmp_path / "served") as running:
        yield running


@pytest.mark.parametrize("path", ["/pages.git", "/pages.git/", "/old"])
def test_a_repository_is_fetched(backend: Backend, tmp_path: Path, path: str) -> None:
    """Where it is, and where it has moved to; the next time only what is new."""
    backend.moved["/old/info/refs"] = f"{backend.url}/pages.git/info/refs"
    url = f"{backend.url}{path}"
    found = list(read_at(url, tmp_path / "cache"))
    assert [labels(it) for it in found] == [specs(zlib="a"), specs(zlib="b")]
    assert {it.source.location for it in found} == {url}
    assert any(line.startswith("POST /pages.git/git-upload-pack") for line in backend.asked)
    again = list(read_at(url, tmp_path / "cache"))
    assert [it.content.digest for it in again] == [it.content.digest for it in found]


def test_git_itself_is_led_nowhere(backend: Backend, tmp_path: Path) -> None:
    """A redirect of a later request is followed by nobody."""
    path = "/pages.git/git-upload-pack"
    with serving(tmp_path / "served") as elsewhere:
        backend.moved[path] = f"{elsewhere.url}{path}"
        with pytest.raises(SourceError, match="git says: "):
            list(read_at(f"{backend.url}/pages.git", tmp_path / "cache"))
        assert elsewhere.asked == []
    assert f"POST {path}" in backend.asked

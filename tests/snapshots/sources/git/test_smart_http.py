"""A repository is fetched over git's own protocol on HTTP, and from nowhere else."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from snapshots.errors import SourceError
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    send,
    serving,
    status,
)
from tests.snapshots.sources.git.repositories import (
    ZLIB,
    Repository,
    labels,
    page,
    read_at,
    specs,
)

pytestmark = pytest.mark.usefixtures("no_proxies")


class Repositories(dict[str, Reply]):
    """Replies for the repositories in a folder, by git's own program for servers."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def get(self, path: str, _: Any = None) -> Reply:
        """Return the reply for a path, whose query does not count."""
        return super().get(path.partition("?")[0], self._answer)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
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
        code = int(headers.pop("Status", "200").split()[0])
        send(request, code, content, headers | {"Content-Length": str(len(content))})


@pytest.fixture
def backend(repository: Repository, tmp_path: Path, server: Server) -> Server:
    """Serve a repository of two states at /pages.git."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({ZLIB: page("zlib", "b")})
    repository.git("clone", "--quiet", "--bare", ".", str(tmp_path / "served" / "pages.git"))
    server.replies = Repositories(tmp_path / "served")
    return server


@pytest.mark.parametrize("path", ["/pages.git", "/pages.git/", "/old"])
def test_a_repository_is_fetched(backend: Server, tmp_path: Path, path: str) -> None:
    """Where it is, and where it has moved to; the next time only what is new."""
    place = backend.at("/pages.git/info/refs?service=git-upload-pack")
    backend["/old/info/refs"] = status(307, Location=place)
    found = list(read_at(backend.at(path), tmp_path / "cache"))
    assert [labels(state) for state in found] == [specs(zlib="a"), specs(zlib="b")]
    assert {state.source.location for state in found} == {backend.at(path)}
    assert any(line.startswith("POST /pages.git/git-upload-pack") for line in backend.asked)
    again = list(read_at(backend.at(path), tmp_path / "cache"))
    assert [state.content.digest for state in again] == [state.content.digest for state in found]


def test_git_itself_is_led_nowhere(backend: Server, tmp_path: Path) -> None:
    """A redirect of a later request is followed by nobody."""
    path = "/pages.git/git-upload-pack"
    with serving() as elsewhere:
        backend[path] = status(307, Location=elsewhere.at(path))
        with pytest.raises(SourceError, match="git says: "):
            list(read_at(backend.at("/pages.git"), tmp_path / "cache"))
        assert elsewhere.asked == []
    assert f"POST {path}" in backend.asked

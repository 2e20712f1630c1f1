"""A repository at a URL is read at the end of its redirects, within the limits of an import."""

import os
import socket
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from snapshots.errors import SourceError
from snapshots.sources import boundary
from snapshots.sources.boundary import kind_of
from snapshots.sources.git.clones import destination, open_repository
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    content,
    send,
    serving,
    silence,
    status,
)
from tests.snapshots.sources.git.repositories import ZLIB, Repository, labels, page, read_at, specs

pytestmark = pytest.mark.usefixtures("no_proxies")

REFS = "/info/refs?service=git-upload-pack"


@pytest.fixture
def served(server: Server, repository: Repository, tmp_path: Path) -> str:
    """Serve a repository of one page as files; return its URL."""
    repository.commit({ZLIB: page("zlib", "a")})
    bare = tmp_path / "served" / "pages.git"
    repository.git("clone", "--quiet", "--bare", ".", str(bare))
    repository.git("--git-dir", str(bare), "update-server-info")
    server.serve_folder(bare.parent)
    server[f"/pages.git{REFS}"] = server.replies["/pages.git/info/refs"]
    return server.at("/pages.git")


@pytest.fixture
def as_if_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the server's own address as public."""
    special = kind_of
    monkeypatch.setattr(
        boundary, "kind_of", lambda address: None if address == "127.0.0.1" else special(address)
    )


@pytest.mark.usefixtures("as_if_public")
@pytest.mark.parametrize("host", ["127.0.0.2", "169.254.169.254", "10.0.0.1", "[::1]"])
def test_redirect_to_a_special_address(
    server: Server, served: str, tmp_path: Path, host: str
) -> None:
    """It is refused by cachelog and by git before a request is sent."""
    assert served
    server[f"/old{REFS}"] = status(302, Location=f"http://{host}:{urlsplit(server.url).port}{REFS}")
    with pytest.raises(SourceError, match="only an import that begins there") as caught:
        list(read_at(server.at("/old"), tmp_path))
    assert caught.value.location == server.at("/old")
    assert server.requests == [f"GET /old{REFS}"]


@pytest.mark.parametrize("path", ["/HEAD", "/objects"])
def test_git_follows_no_redirect(server: Server, served: str, tmp_path: Path, path: str) -> None:
    """A server could redirect any later request as well."""
    with serving() as elsewhere:
        for url in list(server.replies):
            if url.startswith(f"/pages.git{path}"):
                server[url] = status(302, Location=elsewhere.at(url))
        with pytest.raises(SourceError, match="git says: "):
            list(read_at(served, tmp_path))
        assert elsewhere.requests == []


def test_no_objects_are_fetched_from_alternates(
    server: Server, served: str, tmp_path: Path
) -> None:
    """A repository can name others that have its objects; git does not request them."""
    with serving() as elsewhere:
        for path in list(server.replies):
            if "/objects/" in path:
                elsewhere[path] = server.replies.pop(path)
        alternates = content(f"{elsewhere.at('/pages.git/objects')}\n".encode())
        server["/pages.git/objects/info/http-alternates"] = alternates
        with pytest.raises(SourceError, match="git says: "):
            list(read_at(served, tmp_path))
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (f"/old{REFS}", "redirects more than 10 times, perhaps in a circle"),
        ("/login?to=old", "redirects to .*/login, which is not a rep"),
    ],
)
def test_redirect_to_no_repository(
    server: Server, tmp_path: Path, target: str, reason: str
) -> None:
    """Cyclic redirects and login pages are named in the error."""
    server[f"/old{REFS}"] = status(302, Location=server.at(target))
    server["/login?to=old"] = content(b"<html>")
    with pytest.raises(SourceError, match=reason):
        list(read_at(server.at("/old"), tmp_path))


def test_deadline(server: Server, tmp_path: Path) -> None:
    """A silent server does not block an import."""
    server[f"/old{REFS}"] = silence(server)
    settings = ReadSettings(cache_dir=tmp_path, deadline=0.3)
    opened = open_repository(server.at("/old"), settings)
    with pytest.raises(SourceError, match=r"longer than 0\.3 s|no answer within 0\.3 s"), opened:
        pass


def test_git_connects_to_the_checked_address(
    server: Server, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git does not resolve the name again, which could lead to another address."""
    port = urlsplit(server.url).port
    resolve = socket.getaddrinfo

    def getaddrinfo(host: str, *options: object, **more: object) -> object:
        address = "127.0.0.1" if host == "pages.example" else host
        return resolve(address, *options, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert served
    (state,) = read_at(f"http://pages.example:{port}/pages.git", tmp_path)
    assert labels(state) == specs(zlib="a")


def _resolved(*addresses: str) -> list[tuple[object, ...]]:
    """Return addresses in the form of the system's resolver."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]


def redirect_requests(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Redirect every request to a URL, without network access."""

    def answer(request: httpx.Request) -> httpx.Response:
        is_there = str(request.url) == end
        return httpx.Response(200) if is_there else httpx.Response(302, headers={"Location": end})

    client = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **options: client(transport=httpx.MockTransport(answer), **options)
    )


def test_no_redirect_from_https_to_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain HTTP could be changed by others, so the redirect is refused."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: _resolved("93.184.216.34"))
    redirect_requests(monkeypatch, f"http://a.example/x{REFS}")
    with pytest.raises(SourceError, match="which everybody on the way can change"):
        destination("https://a.example/x", "https://a.example/x", ReadSettings())


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("https://a.example/new", "https://me:secret@a.example/new"),
        ("https://b.example/new", "https://b.example/new"),
    ],
)
def test_login_is_sent_to_its_host_only(
    monkeypatch: pytest.MonkeyPatch, end: str, expected: str
) -> None:
    """After a redirect to another host, git does not get the login; no setting contains it."""
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: _resolved("93.184.216.34", "2606:2800:220::1")
    )
    redirect_requests(monkeypatch, f"{end}{REFS}")
    url, config = destination(
        "https://me:secret@a.example/old", "https://a.example/old", ReadSettings()
    )
    assert url == expected
    host = urlsplit(end).hostname
    assert config == {
        "http.followRedirects": "false",
        f"http.{end}.followRedirects": "false",
        "http.curloptResolve": f"{host}:443:93.184.216.34,[2606:2800:220::1]",
    }


# -- git's own protocol over HTTP


class Repositories(dict[str, Reply]):
    """Replies for the repositories in a folder, from git's own CGI program."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def get(self, path: str, _: Any = None) -> Reply:
        """Return the reply for a path, without its query."""
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
def test_fetch(backend: Server, tmp_path: Path, path: str) -> None:
    """A repository is fetched from its URL or after a redirect; later only new objects are."""
    url = backend.at("/pages.git/info/refs?service=git-upload-pack")
    backend["/old/info/refs"] = status(307, Location=url)
    states = list(read_at(backend.at(path), tmp_path / "cache"))
    assert [labels(state) for state in states] == [specs(zlib="a"), specs(zlib="b")]
    assert {state.source.location for state in states} == {backend.at(path)}
    assert any(line.startswith("POST /pages.git/git-upload-pack") for line in backend.requests)
    assert sum(line.startswith("GET /old") for line in backend.requests) == (path == "/old")
    again = list(read_at(backend.at(path), tmp_path / "cache"))
    assert [state.content.digest for state in again] == [state.content.digest for state in states]


def test_later_redirects_are_not_followed(backend: Server, tmp_path: Path) -> None:
    """A redirect of a later request is not followed."""
    path = "/pages.git/git-upload-pack"
    with serving() as elsewhere:
        backend[path] = status(307, Location=elsewhere.at(path))
        with pytest.raises(SourceError, match="git says: "):
            list(read_at(backend.at("/pages.git"), tmp_path / "cache"))
        assert elsewhere.requests == []
    assert f"POST {path}" in backend.requests

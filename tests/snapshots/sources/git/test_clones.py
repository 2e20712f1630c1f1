"""Repositories of every form are found, cloned and read."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from snapshots.errors import CachelogError, InvalidArgument, SourceError
from snapshots.sources.git.clones import open_repository
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
from tests.snapshots.sources.git.repositories import (
    ZLIB,
    Repository,
    key,
    labels,
    page,
    read_at,
    specs,
)

pytestmark = pytest.mark.usefixtures("no_proxies")


def test_clones_are_updated(repository: Repository, tmp_path: Path) -> None:
    """The first run clones HEAD, the next one fetches new commits, even after a rewrite."""
    repository.commit({ZLIB: page("zlib", "a")})
    url = repository.folder.as_uri()
    (first,) = repository.read()
    (cloned,) = read_at(url, tmp_path)
    assert (key(cloned), cloned.source.location) == (key(first), url)
    repository.git("commit", "--quiet", "--amend", "--message", "Other words")
    repository.commit({ZLIB: page("zlib", "b")})
    states = read_at(url, tmp_path)
    assert list(map(labels, states)) == [specs(zlib="a"), specs(zlib="b")]
    assert len(list((tmp_path / "clones").iterdir())) == 1


@pytest.mark.parametrize("form", ["own", "bare", "worktree"])
def test_repository_of_another_user(
    repository: Repository, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git itself treats it as unsafe; no setting of the user changes that."""
    repository.commit({ZLIB: page("zlib", "a")})
    folder = repository.folder if form == "own" else tmp_path / form
    if form == "bare":
        repository.git("clone", "--quiet", "--bare", ".", str(folder))
    elif form == "worktree":
        repository.git("worktree", "add", "--quiet", str(folder))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    refused = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    assert b"dubious ownership" in subprocess.run(refused, capture_output=True).stderr
    (state,) = read_at(str(folder))
    assert labels(state) == specs(zlib="a")


@pytest.mark.parametrize(
    ("name", "is_missing", "reason"),
    [
        (f"HEAD:{ZLIB}", True, rf"^[0-9a-f]{{12}}:{ZLIB}.*[0-9a-f]{{40}}"),
        (f"HEAD:{ZLIB}", False, "git says: "),
        ("HEAD:_cache/develop", True, r"git says: .+"),
    ],
    ids=["missing page", "damaged page", "missing tree"],
)
def test_damaged_repository(
    repository: Repository, name: str, is_missing: bool, reason: str
) -> None:
    """A missing page is named with its commit; for other damage git's message is shown."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({ZLIB: page("zlib", "b")})
    oid = repository.git("rev-parse", name)
    file = repository.folder / ".git/objects" / oid[:2] / oid[2:]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.unlink()
    if not is_missing:
        file.write_bytes(data)
    with pytest.raises(SourceError, match=reason):
        repository.read()


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({"path": "_site"}, SourceError, "no commit has a folder _site"),
        ({"path": "../other"}, InvalidArgument, "is not the path of a folder"),
        ({"path": "texts"}, SourceError, "has no cache pages"),
        ({"tags": ["v9*", "nix"]}, InvalidArgument, r"v9\* nix matches no tag .*\(develop\)"),
        ({"every": "hour"}, InvalidArgument, "'hour' is not one of commit, day, week"),
    ],
)
def test_invalid_options(
    repository: Repository, options: dict[str, Any], kind: type[CachelogError], reason: str
) -> None:
    """An option without a match in the repository is refused with the reason."""
    repository.commit({ZLIB: page("zlib", "a"), "texts/a.txt": b"a"})
    with pytest.raises(kind, match=reason):
        repository.read(**options)


@pytest.mark.parametrize(
    ("location", "kind", "reason"),
    [
        ("", InvalidArgument, "neither a path nor a URL"),
        ("{tmp}/nothing", SourceError, "does not exist"),
        ("{tmp}/file", SourceError, "is a file"),
        ("{tmp}/folder", SourceError, "not a git repository"),
        ("{tmp}/empty", SourceError, "has no commit yet"),
        ("file://{tmp}/nothing", SourceError, "git says: .+"),
        ("file://{tmp}/empty", SourceError, "git says: .*HEAD"),
        ("ftp://example.org/pages", InvalidArgument, "ftp:// cannot be cloned from"),
        ("https://[::1", InvalidArgument, "is not a valid URL"),
        ("https://127.0.0.1:git/pages", InvalidArgument, "is not a valid URL: its port"),
        ("{tmp}/" + "a" * 5000, SourceError, "File name too long|does not exist"),
        ("a\0b", InvalidArgument, "neither a path nor a URL"),
        ("~nobody-of-that-name/pages", SourceError, "cannot be read"),
    ],
)
def test_invalid_locations(
    tmp_path: Path, location: str, kind: type[CachelogError], reason: str
) -> None:
    """A location without a readable repository is an error with the reason."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    Repository(tmp_path / "empty")
    opened = open_repository(location.format(tmp=tmp_path), ReadSettings(cache_dir=tmp_path))
    with pytest.raises(kind, match=reason), opened:
        pass


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("http://me:secret@127.0.0.1:9/pages.git", "http://127.0.0.1:9/pages.git"),
        ("me@host.example:pages", "me@host.example:pages"),
        ("ssh://me:secret@host.example/pages", "ssh://me@host.example/pages"),
        ("git://me:secret@host.example/pages", "git://host.example/pages"),
    ],
)
def test_shown_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, shown: str
) -> None:
    """The user of ssh is part of the location, a password is not."""
    monkeypatch.setenv("GIT_SSH_COMMAND", "echo secret >&2; false")
    monkeypatch.setenv("GIT_PROXY_COMMAND", "false")
    opened = open_repository(location, ReadSettings(cache_dir=tmp_path))
    with pytest.raises(SourceError) as caught, opened:
        pass
    assert caught.value.location == shown
    assert "me:secret" not in str(caught.value)
    assert "secret" not in " ".join(path.name for path in tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("has_folder", "reason"),
    [
        (False, "no folder is given for its clone"),
        (True, r"clones: .*/clones.*: (File exists|Not a dir)"),
    ],
)
def test_folder_of_clones(tmp_path: Path, has_folder: bool, reason: str) -> None:
    """A URL needs a folder for its clone; without one nothing is fetched."""
    (tmp_path / "clones").write_bytes(b"")
    settings = ReadSettings(cache_dir=tmp_path if has_folder else None)
    opened = open_repository("https://example.org/pages.git", settings)
    with pytest.raises(InvalidArgument, match=reason), opened:
        pass


# -- redirects


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


@pytest.mark.parametrize("is_redirected", [True, False])
@pytest.mark.parametrize("path", ["/HEAD", "/objects"])
def test_git_sends_no_request_elsewhere(
    server: Server, served: str, tmp_path: Path, path: str, is_redirected: bool
) -> None:
    """It follows no redirect, and requests no objects from other repositories that are named."""
    with serving() as elsewhere:
        for url in list(server.replies):
            if url.startswith(f"/pages.git{path}"):
                elsewhere[url] = server.replies.pop(url)
                if is_redirected:
                    server[url] = status(302, Location=elsewhere.at(url))
        alternates = content(f"{elsewhere.at('/pages.git/objects')}\n".encode())
        server["/pages.git/objects/info/http-alternates"] = alternates
        with pytest.raises(SourceError, match="git says: "):
            list(read_at(served, tmp_path))
        assert elsewhere.requests == []


def test_redirects_are_not_followed(server: Server, served: str, tmp_path: Path) -> None:
    """The error says what to do."""
    server[f"/old{REFS}"] = status(301, Location=f"{served}{REFS}")
    with pytest.raises(SourceError, match=r"301: it redirects; give the final URL") as caught:
        list(read_at(server.at("/old"), tmp_path))
    assert caught.value.location == server.at("/old")
    assert server.requests == [f"GET /old{REFS}"]


def test_deadline_of_a_repository(server: Server, tmp_path: Path) -> None:
    """A silent server does not block an import."""
    server[f"/old{REFS}"] = silence(server)
    settings = ReadSettings(cache_dir=tmp_path, deadline=0.3)
    opened = open_repository(server.at("/old"), settings)
    with pytest.raises(SourceError, match=r"longer than 0\.3 s"), opened:
        pass


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

"""Repositories of every form are found, cloned and read."""

from pathlib import Path
from typing import Any

import pytest

from snapshots.errors import CachelogError, InvalidArgument, SourceError
from snapshots.sources.git.clones import open_repository
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
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


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({"path": "_site"}, SourceError, "no commit has a folder _site"),
        ({"path": "../other"}, InvalidArgument, "is not the path of a folder"),
        ({"path": "texts"}, SourceError, "has no cache pages"),
        ({"tags": ["v9*", "nix"]}, InvalidArgument, r"v9\* nix matches no tag .*\(develop\)"),
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

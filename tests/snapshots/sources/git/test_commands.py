"""The git program may be missing, slow, or fail."""

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from snapshots.errors import SourceError
from snapshots.sources.git.repository import (
    BadBlob,
    Blobs,
    Network,
    Repository,
    Stream,
    refuse_pipes,
    run,
)
from tests.snapshots.sources.git.repositories import ZLIB, page
from tests.snapshots.sources.git.repositories import Repository as Made

BLOB = "a" * 40


@pytest.fixture
def location(tmp_path: Path) -> Repository:
    """Return the repository in which commands run."""
    folder = tmp_path / "own"
    folder.mkdir()
    return Repository(folder, "pages")


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str, mode: int = 0o755) -> None:
    """Replace git by a script."""
    script = folder / "bin" / "git"
    script.parent.mkdir()
    script.write_text("\n".join(("#!/bin/sh", *lines, "")))
    script.chmod(mode)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")


def test_slow_git(location: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed, and the error states the timeout."""
    program(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid", "exec sleep 60")
    with pytest.raises(SourceError, match=r"git took longer than 0\.2 s"):
        run(location, "fetch", network=Network(("https",), 0.2))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_git_cannot_be_started(
    location: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's reason is in the error, for commands and for streams."""
    program(tmp_path, monkeypatch, "exit 0", mode=0o644)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(SourceError, match="pages: git cannot be started: Permission denied"):
        run(location, "version")
    with pytest.raises(SourceError, match="Permission denied"), Stream(location, "version"):
        pass
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="git is needed to read it, and is not installed"):
        Blobs(location)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("exit 3",), r"git says: \(nothing, status 3\)"),
        (("echo 'hint: x' >&2", "echo 'fatal: no more' >&2", "exit 1"), "git says: no more$"),
        (
            ("echo 'error: Out of memory, malloc failed' >&2", "exit 1"),
            "more than 1,024 MiB of mem",
        ),
    ],
)
def test_git_fails(
    location: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: tuple[str, ...],
    reason: str,
) -> None:
    """The most severe message of git is the reason."""
    program(tmp_path, monkeypatch, *lines)
    with pytest.raises(SourceError, match=reason):
        run(location, "rev-list")
    with Stream(location, "diff-tree", data=b"") as stream:
        assert stream.output.read() == b""
        with pytest.raises(SourceError, match=reason):
            stream.check()


@pytest.mark.parametrize(
    "answer",
    [
        "echo fatal: gone >&2; exit 1",
        "read line; echo 'fatal: gone' >&2; echo $line blob 100; printf abc; exit 1",
        "read line; echo 'fatal: gone' >&2; echo $line blob 3; printf abc; exit 1",
        "read line; echo 'fatal: gone' >&2; echo what",
    ],
    ids=["nothing", "half a blob", "a blob without its end", "another line"],
)
def test_truncated_blobs(
    location: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """No partial page is read; git's message is the reason, for later reads too."""
    program(tmp_path, monkeypatch, answer)
    with closing(Blobs(location)) as blobs:
        for _ in range(3):
            with pytest.raises(SourceError, match=r"git says: (gone|.nothing)") as caught:
                blobs.read(BLOB, "page.md")
            assert not isinstance(caught.value, BadBlob)


def test_invalid_date_of_a_commit(repository: Made) -> None:
    """A year that no calendar supports is an error that names the commit."""
    repository.commit({ZLIB: page("zlib", "a")})
    tree = repository.git("rev-parse", "HEAD^{tree}")
    who = "a <a@b.org> 99999999999999 +0000"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nfar away\n"
    (repository.folder / "text").write_text(text)
    commit = repository.git("hash-object", "-t", "commit", "-w", "--literally", "text")
    repository.git("update-ref", "HEAD", commit)
    with pytest.raises(SourceError, match=f"commit {commit} has no usable date: 99999999999999"):
        repository.read()


# -- pipes and devices


def test_sockets_and_links(tmp_path: Path) -> None:
    """Sockets fail at once, cyclic links do not loop, and broken links are ignored."""
    (tmp_path / "objects").mkdir()
    (tmp_path / "back").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "packed-refs").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "fsmonitor--daemon.ipc"))
        refuse_pipes(tmp_path, "here")

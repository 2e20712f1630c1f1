"""Repositories are looked through for pipes and devices, wherever git would open a file."""

import os
import socket
from pathlib import Path

import pytest

from snapshots.errors import SourceError
from snapshots.sources.git.repository import refuse_pipes


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a folder with the parts of a repository."""
    for name in ("objects/info", "objects/pack", "objects/ab", "refs/heads"):
        (tmp_path / "bare" / name).mkdir(parents=True)
    (tmp_path / "bare/HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    return tmp_path / "bare"


def test_pipes(repository: Path, tmp_path: Path) -> None:
    """One anywhere in a repository is refused by name; a missing repository is left to git."""
    refuse_pipes(repository, "here")
    refuse_pipes(tmp_path / "nothing", "here")
    os.mkfifo(repository / "objects/pack/x")
    with pytest.raises(SourceError, match="objects/pack/x, but a pipe or a device"):
        refuse_pipes(repository, "here")


def test_a_link_to_a_device(repository: Path) -> None:
    """What a link leads to counts; one that leads nowhere is left to git."""
    (repository / "packed-refs").symlink_to("nowhere")
    refuse_pipes(repository, "here")
    (repository / "config").symlink_to("/dev/zero")
    with pytest.raises(SourceError, match="config, but a pipe or a device"):
        refuse_pipes(repository, "here")


def test_sockets_and_links_to_folders_pass(repository: Path) -> None:
    """To open a socket fails at once, and a link back is no way without an end."""
    (repository / "back").symlink_to(repository, target_is_directory=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(repository / "fsmonitor--daemon.ipc"))
        refuse_pipes(repository, "here")

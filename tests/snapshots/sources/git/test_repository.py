"""Git runs no command that a repository names, within limits; it may be missing or fail."""

import subprocess
import zlib
from collections.abc import Mapping
from hashlib import sha1
from pathlib import Path
from shutil import copytree
from types import MappingProxyType

import pytest

from snapshots.errors import CachelogError, SourceError
from snapshots.sources.git import repository as commands
from snapshots.sources.reports import Report
from tests.snapshots.sources.git.repositories import (
    HDF5,
    ZLIB,
    Repository,
    labels,
    page,
    read_at,
    specs,
)

PROMISOR = {
    "core.repositoryformatversion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
}
"""Settings by which git fetches objects that are missing."""

HTTPS = "https://127.0.0.1:9/pages"


def missing(url: str, settings: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return settings by which git fetches missing objects from a URL, and others."""
    return {**PROMISOR, "remote.origin.url": url, **settings}


ATTRIBUTES = b"* filter=evil diff=evil merge=evil\n*.md filter=evil diff=evil\n"

SETTINGS: dict[str, Mapping[str, str]] = {
    "file system monitor": {"core.fsmonitor": "{command}"},
    "hooks": {"core.hooksPath": "{hooks}"},
    "included settings": {"include.path": "{included}"},
    "settings of a worktree": {"extensions.worktreeConfig": "true"},
    "aliases": {"alias.cat-file": "!{command}", "alias.rev-parse": "!{command}"},
    "pager and editor": {"core.pager": "{command}", "core.editor": "{command}"},
    "pager of a command": {"pager.rev-list": "{command}", "pager.diff-tree": "{command}"},
    "external diff": {"diff.external": "{command}", "diff.evil.command": "{command}"},
    "text conversion": {"diff.evil.textconv": "{command}", "diff.evil.cachetextconv": "false"},
    "filters": {"filter.evil.clean": "{command}", "filter.evil.smudge": "{command}"},
    "filter process": {"filter.evil.process": "{command}", "filter.evil.required": "true"},
    "merge driver": {"merge.evil.driver": "{command}"},
    "signatures": {"log.showSignature": "true", "gpg.program": "{command}"},
    "credentials": {"credential.helper": "!{command}", "core.askPass": "{command}"},
    "references of alternates": {"core.alternateRefsCommand": "{command}"},
    "packing of objects": {"uploadpack.packObjectsHook": "{command}"},
    "a remote's upload-pack": missing("{other}", {"remote.origin.uploadpack": "{command}"}),
    "ssh": missing(
        "ssh://127.0.0.1/pages", {"core.sshCommand": "{command}", "ssh.variant": "simple"}
    ),
    "proxy of git": missing("git://127.0.0.1:9/pages", {"core.gitProxy": "{command}"}),
    "ext": missing("ext::{command}", {"protocol.ext.allow": "always", "protocol.allow": "always"}),
    "another name of a URL": missing(
        HTTPS, {"url.ext::{command}.insteadOf": HTTPS, "protocol.ext.allow": "always"}
    ),
    "a remote like an option": missing("--upload-pack={command}"),
    "a helper of a remote": missing("127.0.0.1", {"remote.origin.vcs": "ext"}),
    "trace": {"trace2.eventTarget": "{marker}", "trace2.normalTarget": "{marker}"},
}


class Trap:
    """A repository that names a command in its settings; the command creates a marker."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.folder = folder / "trap"
        copytree(template, self.folder)
        self.marker, self.command = folder / "marker", folder / "command"
        self.command.write_text(f"#!/bin/sh\ntouch {self.marker}\n")
        self.command.chmod(0o755)
        hooks, included = folder / "hooks", folder / "included"
        hooks.mkdir()
        for hook in ("fsmonitor-watchman", "post-index-change", "reference-transaction"):
            (hooks / hook).symlink_to(self.command)
        included.write_text(f"[core]\n\tfsmonitor = {self.command}\n")
        (self.folder / ".git/config.worktree").write_text(included.read_text())
        self._paths = {"hooks": hooks, "included": included, "other": self.folder}

    def set(self, settings: Mapping[str, str]) -> None:
        """Write settings into the configuration of the repository."""
        paths = {"command": self.command, "marker": self.marker, **self._paths}
        for name, value in settings.items():
            git(self.folder, "config", name.format(**paths), value.format(**paths))

    def lose(self, path: str) -> None:
        """Delete the object of a file, so that git would have to fetch it."""
        blob = git(self.folder, "rev-parse", f"HEAD:{path}").strip()
        (self.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()

    def is_sprung(self) -> bool:
        """Return whether the command ran."""
        return self.marker.exists()


def git(folder: Path, *command: str) -> str:
    """Run git in a folder as users do, and return its output, even if it fails."""
    done = subprocess.run(["git", *command], cwd=folder, capture_output=True, check=False)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository of two pages, with attributes that name filters."""
    repository = Repository(tmp_path_factory.mktemp("template") / "repository")
    repository.commit({ZLIB: page("zlib", "a"), ".gitattributes": ATTRIBUTES})
    repository.commit({HDF5: page("hdf5", "b")})
    return repository.folder


@pytest.fixture
def trap(tmp_path: Path, template: Path) -> Trap:
    """Return a repository without a trap yet."""
    return Trap(tmp_path, template)


@pytest.mark.parametrize("is_url", [False, True], ids=["folder", "url"])
@pytest.mark.parametrize(
    "way", [way for way, named in SETTINGS.items() if PROMISOR.items() <= named.items()]
)
def test_no_command_of_a_repository_runs(
    trap: Trap, tmp_path: Path, way: str, is_url: bool
) -> None:
    """No command runs, wherever the configuration has missing objects fetched from."""
    trap.set(SETTINGS[way])
    trap.lose(HDF5)
    location = trap.folder.as_uri() if is_url else str(trap.folder)
    states = read_at(location, tmp_path)
    with pytest.raises(CachelogError):
        list(states)
    assert not trap.is_sprung()


@pytest.mark.parametrize("is_url", [False, True], ids=["folder", "url"])
def test_repository_with_all_traps(trap: Trap, tmp_path: Path, is_url: bool) -> None:
    """A repository without missing objects is read, and no command runs."""
    for settings in SETTINGS.values():
        if not (is_url and PROMISOR.items() <= settings.items()):
            trap.set(settings)
    states = list(read_at(trap.folder.as_uri() if is_url else str(trap.folder), tmp_path))
    assert [labels(state) for state in states] == [specs(zlib="a"), specs(zlib="a", hdf5="b")]
    assert not trap.is_sprung()


@pytest.mark.parametrize(
    ("way", "command"),
    [
        ("file system monitor", ("status",)),
        ("included settings", ("status",)),
        ("a remote's upload-pack", ("cat-file", "-p", f"HEAD:{HDF5}")),
        ("ssh", ("cat-file", "-p", f"HEAD:{HDF5}")),
        ("filters", ("checkout", "HEAD", "--", ".")),
    ],
)
def test_traps_work(trap: Trap, way: str, command: tuple[str, ...]) -> None:
    """Git itself runs the command in such a repository, so the tests above can fail."""
    trap.set(SETTINGS[way])
    (trap.folder / ZLIB).unlink()
    if "cat-file" in command:
        trap.lose(HDF5)
    git(trap.folder, *command)
    assert trap.is_sprung()


@pytest.mark.parametrize(
    "url",
    [
        "ssh://-oProxyCommand={command}/pages",
        "-oProxyCommand={command}:pages",
        "ext::{command}",
        "ext://{command}",
        "file://{command}",
        "--upload-pack={command}",
    ],
)
def test_urls_with_commands(trap: Trap, tmp_path: Path, url: str) -> None:
    """URLs that git or ssh would interpret as commands are refused."""
    location = url.format(command=trap.command)
    states = read_at(location, tmp_path)
    with pytest.raises(CachelogError):
        list(states)
    assert not trap.is_sprung()


def test_shallow_clones(repository: Repository, tmp_path: Path) -> None:
    """The end of a shallow history is found."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({ZLIB: page("zlib", "b")})
    shallow = str(tmp_path / "shallow")
    repository.git("clone", "--quiet", "--depth=1", repository.folder.as_uri(), shallow)
    (state,) = read_at(shallow)
    assert labels(state) == specs(zlib="b")


def test_large_page(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a page is checked before it is read; --skip-bad leaves it out."""
    monkeypatch.setattr(commands, "MAX_PAGE_BYTES", 1000)
    commit = repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b") + b"\n" * 1000})
    with pytest.raises(SourceError, match="contains more than 1,000 bytes") as caught:
        repository.read()
    assert caught.value.location == f"{commit[:12]}:{HDF5}"
    report = Report(skip_bad=True)
    (state,) = repository.read(report=report)
    assert labels(state) == specs(zlib="a")
    assert [error.location for error in report.skipped] == [caught.value.location]


def test_bomb_of_trees(repository: Repository) -> None:
    """Ten levels of trees with ten entries each, of which only two levels are read."""
    repository.commit({ZLIB: page("zlib", "a")})
    inner = repository.git("rev-parse", f"HEAD:{ZLIB}")
    mode = "100644"
    for _ in range(10):
        entries = b"".join(
            f"{mode} {number}.md\0".encode() + bytes.fromhex(inner) for number in range(10)
        )
        inner, mode = _written_tree(repository.folder, entries), "40000"
    tree = _written_tree(repository.folder, b"40000 _cache\0" + bytes.fromhex(inner))
    commit = repository.git("commit-tree", tree, "-p", "HEAD", "-m", "Change pages")
    repository.git("update-ref", "HEAD", commit)
    (state,) = repository.read()
    assert labels(state) == specs(zlib="a")


def _written_tree(folder: Path, entries: bytes) -> str:
    data = b"tree %d\0" % len(entries) + entries
    name = sha1(data, usedforsecurity=False).hexdigest()
    file = folder / ".git/objects" / name[:2] / name[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(data))
    return name

"""A repository is read without running what it names, and without growing beyond bounds."""

import subprocess
import zlib
from collections.abc import Mapping
from hashlib import sha1
from os import mkfifo
from pathlib import Path
from shutil import copytree, rmtree

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

ATTRIBUTES = b"* filter=evil diff=evil merge=evil\n*.md filter=evil diff=evil\n"

SETTINGS: dict[str, Mapping[str, str]] = {
    "file system monitor": {"core.fsmonitor": "{command}"},
    "hooks": {"core.hooksPath": "{hooks}"},
    "included settings": {"include.path": "{included}"},
    "settings of a worktree": {"extensions.worktreeConfig": "true"},
    "aliases": {
        f"alias.{command_name}": "!{command}"
        for command_name in ("cat-file", "diff-tree", "rev-parse")
    },
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
    "a remote's upload-pack": {
        **PROMISOR,
        "remote.origin.url": "{other}",
        "remote.origin.uploadpack": "{command}",
    },
    "ssh": {
        **PROMISOR,
        "remote.origin.url": "ssh://127.0.0.1/pages",
        "core.sshCommand": "{command}",
        "ssh.variant": "simple",
    },
    "proxy of git": {
        **PROMISOR,
        "remote.origin.url": "git://127.0.0.1:9/pages",
        "core.gitProxy": "{command}",
    },
    "ext": {
        **PROMISOR,
        "remote.origin.url": "ext::{command}",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
    },
    "another name of a URL": {
        **PROMISOR,
        "remote.origin.url": "https://127.0.0.1:9/pages",
        "url.ext::{command}.insteadOf": "https://127.0.0.1:9/pages",
        "protocol.ext.allow": "always",
    },
    "a remote like an option": {**PROMISOR, "remote.origin.url": "--upload-pack={command}"},
    "a helper of a remote": {
        **PROMISOR,
        "remote.origin.url": "127.0.0.1",
        "remote.origin.vcs": "ext",
    },
    "trace": {"trace2.eventTarget": "{marker}", "trace2.normalTarget": "{marker}"},
}


class Trap:
    """A repository that names a command wherever it can; the command leaves a marker."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.folder = folder / "trap"
        copytree(template, self.folder)
        self.marker = folder / "marker"
        self.command = folder / "command"
        self.command.write_text(f"#!/bin/sh\ntouch {self.marker}\n")
        self.command.chmod(0o755)
        self.hooks = folder / "hooks"
        self.hooks.mkdir()
        for hook in ("fsmonitor-watchman", "post-index-change", "reference-transaction"):
            (self.hooks / hook).symlink_to(self.command)
        self.included = folder / "included"
        self.included.write_text(f"[core]\n\tfsmonitor = {self.command}\n")
        (self.folder / ".git/config.worktree").write_text(self.included.read_text())

    def set(self, settings: Mapping[str, str]) -> None:
        """Write settings into the repository's own configuration."""
        places = {
            "command": self.command,
            "hooks": self.hooks,
            "included": self.included,
            "marker": self.marker,
            "other": self.folder,
        }
        for name, value in settings.items():
            git(self.folder, "config", name.format(**places), value.format(**places))

    def lose(self, path: str) -> None:
        """Delete the object of a file, so that git would have to fetch it."""
        blob = git(self.folder, "rev-parse", f"HEAD:{path}").strip()
        (self.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()

    def is_sprung(self) -> bool:
        """Tell whether the command ran."""
        return self.marker.exists()


def git(folder: Path, *command: str) -> str:
    """Run git in a folder as its users do, and return what it prints, whether it fails or not."""
    done = subprocess.run(["git", *command], cwd=folder, capture_output=True, check=False)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of two pages, with attributes that name filters."""
    repository = Repository(tmp_path_factory.mktemp("template") / "repository")
    repository.commit({ZLIB: page("zlib", "a"), ".gitattributes": ATTRIBUTES})
    repository.commit({HDF5: page("hdf5", "b")})
    return repository.folder


@pytest.fixture
def trap(tmp_path: Path, template: Path) -> Trap:
    """Make a repository without a trap in it yet."""
    return Trap(tmp_path, template)


@pytest.mark.parametrize("is_url", [False, True], ids=["folder", "url"])
@pytest.mark.parametrize(
    "way", [way for way, named in SETTINGS.items() if PROMISOR.items() <= named.items()]
)
def test_nothing_that_a_repository_names_is_run(
    trap: Trap, tmp_path: Path, way: str, is_url: bool
) -> None:
    """Wherever its configuration says that missing objects come from, no command runs."""
    trap.set(SETTINGS[way])
    trap.lose(HDF5)
    location = trap.folder.as_uri() if is_url else str(trap.folder)
    found = read_at(location, tmp_path)
    with pytest.raises(CachelogError):
        list(found)
    assert not trap.is_sprung()


@pytest.mark.parametrize("is_url", [False, True], ids=["folder", "url"])
def test_settings_of_a_repository_do_not_keep_it_from_being_read(
    trap: Trap, tmp_path: Path, is_url: bool
) -> None:
    """With all traps at once, a repository that lacks nothing is read, and no command runs."""
    for settings in SETTINGS.values():
        if not (is_url and PROMISOR.items() <= settings.items()):
            trap.set(settings)
    found = list(read_at(trap.folder.as_uri() if is_url else str(trap.folder), tmp_path))
    assert [labels(made) for made in found] == [specs(zlib="a"), specs(zlib="a", hdf5="b")]
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
def test_the_traps_work(trap: Trap, way: str, command: tuple[str, ...]) -> None:
    """Git itself, run in such a repository, runs the command: the tests above can fail."""
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
        "ext::sh -c {command}%S",
        "ext://{command}",
        "fd::17",
        "file://{command}",
        "--upload-pack={command}",
    ],
)
def test_urls_that_name_commands(trap: Trap, tmp_path: Path, url: str) -> None:
    """A URL that git or ssh would take for a command is refused."""
    location = url.format(command=trap.command)
    found = read_at(location, tmp_path)
    with pytest.raises(CachelogError):
        list(found)
    assert not trap.is_sprung()


def test_worktrees_and_shallow_clones_are_read(repository: Repository, tmp_path: Path) -> None:
    """What belongs to a repository in other places is found: objects, and where history ends."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({ZLIB: page("zlib", "b")})
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "HEAD~1")
    repository.git(
        "clone", "--quiet", "--depth=1", repository.folder.as_uri(), str(tmp_path / "shallow")
    )
    for folder, expected in ("tree", specs(zlib="a")), ("shallow", specs(zlib="b")):
        location = str(tmp_path / folder)
        (found,) = read_at(location)
        assert labels(found) == expected


def test_a_large_page_is_refused_by_its_size(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page is asked how large it is before it is read; --skip-bad leaves it out."""
    monkeypatch.setattr(commands, "MAX_PAGE_BYTES", 1000)
    commit = repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b") + b"\n" * 1000})
    with pytest.raises(SourceError, match="holds more than 1,000 bytes") as caught:
        repository.read()
    assert caught.value.location == f"{commit[:12]}:{HDF5}"
    report = Report(skip_bad=True)
    (found,) = repository.read(report=report)
    assert labels(found) == specs(zlib="a")
    assert [error.location for error in report.skipped] == [caught.value.location]


def test_a_bomb_of_trees_is_refused(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten trees that each hold the next ten times name ten thousand million paths."""
    monkeypatch.setattr(commands, "MAX_MEMORY", 64 << 20)
    repository.commit({ZLIB: page("zlib", "a")})
    inner = repository.git("rev-parse", f"HEAD:{ZLIB}")
    mode = "100644"
    for _ in range(10):
        entries = b"".join(
            f"{mode} {number}.md\0".encode() + bytes.fromhex(inner) for number in range(10)
        )
        inner, mode = _written_tree(repository.folder, entries), "40000"
    _written_commit(repository, b"40000 _cache\0" + bytes.fromhex(inner))
    with pytest.raises(SourceError, match="it needs more than 64 MiB of memory: too many paths"):
        repository.read()


def test_commits_that_change_too_many_paths(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What git itself can still hold is bounded as well, in one commit and in all."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({ZLIB: page("zlib", "b"), HDF5: page("hdf5", "b")})
    monkeypatch.setattr(commands, "MAX_CHANGES_IN_ALL", 2)
    with pytest.raises(SourceError, match="its commits change more than 2 paths"):
        repository.read()
    monkeypatch.setattr(commands, "MAX_CHANGES", 1)
    with pytest.raises(SourceError, match="a commit changes more than 1 paths"):
        repository.read()


def _written_tree(folder: Path, entries: bytes) -> str:
    data = b"tree %d\0" % len(entries) + entries
    name = sha1(data, usedforsecurity=False).hexdigest()
    file = folder / ".git/objects" / name[:2] / name[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(data))
    return name


def _written_commit(repository: Repository, entries: bytes) -> None:
    tree = _written_tree(repository.folder, entries)
    commit = repository.git("commit-tree", tree, "-p", "HEAD", "-m", "Change pages")
    repository.git("update-ref", "HEAD", commit)


def lend(repository: Repository, *folders: Path | str) -> None:
    """Let a repository borrow objects from other folders."""
    lines = "".join(f"{folder}\n" for folder in folders)
    (repository.folder / ".git/objects/info").mkdir(exist_ok=True)
    (repository.folder / ".git/objects/info/alternates").write_text(f"# a remark\n{lines}")


def test_folders_that_objects_are_borrowed_from(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may hold anything but objects, and their number is bounded."""
    monkeypatch.setattr(commands, "_MAX_ALTERNATES", 4)
    repository.commit({ZLIB: page("zlib", "a")})
    (tmp_path / "lender0").mkdir()
    mkfifo(tmp_path / "lender0/else")
    lenders = [tmp_path / f"lender{number}" for number in range(4)]
    lend(repository, *lenders[:3])
    assert list(read_at(str(repository.folder)))
    lend(repository, *lenders)
    with pytest.raises(SourceError, match="borrows objects from 4 folders or more"):
        list(read_at(str(repository.folder)))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".git/HEAD", "device"),
        (".git/objects/info/x", "pipe"),
        (".git", "pipe"),
        ("../other/ab/cdef", "pipe"),
        ("../in quotes\n/ab/cdef", "pipe"),
    ],
)
def test_pipes_and_devices_do_not_stop_git(repository: Repository, path: str, kind: str) -> None:
    """Nothing is opened that nobody writes to, or that never ends; the error names it."""
    repository.commit({ZLIB: page("zlib", "a")})
    in_quotes = f'"{repository.folder}/../in\\040quotes\\n"'
    lend(repository, repository.folder / "../other", "/nowhere", in_quotes, "a\0b", "../objects")
    file = repository.folder / path
    if file.is_dir():
        rmtree(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if kind == "pipe":
        mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(SourceError, match="but a pipe or a device"):
        list(read_at(str(repository.folder)))


def test_settings_that_never_end(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe may stand anywhere that settings include; git is not waited for then."""
    repository.commit({ZLIB: page("zlib", "a")})
    mkfifo(tmp_path / "pipe")
    repository.git("config", "include.path", str(tmp_path / "pipe"))
    monkeypatch.setattr(commands, "_LONGEST_LOOK", 0.2)
    with pytest.raises(SourceError, match=r"git took longer than 0\.2 s"):
        list(read_at(str(repository.folder)))

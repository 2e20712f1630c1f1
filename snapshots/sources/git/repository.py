"""Commits, trees and blobs of a repository, read with the git program.

The program is used rather than a library: it is available wherever such repositories are, it
supports every transport and pack format, and it streams. Only plumbing commands are called, whose
output does not depend on the user's settings.

A repository's own configuration can name commands that git then executes (``core.fsmonitor``,
``core.sshCommand``, remotes from which missing objects are fetched ...). Therefore, all commands
run in a folder of cachelog, and only the objects of a local repository are used. All are limited in
time: git waits indefinitely for a pipe in place of a file.
"""

import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from types import MappingProxyType, TracebackType
from typing import IO, Self

import msgspec

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.pages.front_matter import MAX_PAGE_BYTES

# -- commands

SCHEMES = ("file", "git", "http", "https", "ssh")
"""The URL schemes that git may open; others, such as ``ext``, can execute commands."""

MAX_MEMORY = 1 << 30
"""Maximum memory of a git command that reads a repository, in bytes."""

LONGEST_LOOK = 10.0
"""Seconds to read the settings of a repository, which may include an endless file."""

_MAX_SECONDS = 3_600.0
_MAX_STREAM_SECONDS = 86_400.0  # while its output is read, contents are parsed and published

_SETTINGS = {
    "GIT_ALLOC_LIMIT": str(MAX_MEMORY),
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OUT_OF_MEMORY = ("out of memory", "attempting to allocate")
# These override a repository's own settings, for the commands that must read those.
_OVERRIDES = {
    "core.alternateRefsCommand": "false",
    "core.bigFileThreshold": "16m",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "fetch.uriProtocols": "",  # otherwise a server can name further URLs to fetch
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
    "protocol.ext.allow": "never",
    "transfer.bundleURI": "false",
}
# Git sets these for its hooks. A command started by a hook would use them for another repository.
_SET_FOR_HOOKS = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)


class Repository(msgspec.Struct, frozen=True):
    """A bare repository of cachelog, and the location that names it in errors and sources.

    ``objects`` is the folder of its objects if they are elsewhere. ``network`` is for fetching
    objects that its clone lacks. If ``is_own`` is false, it is in a folder of the user.
    """

    folder: Path
    location: str
    objects: Path | None = None
    network: "Network | None" = None
    is_own: bool = True


class Network(msgspec.Struct, frozen=True):
    """Network access of a command: the allowed ``protocols``, and a limit of ``seconds``.

    ``config`` has git settings for the command.
    """

    protocols: tuple[str, ...] = ()
    seconds: float = _MAX_SECONDS
    config: Mapping[str, str] = MappingProxyType({})


_NONE = Network()


def run(
    repository: Repository, *command: str, data: bytes = b"", network: Network = _NONE
) -> bytes:
    """Run a git command with ``data`` as its input, and return its output.

    Raises SourceError if git fails, exceeds the time limit of ``network`` (by default one hour), or
    is not installed.
    """
    with Stream(
        repository, *command, data=data, network=network, seconds=network.seconds
    ) as stream:
        output = stream.output.read()
        stream.check()
        return output


def discover(folder: Path, location: str, *question: str) -> bytes:
    """Return the output of ``git rev-parse`` for the repository in a folder of the user.

    Only this command reads the configuration of that repository; it executes nothing named there.
    Therefore, the repository can belong to another user, as on a read-only mount: git would reject
    it, unless its folder, and no other, is declared safe. Raises SourceError, with ``location``, if
    there is no repository.
    """
    place = folder.resolve()
    network = Network(seconds=LONGEST_LOOK, config={"safe.directory": str(place)})
    return run(Repository(place, location, is_own=False), "rev-parse", *question, network=network)


class Stream:
    """A git command that runs during a ``with`` block, and is killed on exit or after ``seconds``.

    Its input is ``data``, or is written to ``input`` if ``data`` is None. Its memory is limited, as
    small trees that refer to each other could exhaust it. With network access there is no limit:
    git writes packs of any size to disk. Entering raises SourceError if git is not installed.
    """

    input: IO[bytes]
    output: IO[bytes]

    def __init__(
        self,
        repository: Repository,
        *command: str,
        data: bytes | None = None,
        network: Network = _NONE,
        seconds: float = _MAX_STREAM_SECONDS,
    ) -> None:
        self._repository = repository
        self._command = ["git", *command]
        self._data = data
        self._network = network
        self._seconds = seconds
        self._is_overdue = False
        self._open = ExitStack()

    def __enter__(self) -> Self:
        # Files for standard input and error, as additional pipes could cause a deadlock.
        self._stderr = self._open.enter_context(TemporaryFile())
        input_file = self._open.enter_context(TemporaryFile())
        if self._data is not None:
            input_file.write(self._data)
            input_file.seek(0)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - callers put no option in unseen
                self._command,
                cwd=self._repository.folder,
                env=_environment(self._repository, self._network),
                stdin=subprocess.PIPE if self._data is None else input_file,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
            )
        except OSError as error:
            self._open.close()
            reason = f"git cannot be started: {error.strerror}"
            if isinstance(error, FileNotFoundError):
                reason = "git is needed to read it, and is not installed"
            raise SourceError(self._repository.location, reason) from None
        if not self._network.protocols and sys.platform == "linux":
            with suppress(OSError, ValueError):  # it has already exited, or has a lower limit
                resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        timer = Timer(self._seconds, self._expire)
        timer.daemon = True
        timer.start()
        self._open.callback(timer.cancel)
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        self.input = self._process.stdin or input_file
        self.output = self._process.stdout
        return self

    def _expire(self) -> None:
        self._is_overdue = True
        self._process.kill()

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # if the command exited before it read all input
                self._process.stdin.close()
        with self._open, self._process:
            pass

    def check(self) -> None:
        """Wait for the command to exit. Raises SourceError if it failed."""
        if self._process.wait():
            raise self.failure()

    def failure(self) -> SourceError:
        """Return the error for truncated output."""
        self._process.kill()
        status = self._process.wait()
        if self._is_overdue:
            reason = f"git took longer than {self._seconds:,g} s"
            return SourceError(self._repository.location, reason)
        self._stderr.seek(0)
        return _failed(self._repository, self._stderr.read(), status)


def _environment(repository: Repository, network: Network) -> dict[str, str]:
    """Return the environment of a command that works in a repository."""
    # Do not search parent folders: a folder in a working tree is not that repository.
    paths = {"GIT_CEILING_DIRECTORIES": str(repository.folder.parent)}
    if repository.is_own:
        paths = {"GIT_DIR": str(repository.folder)}
    if repository.objects is not None:
        paths["GIT_OBJECT_DIRECTORY"] = str(repository.objects)
    inherited = {name: value for name, value in os.environ.items() if name not in _SET_FOR_HOOKS}
    config = {**_OVERRIDES, **network.config}
    overrides = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (name, value) in enumerate(config.items()):
        overrides |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    # For git, an empty list means all protocols that its settings allow.
    allowed = {"GIT_ALLOW_PROTOCOL": ":".join(network.protocols) or "none"}
    return inherited | _SETTINGS | overrides | allowed | paths


def _failed(repository: Repository, stderr: bytes, status: int) -> SourceError:
    lines = stderr.decode(errors="replace").splitlines() or [f"(nothing, status {status})"]
    errors = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    reason = (errors or lines)[0].removeprefix("fatal: ").removeprefix("error: ")
    if any(words in reason.lower() for words in _OUT_OF_MEMORY):
        limit = f"{MAX_MEMORY >> 20:,} MiB"
        reason = f"it needs more than {limit} of memory: too many paths, or too large an object"
    return SourceError(repository.location, f"git says: {reason}")


# -- commits, trees and blobs

_CHUNK = 1 << 16
_REGULAR_FILE = b"100"
_FOLDER = b"40000"


class PagesCommit(msgspec.Struct, frozen=True):
    """A commit that changed the folder of pages; ``tree`` is that of the folder, if it has one."""

    hash: str
    time: datetime
    tree: str | None

    @property
    def short(self) -> str:
        """The abbreviated hash for messages."""
        return self.hash[:12]


def folder_path(path: str) -> str:
    """Return a folder's path in a repository without superfluous slashes; empty for the root.

    Raises InvalidArgument if the path leads out of the repository or cannot be passed to git.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\n" in path or "\0" in path:
        raise InvalidArgument("--path", f"{path!r} is not the path of a folder in a repository")
    return "/".join(parts)


def commits_of(repository: Repository, folder: str) -> list[PagesCommit]:
    """Return the commits on HEAD's first-parent line that changed a folder, oldest first.

    Times are the committers', in UTC. Raises SourceError if no commit contains the folder.
    """
    listed = run(repository, "rev-list", "--first-parent", "--reverse", "--timestamp", "HEAD", "--")
    lines = [line.split() for line in listed.decode().splitlines()]
    requests = "".join(f"{commit}:{folder}\n" for _, commit in lines)
    check = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    answers = run(repository, *check, data=requests.encode(errors="surrogateescape")).split(b"\n")
    tree: str | None = None
    commits = []
    for (seconds, commit), answer in zip(lines, answers, strict=False):
        name, _, kind = answer.decode(errors="replace").rpartition(" ")
        before, tree = tree, name if kind == "tree" else None
        if tree != before:
            commits.append(PagesCommit(commit, _moment(repository, commit, seconds), tree))
    if not commits:
        raise SourceError(repository.location, f"no commit has a folder {folder or '/'}")
    return commits


def _moment(repository: Repository, commit: str, seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        reason = f"commit {commit} has no usable date: {seconds}"
        raise SourceError(repository.location, reason) from None


def fields_of(stream: Stream) -> Iterator[bytes]:
    """Split the output at NUL, reading only as far as requested. Raises SourceError."""
    rest = b""
    while chunk := stream.output.read(_CHUNK):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    stream.check()
    yield rest


class BadObject(SourceError):
    """An object that is missing or too large."""


class Objects:
    """Reads blobs and trees, one after another, from a running ``git cat-file --batch``.

    The constructor raises SourceError if git cannot be started. The methods raise BadObject, with
    ``location``, if an object is missing or too large for a page, and SourceError if git fails.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._stream = self._opened()

    def read(self, name: str, location: str) -> bytes:
        """Return the bytes of an object."""
        try:
            self._stream.input.write(name.encode() + b"\n")
            self._stream.input.flush()
        except BrokenPipeError:
            raise self._stream.failure() from None
        answer = self._stream.output.readline().split()
        if answer[-1:] == [b"missing"]:
            raise BadObject(location, f"the repository lacks its object {name}")
        if len(answer) != 3:
            raise self._stream.failure()
        size = int(answer[2])
        if size > MAX_PAGE_BYTES:
            # Git sends the size first. It is killed before it decompresses and writes the content.
            self.close()
            self._stream = self._opened()
            raise BadObject(location, f"contains more than {MAX_PAGE_BYTES:,} bytes")
        data = self._stream.output.read(size + 1)
        if len(data) <= size:
            raise self._stream.failure()
        return data[:-1]

    def folders(self, tree: str, location: str) -> dict[str, str]:
        """Return the trees of the folders in a tree by name, without hidden ones."""
        return {
            name: inner
            for mode, name, inner in self._entries(tree, location)
            if mode == _FOLDER and not name.startswith(".")
        }

    def file(self, tree: str, name: str, location: str) -> str | None:
        """Return the blob of the regular file with a name in a tree; None if there is none."""
        for mode, found, blob in self._entries(tree, location):
            if found == name and mode.startswith(_REGULAR_FILE):
                return blob
        return None

    def _entries(self, tree: str, location: str) -> Iterator[tuple[bytes, str, str]]:
        """Yield the mode, name and object of each entry of a tree: MODE NAME, NUL, binary hash."""
        entry = rb"(\d+) ([^\0]+)\0(.{%d})" % (len(tree) // 2)
        for match in re.finditer(entry, self.read(tree, location), re.S):
            yield match[1], match[2].decode(errors="backslashreplace"), match[3].hex()

    def close(self) -> None:
        """Terminate the command."""
        self._stream.__exit__(None, None, None)

    def _opened(self) -> Stream:
        return Stream(self._repository, "cat-file", "--batch").__enter__()

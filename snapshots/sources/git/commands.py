"""Git's own program, run on a repository.

The program rather than a library: it is wherever such repositories are, it knows every transport
and pack format, and it streams. Only plumbing is called, whose output no user's settings change.

A repository's own configuration can name commands that git then runs (``core.fsmonitor``,
``core.sshCommand``, remotes that missing objects are fetched from ...). So all commands work in a
folder of cachelog's own, and of a repository on this machine only the objects are used.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType, TracebackType
from typing import IO, NamedTuple, Self

from snapshots.errors import SourceError

SCHEMES = ("file", "git", "http", "https", "ssh")
"""The schemes of URLs that git may open; others, such as ``ext``, can run commands."""

MAX_MEMORY = 1 << 30
"""How many bytes of memory a git command may fill that reads a repository."""

_LONGEST_RUN = 3_600.0
_LONGEST_LOOK = 10.0  # a setting may include a file that never ends

_SETTINGS = {
    "GIT_ALLOC_LIMIT": str(MAX_MEMORY),
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OUT_OF_MEMORY = ("out of memory", "attempting to allocate")
# They stand above a repository's own settings, for the commands that must see those.
_OVERRIDES = {
    "core.alternateRefsCommand": "false",
    "core.bigFileThreshold": "16m",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "fetch.uriProtocols": "",  # else a server can name URLs to fetch more from
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
    "protocol.ext.allow": "never",
    "transfer.bundleURI": "false",
}
# Git sets these for its hooks; a command run from one would follow them to another repository.
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


class Repository(NamedTuple):
    """A bare repository of cachelog's own, and the location that names it in errors and sources.

    Where ``objects`` is given, that folder holds its objects.
    """

    folder: Path
    location: str
    objects: Path | None = None


class Network(NamedTuple):
    """How a command may talk to others: by these ``protocols`` alone, and for some ``seconds``.

    ``config`` has settings of git that are in force for the command.
    """

    protocols: tuple[str, ...] = ()
    seconds: float = _LONGEST_RUN
    config: Mapping[str, str] = MappingProxyType({})


_NONE = Network()


def run(
    repository: Repository, *command: str, data: bytes = b"", network: Network = _NONE
) -> bytes:
    """Run a git command that reads ``data`` and return what it writes.

    Raises SourceError where git fails, takes longer than ``network`` allows or than an hour, or is
    not installed.
    """
    environment = _environment(repository, network)
    # What it brings from elsewhere may be a pack of any size, which git writes to disk.
    is_bounded = not network.protocols
    return _run(repository, command, environment, data, network.seconds, is_bounded=is_bounded)


def discover(folder: Path, location: str, *question: str) -> bytes:
    """Return what ``git rev-parse`` says of the repository in a folder of the user's.

    This alone reads the configuration of that repository; it runs nothing that stands there. So
    it may be another user's, as one is that is mounted read-only: git would refuse it otherwise,
    and is told that this folder, and none else, is safe. Raises SourceError, naming ``location``,
    where there is no repository.
    """
    place = folder.resolve()
    network = Network(config={"safe.directory": str(place)})
    # A folder in a working tree is not that repository.
    environment = _variables(network) | {"GIT_CEILING_DIRECTORIES": str(place.parent)}
    command = ("rev-parse", *question)
    return _run(Repository(folder, location), command, environment, seconds=_LONGEST_LOOK)


def _run(
    repository: Repository,
    command: Sequence[str],
    environment: dict[str, str],
    data: bytes = b"",
    seconds: float = _LONGEST_RUN,
    *,
    is_bounded: bool = True,
) -> bytes:
    try:
        with subprocess.Popen(  # noqa: S603 - callers put no option into the command unseen
            ["git", *command],  # noqa: S607 - which git is the user's choice
            cwd=repository.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                if is_bounded:
                    _bound(process)
                output, complaints = process.communicate(data, seconds)
            except BaseException:
                process.kill()
                raise
    except subprocess.TimeoutExpired:
        raise SourceError(repository.location, f"git took longer than {seconds:,g} s") from None
    except OSError as error:
        raise _not_started(repository, error) from None
    if process.returncode:
        raise _failed(repository, complaints, process.returncode)
    return output


def _bound(process: "subprocess.Popen[bytes]") -> None:
    """Limit the memory of a command, which small trees that name each other could fill."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):  # it ended already, or has a lower limit
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))


class Stream:
    """A git command that runs during a ``with`` block, and is killed at its end.

    It reads ``data``, or what is written to ``input`` if ``data`` is None. Entering raises
    SourceError where git is not installed.
    """

    input: IO[bytes]
    output: IO[bytes]

    def __init__(self, repository: Repository, *command: str, data: bytes | None = None) -> None:
        self._repository = repository
        self._command = ["git", *command]
        self._data = data
        self._open = ExitStack()

    def __enter__(self) -> Self:
        # Files for the input and for complaints: two more pipes could block one another.
        self._complaints = self._open.enter_context(TemporaryFile())
        input_file = self._open.enter_context(TemporaryFile())
        if self._data is not None:
            input_file.write(self._data)
            input_file.seek(0)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - as in run()
                self._command,
                cwd=self._repository.folder,
                env=_environment(self._repository),
                stdin=subprocess.PIPE if self._data is None else input_file,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
            )
        except OSError as error:
            self._open.close()
            raise _not_started(self._repository, error) from None
        _bound(self._process)
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        self.input = self._process.stdin or input_file
        self.output = self._process.stdout
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # of what a command that ended did not read any more
                self._process.stdin.close()
        with self._open, self._process:
            pass

    def check(self) -> None:
        """Wait for the end of the command and raise SourceError where it failed."""
        if self._process.wait():
            raise self.failure()

    def failure(self) -> SourceError:
        """Return the error for output that ended too early."""
        self._process.kill()
        status = self._process.wait()
        self._complaints.seek(0)
        return _failed(self._repository, self._complaints.read(), status)


def _environment(repository: Repository, network: Network = _NONE) -> dict[str, str]:
    """Return the variables of a command that works in a repository of cachelog's own."""
    own = {"GIT_DIR": str(repository.folder)}
    if repository.objects is not None:
        own["GIT_OBJECT_DIRECTORY"] = str(repository.objects)
    return _variables(network) | own


def _variables(network: Network) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _SET_FOR_HOOKS}
    config = {**_OVERRIDES, **network.config}
    overrides = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (name, value) in enumerate(config.items()):
        overrides |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    # Git takes an empty list for all that its settings allow.
    allowed = {"GIT_ALLOW_PROTOCOL": ":".join(network.protocols) or "none"}
    return kept | _SETTINGS | overrides | allowed


def _not_started(repository: Repository, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(repository.location, "git is needed to read it, and is not installed")
    return SourceError(repository.location, f"git cannot be started: {error.strerror}")


def _failed(repository: Repository, complaints: bytes, status: int) -> SourceError:
    lines = complaints.decode(errors="replace").splitlines() or [f"(nothing, status {status})"]
    graver = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    reason = (graver or lines)[0].removeprefix("fatal: ").removeprefix("error: ")
    if any(words in reason.lower() for words in _OUT_OF_MEMORY):
        limit = f"{MAX_MEMORY >> 20:,} MiB"
        reason = f"it needs more than {limit} of memory: too many paths, or too large an object"
    return SourceError(repository.location, f"git says: {reason}")

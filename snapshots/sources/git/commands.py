"""Git's own program, run on a repository.

The program rather than a library: it is wherever such repositories are, it knows every transport
and pack format, and it streams. Only plumbing is called, whose output no user's settings change.
"""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, NamedTuple, Self

from snapshots.errors import SourceError

SCHEMES = ("file", "git", "http", "https", "ssh")
"""The schemes of URLs that git may open; others, such as ``ext``, can run commands."""

_SETTINGS = {
    "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
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
    """A folder that git can work in, and the location that names it in errors and sources."""

    folder: Path
    location: str


def run(repository: Repository, *command: str, data: bytes = b"") -> bytes:
    """Run a git command that reads ``data`` and return what it writes.

    Raises SourceError where git fails or is not installed.
    """
    try:
        done = subprocess.run(  # noqa: S603 - callers put no option into the command unseen
            ["git", *command],  # noqa: S607 - which git is the user's choice
            cwd=repository.folder,
            env=_environment(repository.folder),
            input=data,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise _not_started(repository, error) from None
    if done.returncode:
        raise _failed(repository, done.stderr, done.returncode)
    return done.stdout


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
                env=_environment(self._repository.folder),
                stdin=subprocess.PIPE if self._data is None else input_file,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
            )
        except OSError as error:
            self._open.close()
            raise _not_started(self._repository, error) from None
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


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _SET_FOR_HOOKS}
    # A folder in a working tree is not that repository.
    return kept | _SETTINGS | {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}


def _not_started(repository: Repository, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(repository.location, "git is needed to read it, and is not installed")
    return SourceError(repository.location, f"git cannot be started: {error.strerror}")


def _failed(repository: Repository, complaints: bytes, status: int) -> SourceError:
    lines = complaints.decode(errors="replace").splitlines() or [f"(nothing, status {status})"]
    graver = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    reason = (graver or lines)[0].removeprefix("fatal: ").removeprefix("error: ")
    return SourceError(repository.location, f"git says: {reason}")

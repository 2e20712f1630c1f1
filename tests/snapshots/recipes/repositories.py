"""Repositories of recipes for tests: commits with parents, times, paths and refs."""

import atexit
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests import real_data

Paths = Sequence[str] | Mapping[str, str | None]

FIRST = 1_780_000_000
"""The time of the first commit, in seconds since 1970; each other one is an hour later."""


def recipe(package: str, file: str = "package.py") -> str:
    """Return the path of a file of a package's recipe."""
    folder = package.replace("-", "_")
    prefix = "_" if folder[0].isdigit() else ""
    return f"repos/spack_repo/builtin/packages/{prefix}{folder}/{file}"


class RecipesRepository:
    """A repository; commits are numbered from 0, in the order of their creation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.oids: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "develop")

    def git(self, *command: str, data: bytes | None = None) -> str:
        """Run a git command and return its output."""
        done = subprocess.run(
            ["git", *command], cwd=self.folder, input=data, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commit(self, subject: str, paths: Paths = (), **facts: Any) -> str:
        """Create one commit, as ``fill`` does, and return its hash."""
        self.fill(Change(subject, paths, **facts))
        return self.oids[-1]

    def fill(self, *changes: "Change") -> None:
        """Create a commit for each change, by one process; marks are numbers of commits from 1."""
        first = len(self.oids)
        stream = b"".join(
            change.stream(first + place, self.oids) for place, change in enumerate(changes)
        )
        self.git("fast-import", "--quiet", "--force", "--export-marks=.git/marks", data=stream)
        lines = (self.folder / ".git/marks").read_text().splitlines()
        oids = dict(line[1:].split() for line in lines)
        self.oids += [oids[f"{first + place + 1}"] for place in range(len(changes))]


class Change(NamedTuple):
    """A commit to create: paths with their contents; None removes a path.

    Paths without contents get a new content in each commit. The only parent is the previous commit,
    unless ``parents`` has other numbers.
    """

    subject: str
    paths: Paths = ()
    parents: Sequence[int] | None = None
    branch: str = "develop"
    seconds: int | None = None

    def stream(self, number: int, oids: Sequence[str]) -> bytes:
        """Return the input of ``git fast-import`` for the commit of this number."""
        changes = self.paths
        if not isinstance(changes, Mapping):
            changes = dict.fromkeys(changes, f"{number}\n")
        moment = FIRST + 3600 * number if self.seconds is None else self.seconds
        parents = range(max(number - 1, 0), number) if self.parents is None else self.parents
        message = self.subject.encode()
        stream = b"" if parents else f"reset refs/heads/{self.branch}\n".encode()
        stream += (
            f"commit refs/heads/{self.branch}\nmark :{number + 1}\n"
            f"committer Packages <packages@example.org> {moment} +0000\ndata {len(message)}\n"
        ).encode()
        stream += message + b"\n"
        for word, parent in zip(("from", "merge"), parents, strict=False):
            name = oids[parent] if parent < len(oids) else f":{parent + 1}"
            stream += f"{word} {name}\n".encode()
        for path, content in changes.items():
            if content is None:
                stream += f'D "{path}"\n'.encode()
                continue
            data = content.encode()
            stream += f'M 644 inline "{path}"\ndata {len(data)}\n'.encode() + data + b"\n"
        return stream


def the_week(folder: Path) -> RecipesRepository:
    """Return a copy of the repository of the real week, which each process creates once."""
    made = _week()
    repository = RecipesRepository.__new__(RecipesRepository)
    repository.folder, repository.oids = folder, [*made.oids]
    shutil.copytree(made.folder, folder)
    return repository


@cache
def _week() -> RecipesRepository:
    """Create a repository of the 69 commits of the real week: paths, subjects and times.

    refs/snapshots/base precedes the first commit, refs/snapshots/head is the last.
    """
    folder = Path(tempfile.mkdtemp(prefix="cachelog-week-"))
    atexit.register(shutil.rmtree, folder)
    file = next((real_data.folder() / "recipes").glob("2026-06-20..*.jsonl"))
    lines: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    repository = RecipesRepository(folder)
    times = [int(datetime.fromisoformat(line["committed"]).timestamp()) for line in lines]
    commits = [Change("The beginning", seconds=times[0] - 60)]
    alive: set[str] = set()
    for line, seconds in zip(lines, times, strict=True):
        changes: dict[str, str | None] = {}
        for status, path in line["changed"]:
            if status != "D":
                changes[path] = line["commit"] + "\n"
                alive.add(path)
            elif path in alive:
                changes[path] = None
                alive.discard(path)
        commits.append(Change(line["subject"], changes, seconds=seconds))
    repository.fill(*commits)
    repository.git("update-ref", "refs/snapshots/base", repository.oids[0])
    repository.git("update-ref", "refs/snapshots/head", repository.oids[-1])
    return repository

"""Repositories of recipes that tests make: commits with their parents, times, paths and refs."""

import atexit
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests import real_data

FIRST = 1_780_000_000
"""The time of the first commit, in seconds since 1970; each other one is an hour later."""


def recipe(package: str, file: str = "package.py") -> str:
    """Return where a file of a package's recipe is."""
    folder = package.replace("-", "_")
    prefix = "_" if folder[0].isdigit() else ""
    return f"repos/spack_repo/builtin/packages/{prefix}{folder}/{file}"


class RecipesRepository:
    """A repository; commits are named by numbers from 0, in the order that they were made in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.oids: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "develop")

    def git(self, *command: str, data: bytes | None = None) -> str:
        """Run a git command and return what it says."""
        done = subprocess.run(
            ["git", *command], cwd=self.folder, input=data, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def oid_of(self, subject: str) -> str:
        """Return the hash of the newest commit with a subject."""
        return self.git("log", "-1", "--format=%H", "--fixed-strings", f"--grep={subject}")

    def commit(
        self,
        subject: str,
        paths: Sequence[str] | Mapping[str, str | None] = (),
        *,
        parents: Sequence[int] | None = None,
        branch: str = "develop",
        seconds: int | None = None,
    ) -> str:
        """Make a commit that changes paths and return its hash; it follows on the last one."""
        number = len(self.oids)
        changes = paths if isinstance(paths, Mapping) else dict.fromkeys(paths, f"{number}\n")
        moment = FIRST + 3600 * number if seconds is None else seconds
        before = ([number - 1] if number else []) if parents is None else parents
        message = subject.encode()
        lines = [
            f"commit refs/heads/{branch}",
            f"committer Packages <packages@example.org> {moment} +0000",
            f"data {len(message)}",
        ]
        stream = "\n".join(lines).encode() + b"\n" + message + b"\n"
        for place, parent in enumerate(before):
            word = "from" if place == 0 else "merge"
            stream += f"{word} {self.oids[parent]}\n".encode()
        for path, content in changes.items():
            if content is None:
                stream += f'D "{path}"\n'.encode()
                continue
            data = content.encode()
            stream += f'M 644 inline "{path}"\ndata {len(data)}\n'.encode() + data + b"\n"
        if not before:
            stream = f"reset refs/heads/{branch}\n".encode() + stream
        self.git("fast-import", "--quiet", "--force", data=stream)
        self.oids.append(self.git("rev-parse", f"refs/heads/{branch}"))
        return self.oids[-1]


def the_week(folder: Path) -> RecipesRepository:
    """Return a copy of the repository of the real week, which a process makes once."""
    made = _week()
    repository = RecipesRepository.__new__(RecipesRepository)
    repository.folder, repository.oids = folder, [*made.oids]
    shutil.copytree(made.folder, folder)
    return repository


@cache
def _week() -> RecipesRepository:
    """Make a repository of the 69 commits of the real week: paths, subjects and times.

    refs/snapshots/base is before the first of them, refs/snapshots/head the last.
    """
    folder = Path(tempfile.mkdtemp(prefix="cachelog-week-"))
    atexit.register(shutil.rmtree, folder)
    file = next((real_data.folder() / "recipes").glob("2026-06-20..*.jsonl"))
    lines: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    repository = RecipesRepository(folder)
    times = [int(datetime.fromisoformat(line["committed"]).timestamp()) for line in lines]
    repository.commit("The beginning", seconds=times[0] - 60)
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
        repository.commit(line["subject"], changes, seconds=seconds)
    repository.git("update-ref", "refs/snapshots/base", repository.oids[0])
    repository.git("update-ref", "refs/snapshots/head", repository.oids[-1])
    return repository

"""Small git repositories of cache pages, and the snapshots read from them."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from snapshots.contents import Snapshot
from snapshots.history import History
from snapshots.sources.git.page_history import read
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.factories import a_revision, hash_of
from tests.snapshots.sources import page_trees

ZLIB = "_cache/develop/zlib/specs.md"
HDF5 = "_cache/develop/hdf5/specs.md"

FIRST = datetime(2025, 3, 3, 6, tzinfo=UTC)
"""A Monday."""


_ROLES = ("AUTHOR", "COMMITTER")
_FACTS = ("NAME", "EMAIL")


def page(name: str, *labels: str, tag: str | None = "develop") -> bytes:
    """Return a page of develop, of another tag or of none, with one spec a label."""
    return page_trees.page(name, *labels, tag=tag)


class Repository:
    """A small repository, by default with one commit per day."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir()
        self.hashes: list[str] = []
        self.moment = FIRST
        self.git("init", "--quiet", "--template=", "--initial-branch=main", *options)

    def git(self, *command: str) -> str:
        """Run a git command with fixed names and dates, and return its output."""
        who = {f"GIT_{role}_{key}": "a@b.org" for role in _ROLES for key in _FACTS}
        dates = {
            "GIT_COMMITTER_DATE": self.moment.isoformat(),
            # The author's date is older, as after a rebase, and must not count.
            "GIT_AUTHOR_DATE": (self.moment - timedelta(days=100)).isoformat(),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ["git", "-c", "maintenance.auto=false", *command],
            cwd=self.folder,
            env={**os.environ, **who, **dates},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def commit(self, changes: Mapping[str, bytes | None], moment: datetime | None = None) -> str:
        """Write files, or remove those with None, commit, and return the commit's hash."""
        self.moment = moment or FIRST + timedelta(days=len(self.hashes))
        for path, data in changes.items():
            file = self.folder / path
            if data is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Change pages")
        self.hashes.append((self.folder / ".git/refs/heads/main").read_text().strip())
        return self.hashes[-1]

    def read(self, history: History | None = None, **options: Any) -> list[Snapshot]:
        """Read all snapshots that the history does not have."""
        options = {"report": Report(), "settings": ReadSettings(), **options}
        return list(read(str(self.folder), history=history or History(), **options))


def read_at(location: str, cache_dir: Path | None = None) -> Iterator[Snapshot]:
    """Read all snapshots of a repository, whose clone is stored in a folder."""
    settings = ReadSettings(cache_dir=cache_dir)
    return read(location, history=History(), settings=settings, report=Report())


def history_of(snapshots: Iterable[Snapshot]) -> History:
    """Return the history of a catalog that published these snapshots."""
    lines = []
    for number, snapshot in enumerate(snapshots):
        assert snapshot.taken_at is not None
        line = a_revision(snapshot.tag, 0, published=number)
        digest = snapshot.content.digest
        facts = {"digest": digest, "taken_at": snapshot.taken_at, "source": snapshot.source}
        lines.append(replace(line, **facts))
    return History(lines)


def labels(snapshot: Snapshot) -> set[str]:
    """Return the packages and hashes of a snapshot."""
    return {f"{spec.name} {spec.hash}" for spec in snapshot.content.specs()}


def specs(**packages: Sequence[str] | str) -> set[str]:
    """Return the result of ``labels`` for pages with these labels."""
    return {
        f"{name} {hash_of(label)}"
        for name, of_name in packages.items()
        for label in ([of_name] if isinstance(of_name, str) else of_name)
    }


def key(snapshot: Snapshot) -> tuple[str, str | None, str]:
    """Return what identifies a snapshot: tag, commit and digest."""
    return snapshot.tag, snapshot.source.version, snapshot.content.digest

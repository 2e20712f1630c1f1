"""The recipe repository: the recipe commit of a revision, and the commits between two of them.

Like all repositories of ``snapshots.sources.git``, it is read in place or cloned. None of its
configuration is executed, partial clones without blobs suffice, and time and bytes are limited.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from math import floor

import msgspec
from msgspec.structs import replace

from snapshots.errors import InvalidArgument, SourceError
from snapshots.recipes.commits import Commit, CommitGraph, Recipes, RecipesOrigin, SpackChange
from snapshots.refs import series
from snapshots.sources.git.clones import fetch_blobs, open_repository
from snapshots.sources.git.repository import BadObject, Objects, Repository, Stream, fields_of, run
from snapshots.sources.settings import ReadSettings
from snapshots.texts import legible, quoted

REFS = ("refs/snapshots/{tag}", "refs/tags/{tag}", "refs/heads/{tag}")
"""Patterns of the refs named after a tag; the first one that exists is used."""

MAX_COMMITS = 1_000_000
"""Maximum number of commits to read from a repository."""

MAX_BYTES = 1 << 30
"""Maximum size of git's output about these commits, in bytes."""

LONGEST = 600.0
"""Maximum duration of reading them, in seconds."""

_MAX_SUBJECT_LENGTH = 300
_MAX_PINS = 10_000
_MAX_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_FORMAT = "--format=%H %ct %P%n%s"
_MAX_WORKERS = 4
_FEW_COMMITS = 100
"""Number of commits per process below which another process takes longer to start than it saves."""

_HEX = re.compile(r"[0-9a-f]{4,64}")
_PIN = re.compile(rb"^\s*(?:export\s+)?(\w*SPACK\w*)\s*[=:]\s*[\"']?([^\s\"'#]+)", re.M)
_PIN_HASH = re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])")


# -- paths

_PACKAGE = re.compile(
    r"(?:var/spack/)?repos/spack_repo/(?:[^/]+/)+?packages/(?P<folder>[^/]+)/."
    r"|var/spack/repos/builtin/packages/(?P<name>[^/]+)/."
)
_STACK = re.compile(
    r"(?:stacks|\.ci/gitlab/stacks|share/spack/gitlab/cloud_pipelines/stacks)/([^/]+)/."
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}", re.ASCII)

SPACK_PIN = ".ci/env"
"""The file that names the version of Spack that the repository's CI runs."""

FOLDERS = ("repos", "var/spack/repos", "stacks", ".ci", "share/spack/gitlab")
"""The folders that contain every path that can explain a cause."""


def package_of(path: str) -> str | None:
    """Return the package whose recipe folder contains a path; None for any other path.

    The folder is named after the package, with ``_`` for ``-`` and a leading ``_`` if the name is
    not a valid module name (Spack 1.0 and later). Below ``var/spack/repos/builtin``, its name is
    that of the package.
    """
    match = _PACKAGE.match(path)
    if match is None:
        return None
    folder = match["folder"]
    name = match["name"] if folder is None else folder.removeprefix("_").replace("_", "-")
    return name if _NAME.fullmatch(name) else None


def stack_of(path: str) -> str | None:
    """Return the stack that a path belongs to; None if it belongs to none."""
    match = _STACK.match(path)
    return match[1] if match and _NAME.fullmatch(match[1]) else None


# -- the repository


@contextmanager
def open_recipes(location: str, settings: ReadSettings) -> Iterator["RecipesRepository"]:
    """Open the recipe repository in a folder or at a URL.

    Raises SourceError and InvalidArgument, like ``open_repository``.
    """
    globs = [pattern.format(tag="*") for pattern in REFS]
    with open_repository(location, settings, option="--recipes", refs=globs) as repository:
        yield RecipesRepository(repository)


class RecipesRepository:
    """An open recipe repository; ``open_recipes`` yields one."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    @property
    def location(self) -> str:
        """The path or URL as specified, without credentials."""
        return self._repository.location

    # -- the recipe commit of a revision

    def recipes_of(self, tag: str, taken_at: datetime, given: str | None = None) -> Recipes | None:
        """Return the recipe commit of a revision; None if all commits are newer.

        This is the commit or ref in ``given``, or else the commit of a ref named after the tag (for
        a mutable tag, only if the commit is not newer than the revision), or else the last commit
        of the default branch up to the revision's time. Raises InvalidArgument if ``given`` does
        not exist, and SourceError.
        """
        if given is not None:
            return Recipes(self.location, self.commit(given), RecipesOrigin.GIVEN)
        for name in (pattern.format(tag=tag) for pattern in REFS):
            commit = self._commit_of(self._all_refs[name]) if name in self._all_refs else None
            is_fixed = series(tag) != tag
            if commit and (is_fixed or self._moment(commit) <= taken_at):
                return Recipes(self.location, commit, RecipesOrigin.REF)
        commit = self._last_until(floor(taken_at.timestamp()))
        return None if commit is None else Recipes(self.location, commit, RecipesOrigin.DATE)

    def _last_until(self, seconds: int) -> str | None:
        """Return the default branch's last own commit at or before a time; None without one."""
        line = self._first_parent_line
        return next((commit for moment, commit in line if moment <= seconds), None)

    def commit(self, name: str) -> str:
        """Return the hash of a commit, given its hash, an abbreviation, or a ref.

        Raises InvalidArgument if it does not exist or is ambiguous.
        """
        names = [name, *(f"refs/{part}{name}" for part in ("", "tags/", "heads/", "remotes/"))]
        for ref in [*names, f"refs/remotes/origin/{name}"]:
            commit = self._commit_of(self._all_refs[ref]) if ref in self._all_refs else None
            if commit:
                return commit
        commit = self._commit_of(name) if name == "HEAD" or _HEX.fullmatch(name.lower()) else None
        if commit is None:
            reason = f"{quoted(name)} is not a commit or ref of {legible(self.location, 200)}"
            raise InvalidArgument("--recipes-commit", reason)
        return commit

    def has(self, commits: Iterable[str]) -> set[str]:
        """Return those of the given commit hashes that exist in the repository."""
        names = [commit for commit in commits if _HEX.fullmatch(commit)]
        data = "".join(f"{name}\n" for name in names).encode()
        command = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
        lines = run(self._repository, *command, data=data).decode(errors="replace").splitlines()
        return {line.partition(" ")[0] for line in lines if line.endswith(" commit")}

    @cached_property
    def _all_refs(self) -> dict[str, str]:
        listed = run(self._repository, "for-each-ref", "--format=%(objectname) %(refname)")
        lines = listed.decode(errors="backslashreplace").splitlines()
        return {name: target for target, _, name in (line.partition(" ") for line in lines)}

    @cached_property
    def _first_parent_line(self) -> list[tuple[int, str]]:
        """The times and hashes of the default branch's first-parent commits, newest first."""
        command = ("rev-list", "--first-parent", "--timestamp", f"--max-count={MAX_COMMITS}")
        lines = self._run(*command, "HEAD", "--").decode().splitlines()
        return [(int(seconds), commit) for seconds, commit in map(str.split, lines)]

    def _commit_of(self, name: str) -> str | None:
        with suppress(SourceError):
            command = ("rev-parse", "--quiet", "--verify", "--end-of-options")
            return run(self._repository, *command, f"{name}^{{commit}}").decode().strip()
        return None

    def _moment(self, commit: str) -> datetime:
        listed = self._run("rev-list", "--timestamp", "--max-count=1", commit, "--")
        return _moment(listed.split()[0].decode())

    # -- the commits between two commits

    def unknown(
        self, tips: Collection[str], new: Collection[str], load: Callable[[], CommitGraph]
    ) -> list[str]:
        """Return the commits to read after the recipe commits of new revisions are determined.

        ``tips`` are the recipe commits of earlier revisions; ``load`` returns the stored commits
        between them. Together with the result, these are all commits that are reachable from some
        of ``tips`` and ``new``, but not from all of them.
        """
        added = sorted({*new}.difference(tips))
        if not added or len({*tips, *new}) < 2:
            return []
        if len(added) > 1 or not tips:
            apart, graph = self._not_in_all({*tips, *added}), load()
            return [oid for oid in apart if oid not in graph.commits]
        above = self._reached(added, tips)
        if any(parent in tips for parents in above.values() for parent in parents):
            # The new commit reaches everything that each tip reaches: stored commits are not
            # needed.
            return list(above)
        graph = load()
        known = self.has({*tips, *graph.missing_parents()} - graph.commits.keys())
        below = self._reached(sorted(known), added) if known else {}
        return [oid for oid in {**above, **below} if oid not in graph.commits]

    def _reached(self, commits: Iterable[str], excluded: Iterable[str]) -> dict[str, list[str]]:
        """Return the commits reachable from ``commits`` but not from ``excluded``, with parents.

        Children precede their parents.
        """
        data = "".join([f"{oid}\n" for oid in commits] + [f"^{oid}\n" for oid in excluded])
        command = ("rev-list", "--topo-order", "--parents", f"--max-count={MAX_COMMITS + 1}")
        lines = self._run(*command, "--stdin", data=data.encode()).decode().splitlines()
        if len(lines) > MAX_COMMITS:
            raise SourceError(self.location, f"has more than {MAX_COMMITS:,} commits to read")
        return {oid: parents for oid, *parents in map(str.split, lines)}

    def _not_in_all(self, tips: Collection[str]) -> list[str]:
        """Return the commits reachable from some of these, but not from all, newest first."""
        # Bit n is set if tip n reaches the commit.
        reached = {tip: 1 << number for number, tip in enumerate(sorted(tips))}
        everywhere = (1 << len(tips)) - 1
        apart = []
        for oid, parents in self._reached(sorted(tips), ()).items():
            bits = reached.pop(oid)
            for parent in parents:
                reached[parent] = reached.get(parent, 0) | bits
            if bits != everywhere:
                apart.append(oid)
        return apart

    def between(self, base: str, head: str) -> list[Commit]:
        """Return the commits reachable from head but not from base, newest first.

        Both are names that ``commit`` accepts. Raises InvalidArgument and SourceError.
        """
        return self.read([*self._reached([self.commit(head)], [self.commit(base)])])

    def read(self, oids: Sequence[str]) -> list[Commit]:
        """Return commits with the packages and stacks that they touch. Raises SourceError."""
        num_workers = min(_MAX_WORKERS, os.cpu_count() or 1, 1 + len(oids) // _FEW_COMMITS)
        size = -(-len(oids) // num_workers)
        parts = [oids[first : first + size] for first in range(0, len(oids), size or 1)]
        with ThreadPoolExecutor(max(1, len(parts))) as pool:
            lists = list(pool.map(self._read_part, parts))
        read = [commit for part in lists for commit in part]
        spack = self._spack_changes({blob for _, pin in read if pin for blob in pin})
        return [
            replace(commit, spack=SpackChange(*map(spack.get, pin))) if pin else commit
            for commit, pin in read
        ]

    def _read_part(self, oids: Sequence[str]) -> list[tuple[Commit, tuple[str, str] | None]]:
        data = "".join(f"{oid}\n" for oid in oids).encode()
        command = ["diff-tree", "--stdin", "--root", "--always", "-r", "-z", "--raw"]
        command += ["--no-renames", "--no-ext-diff", "--encoding=UTF-8", _FORMAT, "--", *FOLDERS]
        touched: list[_Touched] = []
        num_bytes = 0
        with Stream(self._repository, *command, data=data, seconds=LONGEST) as stream:
            fields = fields_of(stream)
            for field in fields:
                entry, path = field.lstrip(b"\n"), b""
                if entry.startswith(b":"):
                    path = next(fields, b"")
                    touched[-1].add(path.decode(errors="backslashreplace"), entry)
                elif entry:
                    touched.append(_Touched(entry))
                num_bytes += len(field) + len(path)
                if num_bytes > MAX_BYTES:
                    reason = f"its commits touch more paths than {MAX_BYTES >> 20:,} MiB hold"
                    raise SourceError(self.location, reason)
        return [of_commit.commit(self._shallow) for of_commit in touched]

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """The commits at the boundary of a shallow clone, whose parents are missing."""
        with suppress(OSError):
            return frozenset((self._repository.folder / "shallow").read_text().split())
        return frozenset()

    def _run(self, *command: str, data: bytes = b"") -> bytes:
        return run(self._repository, *command, data=data)

    # -- the version of Spack in use

    def _spack_changes(self, blobs: Collection[str]) -> dict[str, str]:
        """Return the version of Spack that each blob names, if it names one."""
        named = sorted(blob for blob in blobs if blob.strip("0"))[:_MAX_PINS]
        pins: dict[str, str] = {}
        with suppress(SourceError):  # the change is then reported without its two versions
            fetch_blobs(self._repository, named)
            with closing(Objects(self._repository)) as reader:
                for blob in named:
                    with suppress(BadObject):
                        pin = _spack_in(reader.read(blob, self.location))
                        if pin is not None:
                            pins[blob] = pin
        return pins


class _Touched(msgspec.Struct):
    """What a commit touches, collected from the fields of git's output.

    ``pin`` has the blobs of its version of Spack before and after.
    """

    header: bytes
    packages: set[str] = set()
    stacks: set[str] = set()
    pin: tuple[str, str] | None = None

    def add(self, path: str, entry: bytes) -> None:
        """Add a changed path, with its entry in git's raw format."""
        if path == SPACK_PIN:
            _, _, before, after, _ = entry.decode().split(" ")
            self.pin = before, after
        elif package := package_of(path):
            self.packages.add(package)
        elif stack := stack_of(path):
            self.stacks.add(stack)

    def commit(self, shallow: Collection[str]) -> tuple[Commit, tuple[str, str] | None]:
        """Return the commit and its ``pin``; one in ``shallow`` seems to add every file."""
        facts, _, subject = self.header.decode(errors="replace").partition("\n")
        oid, seconds, *parents = facts.split(" ")
        if oid in shallow:
            self.packages, self.stacks, self.pin = set(), set(), None
        commit = Commit(
            oid,
            tuple(filter(None, parents)),
            _moment(seconds),
            legible(subject.strip(), _MAX_SUBJECT_LENGTH),
            tuple(sorted(self.packages)),
            tuple(sorted(self.stacks)),
        )
        return commit, self.pin


def _moment(seconds: str) -> datetime:
    """Return a commit's time, which can be any number, limited to the range of datetime."""
    with suppress(ValueError):
        return datetime.fromtimestamp(max(0, min(int(seconds), int(_MAX_TIME))), UTC)
    return datetime.fromtimestamp(0, UTC)


def _spack_in(data: bytes) -> str | None:
    """Return the version of Spack in a file: a commit, or else a ref in a SPACK variable."""
    values = [match[2] for match in _PIN.finditer(data)]
    hashes = [value for value in values if _HEX.fullmatch(value.decode(errors="replace"))]
    hashes += _PIN_HASH.findall(data)
    named = hashes or [value for value in values if b"/" not in value]
    return legible(named[0].decode(errors="replace"), 100) if named else None

"""The objects of a repository that a history of pages is made of: commits, trees and blobs."""

import hashlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.git.commands import Repository, Stream, run
from snapshots.sources.pages import MAX_PAGE_BYTES

MAX_CHANGES = 1_000_000
"""How many paths may differ between two states; small trees can name each other for ever more."""

MAX_CHANGES_IN_ALL = 100_000_000
"""How many paths may differ between all states."""

_CHUNK = 1 << 16
_REGULAR_FILE = b"100"
_FOLDER = b"040000"


class Commit(NamedTuple):
    """A commit that changed the folder of pages; ``tree`` is what that folder held then."""

    hash: str
    time: datetime
    tree: str

    @property
    def short(self) -> str:
        """The hash as messages name it."""
        return self.hash[:12]


class Change(NamedTuple):
    """A path that differs between two trees; ``blob`` is what the second holds there.

    It is None for a path that is gone, or is no regular file any more. ``is_folder`` tells whether
    the path is or was a folder.
    """

    path: str
    blob: str | None
    is_folder: bool


def folder_path(path: str) -> str:
    """Return a folder's path in a repository without superfluous slashes; empty for the root.

    Raises InvalidArgument where the path leads out of the repository or git cannot be asked for it.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\n" in path or "\0" in path:
        raise InvalidArgument("--path", f"{path!r} is no path of a folder in a repository")
    return "/".join(parts)


def commits_of(repository: Repository, folder: str) -> list[Commit]:
    """Return the commits on HEAD's first-parent line that changed a folder, oldest first.

    Times are the committers', in UTC. Raises SourceError where no commit has the folder.
    """
    listed = run(repository, "rev-list", "--first-parent", "--reverse", "--timestamp", "HEAD", "--")
    lines = [line.split() for line in listed.decode().splitlines()]
    requests = "".join(f"{commit}:{folder}\n" for _, commit in lines)
    check = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    found = run(repository, *check, data=requests.encode(errors="surrogateescape")).split(b"\n")
    nothing = tree = empty_tree(lines[0][1])
    commits = []
    for (seconds, commit), answer in zip(lines, found, strict=False):
        name, _, kind = answer.decode(errors="replace").rpartition(" ")
        before, tree = tree, name if kind == "tree" else nothing
        if tree != before:
            commits.append(Commit(commit, _moment(repository, commit, seconds), tree))
    if not commits:
        raise SourceError(repository.location, f"no commit has a folder {folder or '/'}")
    return commits


def empty_tree(like: str) -> str:
    """Return the name of the tree without entries, in the hash function of the name ``like``."""
    function = "sha1" if len(like) == 40 else "sha256"
    return hashlib.new(function, b"tree 0\0", usedforsecurity=False).hexdigest()


def _moment(repository: Repository, commit: str, seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        reason = f"commit {commit} has no usable date: {seconds}"
        raise SourceError(repository.location, reason) from None


def changes_between(
    repository: Repository, trees: Sequence[str], *, recursive: bool = True
) -> Generator[list[Change], None, None]:
    """Yield what changes from each tree to the next; only its direct entries if not recursive.

    Raises SourceError where git fails.
    """
    requests = "".join(f"{old} {new}\n" for old, new in pairwise(trees))
    command = ["diff-tree", "--stdin", "--raw", "--no-renames", "-z", *["-r"] * recursive]
    with Stream(repository, *command, data=requests.encode()) as stream:
        yield from _parse_changes(_fields(stream), repository.location)


def _fields(stream: Stream) -> Iterator[bytes]:
    """Split the output at NUL, reading no further than the caller asks."""
    rest = b""
    while chunk := stream.output.read(_CHUNK):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    stream.check()
    yield rest


def _parse_changes(fields: Iterator[bytes], location: str) -> Iterator[list[Change]]:
    # Before the changes of a pair stands a line with its two trees; it alone ends in a newline,
    # and so begins the field of the change that follows.
    changes: list[Change] | None = None
    in_all = 0
    for field in fields:
        *pairs, entry = field.split(b"\n")
        for _ in pairs:
            if changes is not None:
                yield changes
            changes = []
        if entry and changes is not None:
            before, after, _, blob, _ = entry.removeprefix(b":").split(b" ")
            path = next(fields).decode(errors="backslashreplace")
            is_file = after.startswith(_REGULAR_FILE)
            is_folder = _FOLDER in (before, after)
            in_all += 1
            if len(changes) == MAX_CHANGES:
                raise SourceError(location, f"a commit changes more than {MAX_CHANGES:,} paths")
            if in_all > MAX_CHANGES_IN_ALL:
                reason = f"its commits change more than {MAX_CHANGES_IN_ALL:,} paths"
                raise SourceError(location, reason)
            changes.append(Change(path, blob.decode() if is_file else None, is_folder))
    if changes is not None:
        yield changes


class BadBlob(SourceError):
    """A blob that is missing, or is too large to be read."""


class Blobs:
    """Reads blobs, one after the other, from a running ``git cat-file --batch``.

    Another one, ``sizes``, is asked first how large they are: the first would begin to read them.
    """

    def __init__(self, sizes: Stream, contents: Stream) -> None:
        self._sizes = sizes
        self._contents = contents

    def read(self, blob: str, location: str) -> bytes:
        """Return a blob's bytes.

        Raises BadBlob, naming ``location``, where it is missing or too large for a page, and
        SourceError where git fails.
        """
        size = self._asked(self._sizes, blob, location)
        if size > MAX_PAGE_BYTES:
            raise BadBlob(location, f"holds more than {MAX_PAGE_BYTES:,} bytes")
        size = self._asked(self._contents, blob, location)
        data = self._contents.output.read(size + 1)
        if len(data) <= size:
            raise self._contents.failure()
        return data[:-1]

    def _asked(self, stream: Stream, blob: str, location: str) -> int:
        """Ask for a blob and return the size that the answer begins with."""
        try:
            stream.input.write(blob.encode() + b"\n")
            stream.input.flush()
        except BrokenPipeError:
            raise stream.failure() from None
        answer = stream.output.readline().split()
        if answer[-1:] == [b"missing"]:
            raise BadBlob(location, f"the repository lacks its object {blob}")
        if len(answer) != 3:
            raise stream.failure()
        return int(answer[2])


@contextmanager
def blobs_of(repository: Repository) -> Iterator[Blobs]:
    """Open a repository's blobs; raises SourceError where git cannot be started."""
    with (
        Stream(repository, "cat-file", "--batch-check") as sizes,
        Stream(repository, "cat-file", "--batch") as contents,
    ):
        yield Blobs(sizes, contents)

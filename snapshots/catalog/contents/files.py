"""Whose rows the files of contents have.

A content that is laid over another has two files: that of its base, then its own. Each stands in
the folder of the content that its rows belong to.
"""

from collections.abc import Sequence
from typing import NamedTuple

from snapshots.tables import Files, StoredFile

_FOLDER = "digest="


class Base(NamedTuple):
    """A whole content: its digest, and its file."""

    digest: str
    file: StoredFile


def folder_of(digest: str) -> str:
    """Return where the files with rows of a content are, below the table ``specs``."""
    return f"{_FOLDER}{digest}/"


def owner_of(file: StoredFile, digest: str) -> str:
    """Return which content a file has rows of: the one with that digest, or its base."""
    folder, slash, _ = file.path.partition("/")
    return folder.removeprefix(_FOLDER) if slash and folder.startswith(_FOLDER) else digest


def own_files(digest: str, files: Sequence[StoredFile]) -> tuple[StoredFile, ...]:
    """Return those of a content's files that have rows of its own."""
    return tuple(file for file in files if owner_of(file, digest) == digest)


def base_of(digest: str, files: Sequence[StoredFile]) -> Base | None:
    """Return what a content is laid over: itself where it is whole; None where it is not known."""
    if not files or len(files) - len(own_files(digest, files)) > 1:
        return None
    return Base(owner_of(files[0], digest), files[0])


def with_bases(files: Files) -> dict[str, Sequence[StoredFile]]:
    """Return the files of contents, and those of the bases that nothing else names."""
    found: dict[str, Sequence[StoredFile]] = dict(files)
    for digest, of_content in files.items():
        for file in of_content:
            if not found.get(owner := owner_of(file, digest)):
                found[owner] = (file,)
    return found


def by_owner(files: Files) -> dict[str, tuple[StoredFile, ...]]:
    """Return the files that contents have rows of their own in; so also of bases."""
    return {digest: own_files(digest, it) for digest, it in with_bases(files).items()}

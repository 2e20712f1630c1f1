"""Files as sides of a comparison: lock files, and paths that an import can read.

The latter are indexes, build caches in folders, databases of installations, and cache pages.
"""

from pathlib import Path

import msgspec

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError
from snapshots.models import LOCK_FILE, ProofCounts, Source
from snapshots.program import importer_name
from snapshots.sources import lock_files
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.file_kinds import (
    HEAD_BYTES,
    FileKind,
    is_json,
    is_page,
    kind_of,
    text_of,
)
from snapshots.sources.inputs import open_regular, read_regular
from snapshots.sources.pages import folders
from snapshots.sources.parts import PartExecutor, ReadRequest
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

_TAG = "side"
"""The tag that readers of indexes require; nothing is published under it."""

_FORMS = "a lock file, the index of a build cache or an installation, or a cache page"


_LOCKED = (FileKind.LOCK_FILE, FileKind.SPEC, FileKind.SPEC_LIST)


class SideFile(msgspec.Struct, frozen=True):
    """The content of a path.

    ``proof`` is None if hashes were not recomputed. ``roots`` are the hashes of a lock file's
    explicitly requested specs; None for any other file.
    """

    content: Content
    source: Source
    proof: ProofCounts | None = None
    roots: tuple[str, ...] | None = None


def read(path: str, settings: ReadSettings) -> SideFile:
    """Read a path. Raises SourceError, also if it contains no specs."""
    if "://" in path:
        raise SourceError(path, "is a URL; only files are compared, so import it first")
    kind = _kind_of(path, settings)
    if kind in _LOCKED:
        locked = lock_files.read(path)
        source = Source(kind=LOCK_FILE.name, location=path, importer=importer_name())
        return SideFile(locked.content, source, roots=locked.roots)
    settings = msgspec.structs.replace(settings, allow_empty=True)
    executor = PartExecutor(settings, Report(), lambda snapshot: snapshot)
    if kind is FileKind.PAGE:
        snapshot = _read_pages(path, executor)
    else:
        [snapshot] = build_caches.read([path], ReadRequest([_TAG]), executor)
    return SideFile(snapshot.content, snapshot.source, snapshot.proof)


def _kind_of(path: str, settings: ReadSettings) -> FileKind:
    """Return what a path is read as; a folder without a lock file or an index has pages.

    Raises SourceError for a file of another kind.
    """
    if lock_files.file_at(path) != path:
        if Path(lock_files.file_at(path)).is_file():
            return FileKind.LOCK_FILE
        is_cache = build_caches.is_recognized(path, settings)
        return FileKind.INDEX if is_cache else FileKind.PAGE
    file, size = open_regular(path)
    with file:
        head = file.read(HEAD_BYTES)
    if is_page(head):
        return FileKind.PAGE
    if is_json(head) and size > lock_files.MAX_BYTES:
        return FileKind.INDEX
    text = text_of(read_regular(path, lock_files.MAX_BYTES), path, settings.max_index_bytes)
    kind = kind_of(next(lock_files.documents(text, path)) if is_json(text[:HEAD_BYTES]) else text)
    if kind in (*_LOCKED, FileKind.INDEX, FileKind.MANIFEST):
        return kind
    raise SourceError(path, kind.instead_of(_FORMS) if kind else f"is not {_FORMS}")


def _read_pages(path: str, executor: PartExecutor[Snapshot]) -> Snapshot:
    """Read the pages of one state of one tag. Raises SourceError for pages of several."""
    request = ReadRequest([_TAG])
    try:
        snapshots = list(folders.read([path], request, executor))
    except InvalidArgument:
        snapshots = []
    if len(snapshots) != 1:
        raise SourceError(path, "has pages of several tags or dates; name the folder of one")
    return snapshots[0]

"""Files as sides of a comparison: lock files, and paths that an import can read.

The latter are indexes, build caches in folders, and databases of installations.
"""

from pathlib import Path

import msgspec

from snapshots.contents import Content
from snapshots.errors import SourceError
from snapshots.models import LOCK_FILE, ProofCounts, Source
from snapshots.program import importer_name
from snapshots.sources import lock_files
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.inputs import open_regular, read_regular
from snapshots.sources.parts import PartExecutor, ReadRequest
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

_TAG = "side"
"""The tag that readers of indexes require; nothing is published under it."""

_FORMS = "a lock file nor the index of a build cache or an installation"
_HEAD_BYTES = 4096


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
    if _is_lock_file(path):
        locked = lock_files.read_content(path)
        source = Source(kind=LOCK_FILE.name, location=path, importer=importer_name())
        return SideFile(locked.content, source, roots=locked.roots)
    executor = PartExecutor(settings, Report(), lambda snapshot: snapshot)
    [snapshot] = build_caches.read([path], ReadRequest([_TAG]), executor)
    return SideFile(snapshot.content, snapshot.source, snapshot.proof)


def _is_lock_file(path: str) -> bool:
    """Return whether a path is a lock file, or a folder with one; false if it is an index.

    Raises SourceError, which describes an unsupported path.
    """
    lock_file = lock_files.file_at(path)
    if lock_file != path:
        if Path(lock_file).is_file():
            return True
        if not build_caches.is_recognized(path, ReadSettings()):
            raise SourceError(path, f"is a folder with neither {_FORMS}")
        return False
    file, size = open_regular(path)
    with file:
        head = file.read(_HEAD_BYTES).lstrip()
    if head.startswith((b"{", b"[")) and size <= lock_files.MAX_BYTES:
        form = lock_files.form_of(read_regular(path, lock_files.MAX_BYTES), path)
        if not form.has_specs and not form.is_index:
            raise SourceError(path, f"is neither {_FORMS}")
        return form.has_specs
    if not build_caches.is_recognized(path, ReadSettings()):
        raise SourceError(path, f"is neither {_FORMS}")
    return False

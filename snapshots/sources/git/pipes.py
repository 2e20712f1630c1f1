"""Pipes and devices in a repository on this machine: git opens what it finds, and waits for ever.

Nobody writes to a pipe that stands where an object or a reference should, and a device such as
/dev/zero never ends. Git makes no such files; a socket it may, and to open one fails at once.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISFIFO

from snapshots.errors import SourceError
from snapshots.sources.files import read_regular

_ALTERNATES_BYTES = 1 << 20
_MOST_FOLDERS = 100
_HOLDS_OBJECTS = re.compile(r"[0-9a-f]{2}|info|pack")


def refuse_pipes(repository: Path, location: str) -> None:
    """Raise SourceError, naming ``location``, where a repository holds a pipe or a device.

    ``repository`` is a bare one, or the ``.git`` of another. The folders that it borrows objects
    from are looked through as well. What cannot be read is left to git.
    """
    _refuse(repository, location)
    for file in _files_below(repository):
        _refuse(file, location)
    pending, seen = [repository / "objects"], set[str]()
    while pending:
        objects = pending.pop()
        seen.add(os.path.realpath(objects))
        if len(seen) > _MOST_FOLDERS:
            raise SourceError(location, f"borrows objects from more than {_MOST_FOLDERS} folders")
        for other in _alternates(objects):
            if os.path.realpath(other) not in seen:
                for file in _objects_in(other):
                    _refuse(file, location)
                pending.append(other)


def _refuse(file: Path, location: str) -> None:
    try:
        mode = file.stat().st_mode
    except OSError:
        return
    if S_ISFIFO(mode) or S_ISCHR(mode) or S_ISBLK(mode):
        raise SourceError(location, f"has no file at {file}, but a pipe or a device")


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield what is no plain file: links too, but not what stands below a link to a folder."""
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        yield Path(entry.path)
        except OSError:
            continue


def _objects_in(folder: Path) -> Iterator[Path]:
    """Yield as ``_files_below``, but only where git has objects: the folder can be any."""
    try:
        found = list(folder.iterdir())
    except OSError:
        return
    for inner in found:
        if _HOLDS_OBJECTS.fullmatch(inner.name):
            yield from _files_below(inner)


def _alternates(objects: Path) -> list[Path]:
    try:
        data = read_regular(str(objects / "info/alternates"), _ALTERNATES_BYTES)
    except SourceError:
        return []
    lines = [os.fsdecode(line) for line in data.splitlines()]
    named = dict.fromkeys(line for line in lines if line and not line.startswith(("#", '"', "\0")))
    return [objects / line for line in named if "\0" not in line]

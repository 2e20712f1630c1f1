"""Atomic file output: readers and interruptions never see a partially written file."""

import os
from pathlib import Path

from snapshots.errors import OutputError


def write(file: Path, document: bytes) -> bool:
    """Write a file, and create its folders; return whether the file was changed.

    A file that already has this content is not touched, so that web servers report it as
    unmodified. If the path is not a regular file, such as ``/dev/null`` or a pipe, the document is
    written to it. If it is a link, the target is replaced. Raises OutputError.
    """
    try:
        if file.exists() and not file.is_file():
            file.write_bytes(document)
        elif file.is_file() and file.read_bytes() == document:
            return False
        else:
            _replace(file.resolve(), document)
    except OSError as error:
        raise OutputError(str(file), error.strerror or str(error)) from None
    return True


def _replace(file: Path, document: bytes) -> None:
    beside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        beside.write_bytes(document)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)

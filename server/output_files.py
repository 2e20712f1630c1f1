"""Files that are written in one step: whoever reads one, and whatever interrupts, it is whole."""

import os
from pathlib import Path

from snapshots.errors import OutputError


def write(file: Path, document: bytes) -> bool:
    """Write a file, and its folders, where it does not hold just that; return whether it did not.

    A web server so goes on to tell readers that nothing changed. What is not a file, such as
    ``/dev/null`` or a pipe, is written to; of a link what it leads to is replaced. Raises
    OutputError.
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

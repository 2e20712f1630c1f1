"""Real data: a folder of what Spack and a public build cache published; tests/data/README.md."""

import atexit
import os
import tarfile
import tempfile
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).with_name("data") / "real.tar.xz"


def folder() -> Path:
    """Return the folder: that of CACHELOG_TEST_DATA, else the archive, unpacked once a process.

    Files in it are only read.
    """
    named = os.environ.get("CACHELOG_TEST_DATA")
    return unpacked() if named is None else Path(named)


@cache
def unpacked() -> Path:
    """Return a folder with what the archive of the repository holds."""
    temporary = tempfile.TemporaryDirectory(prefix="cachelog-real-data-")
    atexit.register(temporary.cleanup)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(temporary.name, filter="data")
    return Path(temporary.name)

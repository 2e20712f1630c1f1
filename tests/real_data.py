"""Real data published by Spack and a public build cache; see tests/data/README.md."""

import atexit
import os
import tarfile
import tempfile
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).with_name("data") / "real.tar.xz"


def folder() -> Path:
    """Return the folder in CACHELOG_TEST_DATA, or else that of the unpacked archive.

    Its files are only read.
    """
    configured = os.environ.get("CACHELOG_TEST_DATA")
    return unpack() if configured is None else Path(configured)


@cache
def unpack() -> Path:
    """Unpack the archive of the repository once per process; return the folder."""
    temporary = tempfile.TemporaryDirectory(prefix="cachelog-real-data-")
    atexit.register(temporary.cleanup)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(temporary.name, filter="data")
    return Path(temporary.name)

"""What somebody wants of a cache: lock files of environments, and specs as Spack prints them.

These are ``spack.lock`` of versions 4 to 8, with the concrete environments that they include, and
the JSON of ``spack spec --json`` and ``spack find --json``, one document or several in a row.
"""

from snapshots.sources.lockfiles.nodes import Writer
from snapshots.sources.lockfiles.reading import (
    MAX_BYTES,
    LeftOut,
    LockFile,
    RootGroup,
    WhyLeftOut,
    parse,
    read,
)

__all__ = [
    "MAX_BYTES",
    "LeftOut",
    "LockFile",
    "RootGroup",
    "WhyLeftOut",
    "Writer",
    "parse",
    "read",
]

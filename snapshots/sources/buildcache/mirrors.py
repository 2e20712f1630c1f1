"""The mirror that Spack installs from, told from where a build cache was read.

Source: Spack's documentation of build caches. A mirror is the folder or URL that has
``build_cache`` (layout 2), or ``v3`` and ``blobs`` (layout 3), directly below it, or a repository
of an OCI registry.
"""

import re

from snapshots.sources.buildcache.locations import is_registry, is_url

_BELOW = re.compile(r"/(build_cache|blobs|v3/manifests)/")


def mirror_of(kind: str, location: str, tarball: str | None) -> str | None:
    """Return the mirror to add for a spec; None where nothing tells it.

    ``kind`` and ``location`` say what a revision was read from, ``tarball`` is the URL of the
    spec's binary where it is known: it tells the mirror of a stack where the location is a list of
    many. Of an index that lies alone, of a relative folder, and of what is no build cache nothing
    is told.
    """
    if kind == "index" and is_registry(location):
        return location
    if tarball and (found := _above(tarball)):
        return found
    if kind != "index" or not (is_url(location) or location.startswith("/")):
        return None
    return _above(location) or (None if location.endswith(".json") else location.rstrip("/"))


def _above(location: str) -> str | None:
    """Return what has the folders of a build cache directly below it."""
    found = _BELOW.search(location)
    return location[: found.start()] if found else None

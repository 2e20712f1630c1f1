"""Two revisions of a catalog, or one, ready to be judged by rules."""

from functools import partial

from snapshots.catalog.library import Library
from snapshots.changes.rules.finding import Searched, finder
from snapshots.changes.rules.scopes import Judged


def judged(library: Library, base: str | None, head: str) -> Judged:
    """Return what rules are judged over: two contents by their digests, or head alone.

    What rules ask for is loaded when they ask for it; raises CatalogError where it cannot be read.
    """
    after = _searched(library, head)
    before = None if base is None else _searched(library, base)
    find = finder(before, after, library.package_names)
    if base is None:
        return Judged(after.frame, find)
    comparison = library.compare(base, head)
    return Judged(after.frame, find, comparison, partial(library.explain, base, head))


def _searched(library: Library, digest: str) -> Searched:
    return Searched(library.frames.get(digest), partial(library.dependencies.get, digest))

"""Keep lists: the hashes that a build cache must retain.

The list is the input of Spack's ``buildcache prune --keeplist``: one hash per line.
"""

from collections.abc import Iterable, Set
from itertools import compress

import msgspec

from snapshots.catalog.library import Library


class KeepList(msgspec.Struct, frozen=True):
    """The hashes to keep, and the number of specs whose dependencies are unknown.

    These are only counted if dependencies are to be kept.
    """

    hashes: Set[str]
    num_unknown: int = 0


def keep_list(
    library: Library, digests: Iterable[str], locked: Iterable[str] = (), *, whole: bool = False
) -> KeepList:
    """Return the hashes of contents and of lock files.

    With ``whole``, all dependencies of the contents' specs are included, over any edge, as far as
    the source of any of the contents states them. Raises CatalogError if a content cannot be read.
    """
    hashes = {*locked}
    stated = {*hashes}
    silent: set[str] = set()
    for digest in digests:
        texts = library.frames.get(digest).hashes.texts
        hashes.update(texts)
        if whole:
            graph = library.dependencies.get(digest)
            # Specs outside the cache are only in a content if one of its specs depends on them.
            hashes.update(graph.outside.hashes.texts)
            stated.update(compress(texts, graph.known.tolist()))
            silent.update(compress(texts, (~graph.known).tolist()))
    return KeepList(hashes, len(silent - stated))

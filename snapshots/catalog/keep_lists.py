"""Keep lists: the hashes that a build cache must retain, and a summary of the others.

The list is the input of Spack's ``buildcache prune --keeplist``: one hash per line.
"""

from collections.abc import Collection, Iterable, Set
from itertools import compress

import msgspec
import numpy as np

from snapshots.arrays import Mask, Rows
from snapshots.catalog.library import Library
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

Cell = tuple[str, str, str]
"""A package, a stack and a target; the stack is empty if a spec is in none except root."""


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


class UnlistedHashes(msgspec.Struct, frozen=True):
    """The distinct hashes of contents that are not on a keep list.

    ``size`` is the sum of the known sizes of their binary packages in bytes, None if none is known,
    and ``num_unknown`` the number of hashes without a size. ``cells`` are those that would be
    empty, sorted.
    """

    hashes: Set[str]
    size: int | None
    num_unknown: int
    cells: list[Cell]


def rest_of(library: Library, digests: Iterable[str], listed: Collection[str]) -> UnlistedHashes:
    """Return what contents have that is not on a keep list; raises like ``keep_list``."""
    sizes: dict[str, int | None] = {}
    remaining: set[Cell] = set()
    removed: set[Cell] = set()
    for digest in dict.fromkeys(digests):
        frame = library.frames.get(digest)
        texts = frame.hashes.texts
        is_kept: Mask = np.fromiter((text in listed for text in texts), np.bool_, len(texts))
        remaining |= _cells(frame, np.flatnonzero(is_kept).astype(np.int32))
        rows = np.flatnonzero(~is_kept).astype(np.int32)
        removed |= _cells(frame, rows)
        for row in rows.tolist():
            size = frame.size.at(row)
            if size is not None or texts[row] not in sizes:
                sizes[texts[row]] = size
    known = [size for size in sizes.values() if size is not None]
    return UnlistedHashes(
        sizes.keys(),
        sum(known) if known else None,
        len(sizes) - len(known),
        sorted(removed - remaining),
    )


def _cells(frame: Frame, rows: Rows) -> set[Cell]:
    """Return the cells of some rows."""
    columns = [column.codes[rows] for column in (frame.package, frame.stacks, frame.target)]
    distinct = np.unique(np.stack(columns, axis=1), axis=0).tolist() if len(rows) else []
    return {
        (frame.packages[package], stack, frame.target.values[target])
        for package, stacks, target in distinct
        for stack in [*({*frame.stacks.values[stacks]} - {ROOT_STACK})] or [""]
    }

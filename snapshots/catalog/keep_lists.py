"""Keep lists: the hashes that a build cache has to keep, and what the rest of it is.

The list is what Spack's ``buildcache prune --keeplist`` takes: a hash a line.
"""

from collections.abc import Collection, Iterable, Set
from itertools import compress

import msgspec
import numpy as np

from snapshots.catalog.library import Library
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

Cell = tuple[str, str, str]
"""A package, a stack and a target; the stack is empty where a spec is in none but root."""


class KeepList(msgspec.Struct, frozen=True):
    """The hashes to keep, and of how many specs it is not known what they reach.

    These are counted only where all that specs reach is to be kept.
    """

    hashes: Set[str]
    num_unknown: int = 0


def keep_list(
    library: Library, digests: Iterable[str], locked: Iterable[str] = (), *, whole: bool = False
) -> KeepList:
    """Return the hashes that contents hold, and those that lock files do.

    With ``whole`` they are all that their specs reach over any edge, as well, as far as the source
    of any of the contents tells it. Raises CatalogError where a content cannot be read.
    """
    hashes = {*locked}
    stated = {*hashes}
    silent: set[str] = set()
    for digest in digests:
        texts = library.frames.get(digest).hashes.texts
        hashes.update(texts)
        if whole:
            graph = library.dependencies.get(digest)
            # Nothing is outside that no spec of the content reaches.
            hashes.update(graph.outside.hashes.texts)
            stated.update(compress(texts, graph.known.tolist()))
            silent.update(compress(texts, (~graph.known).tolist()))
    return KeepList(hashes, len(silent - stated))


class Rest(msgspec.Struct, frozen=True):
    """What of a build cache is not kept: distinct hashes of contents that are not on a list.

    ``size`` is the sum of the known sizes of their binary packages, None where none is known, and
    ``num_unknown`` how many have no size. ``cells`` are those that nothing is left in, sorted.
    """

    hashes: Set[str]
    size: int | None
    num_unknown: int
    cells: list[Cell]


def rest_of(library: Library, digests: Iterable[str], kept: Collection[str]) -> Rest:
    """Return what of some contents is not on a keep list; raises as ``keep_list`` does."""
    sizes: dict[str, int | None] = {}
    left: set[Cell] = set()
    gone: set[Cell] = set()
    for digest in dict.fromkeys(digests):
        frame = library.frames.get(digest)
        texts = frame.hashes.texts
        is_kept: Mask = np.fromiter((text in kept for text in texts), np.bool_, len(texts))
        left |= _cells(frame, np.flatnonzero(is_kept).astype(np.int32))
        rows = np.flatnonzero(~is_kept).astype(np.int32)
        gone |= _cells(frame, rows)
        for row in rows.tolist():
            size = frame.size.at(row)
            if size is not None or texts[row] not in sizes:
                sizes[texts[row]] = size
    known = [size for size in sizes.values() if size is not None]
    return Rest(
        sizes.keys(), sum(known) if known else None, len(sizes) - len(known), sorted(gone - left)
    )


def _cells(frame: Frame, rows: Rows) -> set[Cell]:
    """Return the cells that some rows are in."""
    columns = [column.codes[rows] for column in (frame.package, frame.stacks, frame.target)]
    distinct = np.unique(np.stack(columns, axis=1), axis=0).tolist() if len(rows) else []
    return {
        (frame.packages[package], stack, frame.target.values[target])
        for package, stacks, target in distinct
        for stack in [*({*frame.stacks.values[stacks]} - {ROOT_STACK})] or [""]
    }

"""Which classes of both sides are candidates for each other, in batches.

Two are if they have a mark in common. Where candidates need no more than one key, the mark is the
key; where they need a stack in common as well, each class has a mark for each of its stacks.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.counterparts.classes import Classes, first_piece
from snapshots.changes.hashed_facts import mixed
from snapshots.changes.node_columns import Fingerprints
from snapshots.frames.columns import Mask, begins_of_runs
from snapshots.frames.graphs import places_of_runs

_MAX_PAIRS = 1 << 18

Places = npt.NDArray[np.int64]


class Items(NamedTuple):
    """Items of classes: the numbers of the classes, rising, and a hash of each item."""

    owners: Places
    hashes: Fingerprints


class Marks(NamedTuple):
    """Marks of classes: the numbers of the classes, rising, and a hash for each mark.

    ``groups`` rise, too: the pairs that come of marks of one group are ranked together.
    """

    owners: Places
    hashes: Fingerprints
    groups: Places


def marks_of_keys(classes: Classes) -> Marks:
    """Return a mark for each class: its key, and the piece where a key has too many classes."""
    pieces = classes.pieces
    return Marks(np.arange(len(classes)), pieces.astype(np.uint64), pieces)


def marks_of_items(
    base: Classes, base_items: Items, head: Classes, head_items: Items
) -> tuple[Marks, Marks]:
    """Return marks that classes share where they have one key and an item in common.

    Where these would be too many pairs of one key, its classes have those of ``marks_of_keys``.
    """
    ours, theirs = _of_items(base, base_items), _of_items(head, head_items)
    _, counts, _ = _joined(ours, theirs)
    size = 1 + max(it.keys.max(initial=0) for it in (base, head))
    too_many = np.bincount(base.keys[ours.owners], counts, minlength=size) > _MAX_PAIRS
    return _chosen(base, ours, too_many), _chosen(head, theirs, too_many)


def _of_items(classes: Classes, items: Items) -> Marks:
    keys = classes.keys[items.owners]
    hashes = mixed(keys.astype(np.uint64), items.hashes)
    return Marks(items.owners, hashes, first_piece(keys))


def _chosen(classes: Classes, marks: Marks, too_many: Mask) -> Marks:
    """Return the marks, but for those keys that have too many pairs the marks of keys."""
    of_items = np.flatnonzero(~too_many[classes.keys[marks.owners]])
    of_keys = np.flatnonzero(too_many[classes.keys])
    others = marks_of_keys(classes)
    owners = np.concatenate([marks.owners[of_items], of_keys])
    hashes = np.concatenate([marks.hashes[of_items], others.hashes[of_keys]])
    groups = np.concatenate([marks.groups[of_items], others.groups[of_keys]])
    order = np.argsort(owners, kind="stable")
    return Marks(owners[order], hashes[order], groups[order])


def pairs_of_classes(base: Marks, head: Marks) -> Iterator[tuple[Places, Places]]:
    """Yield the numbers of classes that have a mark in common, each pair once.

    All pairs of a group come together, and those of several groups if they are not too many.
    """
    starts, counts, owners = _joined(base, head)
    size = 1 + int(owners.max(initial=0))
    for batch in _batches(base.groups, counts):
        ours = np.repeat(base.owners[batch], counts[batch])
        theirs = owners[places_of_runs(starts[batch], counts[batch])]
        pairs = np.sort(ours * size + theirs)
        yield np.divmod(pairs[begins_of_runs(pairs)], size)


def _joined(base: Marks, head: Marks) -> tuple[Places, Places, Places]:
    """Return for each mark of base where those that are equal begin in head, and how many.

    They begin in the order of the third array, the owners of head's marks.
    """
    order = np.argsort(head.hashes, kind="stable")
    hashes = head.hashes[order]
    starts = np.searchsorted(hashes, base.hashes, "left")
    counts = np.searchsorted(hashes, base.hashes, "right") - starts
    return starts, counts, head.owners[order]


def _batches(groups: Places, counts: Places) -> Iterator[slice]:
    """Yield slices of sorted groups: one group, or as many as have few pairs."""
    before = np.concatenate(([0], np.cumsum(counts)))
    ends = np.searchsorted(groups, groups, "right")
    bounds = np.unique(ends)
    start = 0
    while start < len(counts):
        last = np.searchsorted(before[bounds], before[start] + _MAX_PAIRS, "right") - 1
        stop = int(max(ends[start], bounds[last]))
        yield slice(start, stop)
        start = stop

"""Classes of candidates that are alike in all but their hashes, and how pairs are taken from them.

5,000 equal specs on either side are no 25 million pairs, but a pair of classes. What is ranked are
pairs of classes; within two classes the hashes decide, so that their pairs follow from two lists.
"""

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.hashed_facts import mixed
from snapshots.changes.node_columns import Fingerprints
from snapshots.frames.columns import begins_of_runs

MAX_CLASSES = 512
"""How many classes of one key are ranked at once."""

_SHIFT = 32

Places = npt.NDArray[np.int64]


def twins(base: Fingerprints, head: Fingerprints) -> tuple[Places, Places]:
    """Pair candidates of both sides that have the same mark: the first ones, the second ones ...

    Return the places of each pair in the two arrays.
    """
    ours, theirs = (mixed(it, _ordinals(it).astype(np.uint64)) for it in (base, head))
    _, first, second = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    return first, second


def _ordinals(marks: Fingerprints) -> Places:
    """Return how many of the same mark stand before each."""
    order = np.argsort(marks, kind="stable")
    begins = np.flatnonzero(begins_of_runs(marks[order]))
    sizes = np.diff(np.append(begins, len(marks)))
    ordinals = np.empty(len(marks), np.int64)
    ordinals[order] = np.arange(len(marks)) - np.repeat(begins, sizes)
    return ordinals


class Classes:
    """The classes of some candidates of one side, key by key, the newest version first.

    ``places`` of candidates rise as their hashes do. By candidate, ``keys`` are the numbers of the
    keys, ``marks`` are the same for those that are alike, and ``versions`` are places in Spack's
    order. By class, ``first`` is the place of its first candidate, ``keys`` the number of its key,
    and ``pieces`` a number for key and piece, where a key has more than ``MAX_CLASSES`` classes:
    ``is_cut`` tells whether any has.
    """

    def __init__(self, places: Places, keys: Places, marks: Fingerprints, versions: Places) -> None:
        _, first, of_member = np.unique(marks, return_index=True, return_inverse=True)
        order = np.lexsort((first, -versions[first], keys[first]))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        numbers = ranks[of_member]
        bounds = np.concatenate(([0], np.cumsum(np.bincount(numbers)))).tolist()
        # Class by class; those that are free yet stand from ``_starts`` on to before ``_stops``.
        self._members: list[int] = places[np.argsort(numbers, kind="stable")].tolist()
        self._starts: list[int] = bounds[:-1]
        self._stops: list[int] = bounds[1:]
        self.first = places[first[order]]
        self.keys = keys[first[order]]
        piece = (np.arange(len(order)) - np.searchsorted(self.keys, self.keys)) // MAX_CLASSES
        self.pieces = first_piece(self.keys) + piece
        self.is_cut = bool(piece.any())

    def __len__(self) -> int:
        return len(self.first)

    def free(self, number: int) -> list[int]:
        """Return the members of a class that are free yet."""
        return self._members[self._starts[number] : self._stops[number]]

    def smallest(self, number: int) -> int:
        """Return the free member with the smallest hash; there is one."""
        return self._members[self._starts[number]]

    def num_free(self, number: int) -> int:
        """Return how many members of a class are free yet."""
        return self._stops[number] - self._starts[number]

    def take(self, number: int, count: int) -> list[int]:
        """Return so many free members, by rising hash; they are no longer free."""
        start = self._starts[number]
        self._starts[number] = start + count
        return self._members[start : start + count]


def first_piece(keys: Places) -> Places:
    """Return the number of the first piece of each key."""
    return keys << _SHIFT


class Taken(NamedTuple):
    """Pairs of places of candidates, as two lists."""

    base: list[int]
    head: list[int]

    def add(self, base: list[int], head: list[int]) -> None:
        """Add pairs."""
        self.base.extend(base)
        self.head.extend(head)


def take_in_order(
    base: Classes, ours: list[int], head: Classes, theirs: list[int], bounds: list[int]
) -> Taken:
    """Take what is free of pairs of classes, from first to last.

    From one of the ``bounds`` to the next stand pairs that rank alike. Of their members the
    smallest hash in base comes first, with the smallest one in head that it can have.
    """
    taken = Taken([], [])
    for start, stop in pairwise(bounds):
        if stop - start == 1:
            one, other = ours[start], theirs[start]
            count = min(base.num_free(one), head.num_free(other))
            if count:
                taken.add(base.take(one, count), head.take(other, count))
            continue
        partners: defaultdict[int, list[int]] = defaultdict(list)
        for one, other in zip(ours[start:stop], theirs[start:stop], strict=True):
            if head.num_free(other):
                partners[one].append(other)
        members = sorted((it, number) for number in partners for it in base.free(number))
        for _, number in members:
            free = [it for it in partners[number] if head.num_free(it)]
            if free:
                nearest = min(free, key=head.smallest)
                taken.add(base.take(number, 1), head.take(nearest, 1))
    return taken

"""Which of several candidates are most alike: pairs of removed and added specs with one key.

All pairs of one key are put in one order, and from its top each pair is taken of which both are
still free. A pair stands before another one if, in this order,

- more of what lies below both is common: the share of (name, version) of all their dependencies,
- more of their stacks is common, root left out,
- more of their variants is common,
- fewer distinct versions, among all that the package has on either side, lie between theirs in
  Spack's order; then the one whose version in head is newer, then the one with the newer in base,
- the hash in base is smaller, then the one in head.

A share is what is common of all that either has: 1 where neither has any.

**5,000 equal specs** are no 25 million pairs. Candidates that differ by nothing but the hash are a
class, and what is ranked are pairs of classes; within two classes the hashes decide, and there the
pairs follow from the two lists. That is the same result. Only where more than ``MAX_CLASSES``
classes have one key, all of them unlike, they are ranked in pieces of so many, newest versions
first; what is left over is ranked again.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.below import Below
from snapshots.changes.candidates import Candidates
from snapshots.changes.shares import shares
from snapshots.changes.sides import mixed
from snapshots.frames.adjacency import places_of_runs
from snapshots.spack.names import ROOT_STACK

MAX_CLASSES = 1_024
"""How many classes of unlike candidates with one key are ranked at once."""

_MAX_PAIRS = 1 << 20
_SHIFT = 32

Places = npt.NDArray[np.int64]


class Group(NamedTuple):
    """Candidates of one side: their places among all, rising, and the number of each one's key."""

    candidates: Candidates
    places: Places
    keys: Places
    versions: Places


class Ranked(NamedTuple):
    """The pairs that were found, as places of candidates; ``is_cut`` where there may be more."""

    base: list[int]
    head: list[int]
    is_cut: bool


class _Classes:
    """The classes of one side, key by key, with what is left of each: its members, last first."""

    def __init__(self, group: Group, sets: Places) -> None:
        candidates, places = group.candidates, group.places
        columns = (candidates.stacks, candidates.variants, candidates.version)
        marks = mixed(
            group.keys.astype(np.uint64),
            sets.astype(np.uint64),
            *(column[places] for column in columns),
        )
        _, first, of_member = np.unique(marks, return_index=True, return_inverse=True)
        order = np.lexsort((first, -group.versions[first], group.keys[first]))
        first = first[order]
        keys = group.keys[first]
        number = np.arange(len(keys)) - np.searchsorted(keys, keys)
        self.is_cut = bool(len(number)) and bool(number.max() >= MAX_CLASSES)
        self.keys = (keys << _SHIFT) + number // MAX_CLASSES
        self.first = first
        self.places = places[first]
        self.versions = group.versions[first]
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        members = np.argsort(rank[of_member], kind="stable")[::-1]
        sizes = np.bincount(rank[of_member], minlength=len(order))
        bounds = np.cumsum(sizes[::-1])[:-1]
        self.left = [it.tolist() for it in np.split(places[members], bounds)][::-1]


def rank(base: Group, head: Group, *, with_common_stack: bool) -> Ranked:
    """Pair the candidates of each key, most alike first.

    ``with_common_stack`` leaves out pairs that have no stack but root in common.
    """
    below = Below(
        base.candidates.side,
        base.candidates.rows[base.places],
        head.candidates.side,
        head.candidates.rows[head.places],
    )
    sets = below.numbers()
    ours, theirs = _Classes(base, sets[0]), _Classes(head, sets[1])
    ranked = Ranked([], [], ours.is_cut or theirs.is_cut)
    for one, other in _pairs(ours, theirs):
        stacks = _shares("stacks", base, ours.places[one], head, theirs.places[other])
        if with_common_stack:
            one, other, stacks = (it[stacks > 0] for it in (one, other, stacks))
        variants = _shares("variants", base, ours.places[one], head, theirs.places[other])
        before, after = ours.versions[one], theirs.versions[other]
        ranks = (
            ours.keys[one],
            -below.shares(ours.first[one], theirs.first[other]),
            -stacks,
            -variants,
            np.abs(before - after),
            -after,
            -before,
        )
        order = np.lexsort(ranks[::-1])
        begins = np.ones(len(order), np.bool_)
        begins[1:] = np.logical_or.reduce([it[order[1:]] != it[order[:-1]] for it in ranks])
        bounds = [*np.flatnonzero(begins).tolist(), len(order)]
        _take(ours.left, one[order].tolist(), theirs.left, other[order].tolist(), bounds, ranked)
    return ranked


def _shares(
    name: str, base: Group, base_places: Places, head: Group, head_places: Places
) -> npt.NDArray[np.float64]:
    """Return the share of what two candidates have in common of a fact that is a list."""
    ours, theirs = base.candidates, head.candidates
    before, after = (it.side.frame.columns[name] for it in (ours, theirs))
    base_rows, head_rows = ours.rows[base_places], theirs.rows[head_places]
    return shares(before, base_rows, after, head_rows, frozenset({ROOT_STACK}))


def _pairs(base: _Classes, head: _Classes) -> Iterator[tuple[Places, Places]]:
    """Yield all pairs of classes with one key, those of a key together, not too many at once."""
    starts = np.searchsorted(head.keys, base.keys, "left")
    counts = np.searchsorted(head.keys, base.keys, "right") - starts
    ends = np.flatnonzero(np.append(base.keys[1:] != base.keys[:-1], True)) + 1
    before = np.concatenate(([0], np.cumsum(counts)))
    start = 0
    while start < len(counts):
        fitting = ends[before[ends] - before[start] <= _MAX_PAIRS]
        stop = int(max(ends[ends > start][0], fitting[-1] if len(fitting) else 0))
        piece = slice(start, stop)
        others = places_of_runs(starts[piece], counts[piece])
        yield np.repeat(np.arange(start, stop), counts[piece]), others
        start = stop


def _take(
    ours: list[list[int]],
    base: list[int],
    theirs: list[list[int]],
    head: list[int],
    bounds: list[int],
    ranked: Ranked,
) -> None:
    """Take pairs of classes in their order; between two bounds stand equal ones."""
    for start, stop in zip(bounds, bounds[1:], strict=False):
        if stop - start == 1:
            one, other = ours[base[start]], theirs[head[start]]
            while one and other:
                ranked.base.append(one.pop())
                ranked.head.append(other.pop())
            continue
        partners: defaultdict[int, list[int]] = defaultdict(list)
        for place in range(start, stop):
            if ours[base[place]] and theirs[head[place]]:
                partners[base[place]].append(head[place])
        for _, number in sorted((it, number) for number in partners for it in ours[number]):
            free = [it for it in partners[number] if theirs[it]]
            if free:
                nearest = min(free, key=lambda it: theirs[it][-1])
                ranked.base.append(ours[number].pop())
                ranked.head.append(theirs[nearest].pop())

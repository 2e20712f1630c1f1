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

Candidates that differ by nothing but the hash are ranked together (``snapshots.changes.alike``),
with the same result. Only where more than ``MAX_CLASSES`` unlike ones have one key on a side, they
are ranked in pieces of so many, newest versions first; what is left over is ranked again.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.alike import Classes, Taken, pairs_of_classes, take_in_order
from snapshots.changes.below import Below, Numbers
from snapshots.changes.candidates import Candidates
from snapshots.changes.hashed_facts import mixed
from snapshots.changes.shares import Shares, shares
from snapshots.frames.columns import Mask, Rows
from snapshots.spack.names import ROOT_STACK

Places = npt.NDArray[np.int64]


class Group(NamedTuple):
    """Candidates of one side: their places among all, rising, and for each the number of its key.

    ``versions`` are places in Spack's order (see ``snapshots.changes.version_places``).
    """

    candidates: Candidates
    places: Places
    keys: Places
    versions: Places

    @classmethod
    def where(
        cls, mask: Mask, candidates: Candidates, places: Places, keys: Places, versions: Places
    ) -> "Group":
        """Return the group of those that a mask marks; ``versions`` are of all candidates."""
        return cls(candidates, places[mask], keys[mask], versions[places[mask]])

    def rows(self, numbers: Places | slice = slice(None)) -> Rows:
        """Return the rows of all, or of those with some numbers."""
        return self.candidates.rows[self.places[numbers]]

    def classes(self, sets: Numbers) -> Classes:
        """Return the classes of those that are alike, ``sets`` being what lies below each."""
        facts = self.candidates.keys(("stacks", "variants", "version"))[self.places]
        marks = mixed(facts, sets.astype(np.uint64), self.keys.astype(np.uint64))
        return Classes(self.places, self.keys, marks, self.versions)


def rank(base: Group, head: Group, *, with_common_stack: bool) -> tuple[Taken, bool]:
    """Pair the candidates of each key, most alike first; tell whether there may be more pairs.

    ``with_common_stack`` leaves out pairs that have no stack but root in common.
    """
    below = Below(base.candidates.side, base.rows(), head.candidates.side, head.rows())
    ours, theirs = base.classes(below.base_numbers), head.classes(below.head_numbers)
    taken = Taken([], [])
    for one, other in pairs_of_classes(ours, theirs):
        first, second = ours.first[one], theirs.first[other]
        stacks = _shares("stacks", base, first, head, second)
        if with_common_stack:
            common = np.flatnonzero(stacks > 0)
            one, other, stacks = one[common], other[common], stacks[common]
            first, second = first[common], second[common]
        before, after = base.versions[first], head.versions[second]
        ranks = (
            ours.keys[one],
            -below.shares(below.base_numbers[first], below.head_numbers[second]),
            -stacks,
            -_shares("variants", base, first, head, second),
            np.abs(before - after),
            -after,
            -before,
        )
        order = np.lexsort(ranks[::-1])
        bounds = [*np.flatnonzero(_begins(ranks, order)).tolist(), len(order)]
        taken.add(*take_in_order(ours, one[order].tolist(), theirs, other[order].tolist(), bounds))
    return taken, ours.is_cut or theirs.is_cut


def _shares(name: str, base: Group, numbers: Places, head: Group, others: Places) -> Shares:
    """Return the share of what two candidates have in common of a fact that is a list."""
    before, after = (getattr(it.candidates.side.frame, name) for it in (base, head))
    left_out = frozenset({ROOT_STACK})
    return shares(before, base.rows(numbers), after, head.rows(others), left_out)


def _begins(ranks: tuple[npt.NDArray[Any], ...], order: Places) -> Mask:
    """Return where another rank begins than that before, in the order of the ranks."""
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.logical_or.reduce([it[order[1:]] != it[order[:-1]] for it in ranks])
    return begins

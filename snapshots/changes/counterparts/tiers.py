"""Tiers of exact keys, in which removed and added specs of one package become counterparts.

Two specs with one key are counterparts, where no others have it. The keys stand in tiers, the most
exact first, and what a tier pairs is left out of those behind it. The architecture (platform,
operating system, target) is in every key; with it ``TIERS``. Then come the same tiers once more
for what is left, with "a stack other than root in common" in place of the architecture. Where
several have one key, ``ranking`` says which of them are most alike.

Pairs are one to one, and specs that share neither architecture nor stack are none. All that decides
is what the specs are, so the order of rows makes no difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from snapshots.changes.counterparts.candidates import Candidates
from snapshots.changes.counterparts.ranking import Group, Ranking
from snapshots.changes.sides import Side
from snapshots.frames.columns import Mask, Rows

TIERS = (
    ("variants", "names", "version"),
    ("variants", "names"),
    ("variants", "version"),
    ("variants",),
    ("names", "version"),
    ("names",),
    ("version",),
    (),
)
"""The facts in the keys of each tier, beside package and architecture.

``names`` are those of the direct dependencies.
"""

_NO_ROW = -1

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Counterparts:
    """The pairs: ``base_of`` has for each row of head its row in base, ``head_of`` the reverse.

    -1 stands for none.
    """

    base_of: Rows
    head_of: Rows

    @cached_property
    def head_rows(self) -> Rows:
        """The rows in head of all pairs, rising."""
        return np.flatnonzero(self.base_of != _NO_ROW).astype(np.int32)

    @cached_property
    def base_rows(self) -> Rows:
        """The rows in base of the same pairs, in the same order."""
        return self.base_of[self.head_rows]

    def __len__(self) -> int:
        return len(self.head_rows)

    @property
    def num_bytes(self) -> int:
        """How much memory the rows take."""
        rows = (self.base_of, self.head_of, self.head_rows, self.base_rows)
        return sum(it.nbytes for it in rows)


def find_counterparts(base: Side, removed: Rows, head: Side, added: Rows) -> Counterparts:
    """Pair the removed rows of base with the added rows of head."""
    base_of = np.full(len(head.frame), _NO_ROW, np.int32)
    head_of = np.full(len(base.frame), _NO_ROW, np.int32)
    for ours, theirs in _Search(base, removed, head, added).pairs():
        base_of[theirs] = ours
        head_of[ours] = theirs
    return Counterparts(base_of, head_of)


class _Search:
    """The search for pairs, tier by tier; ``_free`` marks the candidates that have none yet."""

    def __init__(self, base: Side, removed: Rows, head: Side, added: Rows) -> None:
        self._base, self._head = Candidates(base, removed), Candidates(head, added)
        self._free = np.ones(len(removed), np.bool_), np.ones(len(added), np.bool_)

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield rows of base and their counterparts in head."""
        for tier in TIERS:
            yield from self._pair_all(("package", "architecture", *tier), by_stack=False)
        for free, candidates in zip(self._free, (self._base, self._head), strict=True):
            free &= candidates.has_stack
        for tier in TIERS:
            yield from self._pair_all(("package", *tier), by_stack=True)

    def _pair_all(self, facts: Sequence[str], *, by_stack: bool) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs of one tier."""
        is_cut = True
        while is_cut:
            is_cut = False
            for base, head, may_be_more in self._pair(facts, by_stack=by_stack):
                self._free[0][base] = self._free[1][head] = False
                is_cut = may_be_more and len(base) > 0
                yield self._base.rows[base], self._head.rows[head]

    def _pair(
        self, facts: Sequence[str], *, by_stack: bool
    ) -> Iterator[tuple[Places, Places, bool]]:
        """Yield pairs with one key as places of candidates, and whether there may be more."""
        base, head = map(np.flatnonzero, self._free)
        if not len(base) or not len(head):
            return
        both = np.concatenate([self._base.keys(facts)[base], self._head.keys(facts)[head]])
        distinct, keys = np.unique(both, return_inverse=True)
        of_base, of_head = np.split(keys, [len(base)])
        before, after = (np.bincount(it, minlength=len(distinct)) for it in (of_base, of_head))
        # Two that are alone with their key need no ranking, but a stack in common is to be seen.
        alone = (before == 1) & (after == 1) & (not by_stack)
        yield _by_key(base, of_base, alone), _by_key(head, of_head, alone), False
        several = (before > 0) & (after > 0) & ~alone
        if several.any():
            ours, theirs = several[of_base], several[of_head]
            taken, is_cut = self._ranking.pair(
                Group(base[ours], of_base[ours]),
                Group(head[theirs], of_head[theirs]),
                with_common_stack=by_stack,
            )
            yield np.array(taken.base, np.int64), np.array(taken.head, np.int64), is_cut

    @cached_property
    def _ranking(self) -> Ranking:
        """The ranking of all that are free and may have counterparts; made when first needed."""
        base, head = map(np.flatnonzero, self._free)
        ours, theirs = self._base.package[base], self._head.package[head]
        base, head = base[np.isin(ours, theirs)], head[np.isin(theirs, ours)]
        return Ranking(self._base, base, self._head, head)


def _by_key(places: Places, keys: Places, chosen: Mask) -> Places:
    """Return the places of candidates whose key is chosen, by key."""
    is_chosen = chosen[keys]
    return places[is_chosen][np.argsort(keys[is_chosen])]

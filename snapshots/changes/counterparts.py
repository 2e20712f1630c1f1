"""Counterparts: pairs of a removed and an added spec of one package.

Two specs are counterparts if they have the same key and no other spec has it. Keys are tried in
tiers (``TIERS``), the most specific first; specs that a tier pairs are excluded from later tiers.
In the first pass through the tiers, each key includes the architecture (platform, operating system,
target). In a second pass, "a common stack other than root" replaces the architecture for the
remaining specs.

Pairs are one to one. Specs that share neither architecture nor stack are not paired unless both are
unmatched (``sides.find_unmatched``): for these, the second pass requires neither. The result
depends only on facts of the specs, not on the order of rows.

If several specs have the same key, all pairs with that key are sorted, and each pair whose specs
are both still free is selected in this order. A pair precedes another if, in this order,

- it has more votes (``votes.py``),
- the share of (name, version) of all dependencies that both specs have in common is larger,
- the share of (name, version, variants) of all dependencies in common is larger,
- the share of their stacks in common, without root, is larger,
- the share of their variants in common is larger,
- fewer distinct versions, among all versions of the package on either side, lie between theirs in
  Spack's order; then its version in head is newer, then its version in base is newer,
- the hash in base is smaller, then the one in head.

A share is the size of the intersection divided by that of the union, and 1 if both are empty.

Counterparts vote, so they are determined repeatedly: first without votes, then with the votes of
the previous counterparts, until the votes no longer change, at most ``MAX_ROUNDS`` times.

Candidates that differ only in the hash are ranked together as a class, with the same result: 5,000
equal specs on each side are one pair of classes. Only if more than ``MAX_CLASSES`` different
classes of a side have the same key, they are ranked in pieces of that size, newest versions first,
and the remaining ones are ranked again. In that case, two specs of different pieces may be more
similar than those that are paired. If a common stack is required, this applies from about 250,000
pairs with the same key and a common stack.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.candidates import (
    Candidates,
    Classes,
    Items,
    Places,
    Tie,
    Ties,
    marks_of_items,
    marks_of_keys,
    pair_in_order,
    pairs_of_classes,
    twins,
)
from snapshots.changes.likeness import Below, Numbers, Shares, shares, version_places
from snapshots.changes.sides import Apart, Fingerprints, Side
from snapshots.changes.votes import Votes, count_votes
from snapshots.frames.columns import Mask, Rows, mixed
from snapshots.spack.names import ROOT_STACK

_NO_KEY = -1

_BELOW = (("package", "version"), ("package", "version", "variants"))
"""The columns by which the sets of dependencies of specs are compared, in the order of ranking."""


class Group(msgspec.Struct, frozen=True):
    """Some candidates of one side: their ascending indices among all, and their key numbers."""

    places: Places
    keys: Places

    def without(self, places: Places) -> "Group":
        """Return the group without the candidates at ``places``."""
        is_other = np.isin(self.places, places, invert=True)
        return Group(self.places[is_other], self.keys[is_other])

    def keys_among(self, size: int) -> Places:
        """Return the key number of each of ``size`` candidates, -1 for those not in the group."""
        keys = np.full(size, _NO_KEY, np.int64)
        keys[self.places] = self.keys
        return keys


class _Ranked(msgspec.Struct, frozen=True):
    """The candidates of one side and the facts by which they are ranked.

    ``sets`` are the numbers of the sets of all dependencies of each candidate, without and with
    variants; ``versions`` are positions in Spack's order.
    """

    candidates: Candidates
    sets: Sequence[Numbers]
    versions: Places

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    def marks(self, group: Group) -> Fingerprints:
        """Return a hash per candidate that is equal for candidates that differ only in the hash."""
        facts = self.candidates.keys(("stacks", "variants", "version"))[group.places]
        numbers = *(numbers[group.places] for numbers in self.sets), group.keys
        return mixed(facts, *(column.astype(np.uint64) for column in numbers))

    def singles(self, places: Places) -> tuple[Classes, Places]:
        """Return classes of one candidate each, and the class number of each of ``places``."""
        distinct = np.unique(places)
        classes = Classes(distinct, np.zeros_like(distinct), distinct.astype(np.uint64), -distinct)
        return classes, np.searchsorted(distinct, places)

    def classes(self, group: Group, marks: Fingerprints, paired: Places) -> Classes:
        """Return the classes of the candidates that are not paired yet."""
        unpaired = np.delete(np.arange(len(group.places)), paired)
        places = group.places[unpaired]
        return Classes(places, group.keys[unpaired], marks[unpaired], self.versions[places])


class Ranking:
    """Ranks candidates of base and head that have no counterparts yet.

    ``base_places`` and ``head_places`` are the indices of candidates that can be paired at all.
    """

    def __init__(
        self, base: Candidates, base_places: Places, head: Candidates, head_places: Places
    ) -> None:
        versions = version_places(base.side.frame, base.rows, head.side.frame, head.rows)
        rows = base.rows[base_places], head.rows[head_places]
        has_edges = any(len(candidates.side.graph.targets) for candidates in (base, head))
        # Without edges, the sets contain only compilers, regardless of the columns.
        compared = _BELOW if has_edges else _BELOW[:1]
        self._below = [
            Below(base.side, rows[0], head.side, rows[1], columns) for columns in compared
        ]
        ours = [_placed(len(base), base_places, below.base_numbers) for below in self._below]
        theirs = [_placed(len(head), head_places, below.head_numbers) for below in self._below]
        self._base = _Ranked(base, ours, versions[0])
        self._head = _Ranked(head, theirs, versions[1])

    def pair(
        self,
        base: Group,
        head: Group,
        votes: Votes | None,
        ties: Ties | None,
        *,
        with_common_stack: bool,
    ) -> tuple[Places, Places, bool]:
        """Pair the candidates of each key: most votes first, then the most similar.

        Return the indices of the pairs in base and in head, and whether more pairs may remain. Ties
        that only the hashes resolve are added to ``ties``, unless it is None.

        ``with_common_stack`` excludes pairs that have no stack other than root in common.
        """
        pairs = []
        if votes:
            pairs.append(self._voted(base, head, votes, ties, with_common_stack=with_common_stack))
            base, head = base.without(pairs[0][0]), head.without(pairs[0][1])
        marks = self._base.marks(base), self._head.marks(head)
        # No pair precedes one of equal candidates, and each class equals at most one class.
        first, second = twins(*marks)
        if ties:
            ties.add_ties(base.places, marks[0], head.places, marks[1])
        pairs.append((base.places[first], head.places[second]))
        ours = self._base.classes(base, marks[0], first)
        theirs = self._head.classes(head, marks[1], second)
        if with_common_stack:
            base_stacks = self._base.candidates.stacks_of(ours.first)
            head_stacks = self._head.candidates.stacks_of(theirs.first)
            joined = marks_of_items(ours, base_stacks, theirs, head_stacks)
        else:
            joined = marks_of_keys(ours), marks_of_keys(theirs)
        for one, other in pairs_of_classes(*joined):
            stacks = self._shares("stacks", ours.first[one], theirs.first[other])
            chosen = stacks > 0 if with_common_stack else np.ones(len(one), np.bool_)
            one, other, stacks = one[chosen], other[chosen], stacks[chosen]
            ranks = self._ranks(ours.first[one], theirs.first[other], stacks)
            classes = ours, one, theirs, other
            pairs.append(_pair_by_rank(*classes, (ours.keys[one], *ranks), ties))
        places = [np.concatenate(of_side) for of_side in zip(*pairs, strict=True)]
        return places[0], places[1], ours.is_cut or theirs.is_cut

    def _voted(
        self, base: Group, head: Group, votes: Votes, ties: Ties | None, *, with_common_stack: bool
    ) -> tuple[Places, Places]:
        """Pair candidates of the same key that have votes."""
        keys = base.keys_among(self._base.size), head.keys_among(self._head.size)
        same = keys[0][votes.base] == keys[1][votes.head]
        chosen = np.flatnonzero(same & (keys[0][votes.base] != _NO_KEY))
        before, after = votes.base[chosen], votes.head[chosen]
        stacks = self._shares("stacks", before, after)
        if with_common_stack:
            common = np.flatnonzero(stacks > 0)
            chosen, stacks = chosen[common], stacks[common]
            before, after = before[common], after[common]
        ranks = keys[0][before], -votes.counts[chosen], *self._ranks(before, after, stacks)
        ours, one = self._base.singles(before)
        theirs, other = self._head.singles(after)
        return _pair_by_rank(ours, one, theirs, other, ranks, ties)

    def _ranks(self, base: Places, head: Places, stacks: Shares) -> tuple[npt.NDArray[Any], ...]:
        """Return the columns by which pairs are sorted in ascending order, all but the hashes."""
        before, after = self._base.versions[base], self._head.versions[head]
        return (
            *(
                -below.shares(ours[base], theirs[head])
                for below, ours, theirs in zip(
                    self._below, self._base.sets, self._head.sets, strict=True
                )
            ),
            -stacks,
            -self._shares("variants", base, head),
            np.abs(before - after),
            -after,
            -before,
        )

    def _shares(self, name: str, base: Places, head: Places) -> Shares:
        """Return the share of a list-valued fact that each two candidates have in common."""
        ours, theirs = self._base.candidates, self._head.candidates
        before, after = (getattr(candidates.side.frame, name) for candidates in (ours, theirs))
        left_out = frozenset({ROOT_STACK})
        return shares(before, ours.rows[base], after, theirs.rows[head], left_out)


def _placed(size: int, places: Places, numbers: Numbers) -> Numbers:
    """Return an array of ``size`` numbers: the given ones at their indices, -1 elsewhere."""
    placed = np.full(size, -1, np.int64)
    placed[places] = numbers
    return placed


def _pair_by_rank(
    base: Classes,
    ours: Places,
    head: Classes,
    theirs: Places,
    ranks: tuple[npt.NDArray[Any], ...],
    ties: Ties | None,
) -> tuple[Places, Places]:
    """Select the free members of pairs of classes, those of the smallest rank first."""
    order = np.lexsort(ranks[::-1])
    bounds = [*np.flatnonzero(_begins(ranks, order)).tolist(), len(order)]
    classes = base, ours[order].tolist(), head, theirs[order].tolist()
    of_base, of_head = pair_in_order(*classes, bounds, ties)
    return np.array(of_base, np.int64), np.array(of_head, np.int64)


def _begins(ranks: tuple[npt.NDArray[Any], ...], order: Places) -> Mask:
    """Return where the rank differs from the previous one, in sorted order."""
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in ranks])
    return begins


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
"""The facts in the keys of each tier, in addition to package and architecture.

``names`` are those of the direct dependencies.
"""

_NO_ROW = -1
_TIE_BYTES = 200


class Counterparts(msgspec.Struct, frozen=True, dict=True):
    """The pairs: ``base_of`` contains the row in base of each row of head, ``head_of`` the reverse.

    -1 means none. ``base_ties`` and ``head_ties`` map rows to ties: specs that have counterparts,
    or could have them, only because of their hashes.
    """

    base_of: Rows
    head_of: Rows
    base_ties: Mapping[int, Tie] = {}
    head_ties: Mapping[int, Tie] = {}

    @cached_property
    def head_rows(self) -> Rows:
        """The rows in head of all pairs, ascending."""
        return np.flatnonzero(self.base_of != _NO_ROW).astype(np.int32)

    @cached_property
    def base_rows(self) -> Rows:
        """The rows in base of the same pairs, in the same order."""
        return self.base_of[self.head_rows]

    def __len__(self) -> int:
        return len(self.head_rows)

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the rows and ties, in bytes."""
        rows = (self.base_of, self.head_of, self.head_rows, self.base_rows)
        num_ties = len(self.base_ties) + len(self.head_ties)
        return sum(array.nbytes for array in rows) + _TIE_BYTES * num_ties


MAX_ROUNDS = 10
"""Maximum number of rounds of voting; for real caches, votes are stable after a few."""


def find_counterparts(
    base: Side,
    removed: Rows,
    head: Side,
    added: Rows,
    *,
    apart: Apart | None = None,
    with_ties: bool = True,
) -> Counterparts:
    """Pair the removed rows of base with the added rows of head.

    Finding ties takes as long as one round; without ``with_ties``, none are returned.
    """
    search = _Search(base, removed, head, added, apart)
    pairs = search.pairs()
    for _ in range(MAX_ROUNDS):
        if not search.vote(pairs):
            break
        pairs = search.pairs()
    return search.pairs(with_ties=True) if with_ties and search.is_ranked else pairs


class _State(msgspec.Struct):
    """The state of a search: the number of the current pass, and the pairs found so far.

    ``free`` marks the candidates of base and of head that have no counterpart yet.
    """

    number: int
    free: tuple[Mask, Mask]
    pairs: list[tuple[Places, Places]]

    def copy(self) -> "_State":
        """Return an independent copy."""
        return _State(self.number, (self.free[0].copy(), self.free[1].copy()), [*self.pairs])

    def take(self, base: Places, head: Places) -> None:
        """Pair candidates of base with candidates of head."""
        self.free[0][base] = self.free[1][head] = False
        self.pairs.append((base, head))


_CLOSEST = tuple((("package", "architecture", *tier), False) for tier in TIERS)
"""The facts in the keys of each pass, and whether a common stack is required."""

_OF_ONE_STACK = tuple((("package", *tier), True) for tier in TIERS)
"""The passes that follow if no spec is apart."""

_APART = tuple((("package", *tier), False) for tier in TIERS)
"""The passes that follow for specs that are apart; the two sides then have no common stack."""


class _Search:
    """The search for pairs, pass by pass."""

    def __init__(
        self,
        base: Side,
        removed: Rows,
        head: Side,
        added: Rows,
        apart: Apart | None,
    ) -> None:
        self._passes = (*_CLOSEST, *(_OF_ONE_STACK if apart is None else _APART))
        self._apart = apart
        self._sides = Candidates(base, removed), Candidates(head, added)
        free = np.ones(len(removed), np.bool_), np.ones(len(added), np.bool_)
        self._state = _State(0, free, [])
        self._first_ranking: _State | None = None
        self._votes: Votes | None = None
        self._ties: Ties | None = None

    @property
    def is_ranked(self) -> bool:
        """Whether any candidates had to be ranked; otherwise votes and ties are irrelevant."""
        return self._first_ranking is not None

    def pairs(self, *, with_ties: bool = False) -> Counterparts:
        """Return the counterparts according to the current votes; the first round has none.

        Finding ties takes as long as ranking.
        """
        # The passes before the first ranking do not depend on votes.
        state = self._state = (self._first_ranking or self._state).copy()
        ties = self._ties = Ties(*map(len, self._sides)) if with_ties else None
        for number in range(state.number, len(self._passes)):
            state.number = number
            facts, by_stack = self._passes[number]
            if number == len(_CLOSEST):
                self._leave_out(state.free)
            while self._pair(facts, by_stack=by_stack):
                pass
        base, head = self._sides
        base_of = np.full(len(head.side.frame), _NO_ROW, np.int32)
        head_of = np.full(len(base.side.frame), _NO_ROW, np.int32)
        for ours, theirs in state.pairs:
            base_of[head.rows[theirs]] = base.rows[ours]
            head_of[base.rows[ours]] = head.rows[theirs]
        if not ties:
            return Counterparts(base_of, head_of)
        by_row = (
            {int(candidates.rows[place]): tie for place, tie in of_places}
            for candidates, of_places in zip(self._sides, ties.by_place(), strict=True)
        )
        return Counterparts(base_of, head_of, *by_row)

    def _leave_out(self, free: tuple[Mask, Mask]) -> None:
        """Exclude specs that are not apart or, if none is, that share no stack with any candidate.

        Only candidates of the same package count. Most of the remaining specs share no stack; each
        tier would rank them without result.
        """
        if self._apart is not None:
            for of_side, candidates, are_unmatched in zip(
                free, self._sides, self._apart, strict=True
            ):
                of_side &= are_unmatched[candidates.rows]
            return
        base, head = map(_marks_of_stacks, self._sides, free)
        for of_side, ours, theirs in zip(free, (base, head), (head, base), strict=True):
            of_side[:] = False
            of_side[ours.owners[np.isin(ours.hashes, theirs.hashes)]] = True

    def vote(self, pairs: Counterparts) -> bool:
        """Let counterparts vote; return whether the votes differ from those of the last round."""
        if self._first_ranking is None:
            return False
        rows = pairs.base_rows, pairs.head_rows
        last, self._votes = self._votes, count_votes(self._sides, self._first_ranking.free, rows)
        return not self._votes.is_same_as(last) if last else len(self._votes.counts) > 0

    def _pair(self, facts: Sequence[str], *, by_stack: bool) -> bool:
        """Pair candidates with the same key; return whether there may be more such pairs."""
        state = self._state
        base, head = map(np.flatnonzero, state.free)
        if not len(base) or not len(head):
            return False
        keys_of_base, keys_of_head = self._sides[0].keys(facts), self._sides[1].keys(facts)
        both = np.concatenate([keys_of_base[base], keys_of_head[head]])
        distinct, keys = np.unique(both, return_inverse=True)
        of_base, of_head = np.split(keys, [len(base)])
        before, after = (
            np.bincount(codes, minlength=len(distinct)) for codes in (of_base, of_head)
        )
        # A single pair with a key needs no ranking, but a common stack has yet to be checked.
        alone = (before == 1) & (after == 1) & (not by_stack)
        state.take(_by_key(base, of_base, alone), _by_key(head, of_head, alone))
        several = (before > 0) & (after > 0) & ~alone
        if not several.any():
            return False
        self._first_ranking = self._first_ranking or state.copy()
        ours, theirs = several[of_base], several[of_head]
        groups = Group(base[ours], of_base[ours]), Group(head[theirs], of_head[theirs])
        first, second, may_be_more = self._ranking.pair(
            *groups, self._votes, self._ties, with_common_stack=by_stack
        )
        state.take(first, second)
        return may_be_more and len(first) > 0

    @cached_property
    def _ranking(self) -> Ranking:
        """The ranking of all free candidates that may have counterparts; created on first use."""
        base, head = map(np.flatnonzero, self._state.free)
        ours, theirs = (candidates.package for candidates in self._sides)
        of_base, of_head = np.isin(ours[base], theirs[head]), np.isin(theirs[head], ours[base])
        return Ranking(self._sides[0], base[of_base], self._sides[1], head[of_head])


def _marks_of_stacks(candidates: Candidates, free: Mask) -> Items:
    """Return the free candidates with a hash of their package and each of their stacks."""
    places = np.flatnonzero(free)
    stacks = candidates.stacks_of(places)
    owners = places[stacks.owners]
    return Items(owners, mixed(candidates.package[owners], stacks.hashes))


def _by_key(places: Places, keys: Places, chosen: Mask) -> Places:
    """Return the indices of the candidates whose key is chosen, sorted by key."""
    is_chosen = chosen[keys]
    return places[is_chosen][np.argsort(keys[is_chosen])]

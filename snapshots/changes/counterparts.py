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

- it has more votes (see ``Votes``),
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
similar than those that are paired.

Facts of candidates are columns of hashes. Pairs of classes are ranked; within two classes, the
hashes decide, so their pairs follow from two sorted lists.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Fingerprints, Mask, Numbers, Rows, Shares
from snapshots.changes.involvement import ranks
from snapshots.changes.likeness import Below, Walk, shares, version_places
from snapshots.changes.sides import Apart, Side, row_hashes
from snapshots.frames.columns import (
    Arrays,
    are_among,
    begins_of_runs,
    distinct_codes,
    mixed,
    places_of_runs,
    sorted_order,
)
from snapshots.models import ARCHITECTURE
from snapshots.spack.names import ROOT_STACK

# -- candidates


class Candidates:
    """Rows of one side sorted by hash; all columns are in this order.

    Each column contains a 64-bit hash of a fact, so that the columns of both sides can be compared.
    The key of several facts is a combination of their hashes: two different keys are equal by
    chance in one of 10^19 pairs.
    """

    def __init__(self, side: Side, rows: Rows) -> None:
        self.side = side
        self.rows = rows[np.argsort(ranks(side.frame.hashes.order)[rows], kind="stable")]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def package(self) -> Fingerprints:
        """The name of the package."""
        return self._column("name")

    @cached_property
    def architecture(self) -> Fingerprints:
        """The platform, the operating system and the target."""
        return row_hashes(self.side.frame, self.rows, ARCHITECTURE)

    @cached_property
    def variants(self) -> Fingerprints:
        """All variants."""
        return self._column("variants")

    @cached_property
    def version(self) -> Fingerprints:
        """The version."""
        return self._column("version")

    @cached_property
    def stacks(self) -> Fingerprints:
        """All stacks other than root."""
        frame = self.side.frame
        return frame.stacks_without_root[frame.stacks.codes[self.rows]].astype(np.uint64)

    def packages_in_stacks(self, places: Numbers) -> tuple[Numbers, Fingerprints]:
        """Return some candidates, each once per stack, with a hash of their package and the stack.

        Root does not count.
        """
        column = self.side.frame.stacks
        owners, items = column.items_of(column.codes[self.rows[places]])
        hashes = np.fromiter(map(hash, column.items), np.int64, len(column.items))
        is_other = items != column.item_index.get(ROOT_STACK, -1)
        places = places[owners[is_other]]
        return places, mixed(self.package[places], hashes[items[is_other]].astype(np.uint64))

    def keys(self, facts: Sequence[str], places: Numbers) -> Fingerprints:
        """Return one hash of several facts per candidate; ``facts`` are names of these columns."""
        return mixed(*(getattr(self, fact)[places] for fact in facts))

    @cached_property
    def names(self) -> Fingerprints:
        """The set of names of the direct dependencies, regardless of the types of the edges.

        A compiler that is not a dependency counts as one.
        """
        distinct, owners, codes = self._named()
        pairs = np.sort(owners * len(distinct) + codes)
        pairs = pairs[begins_of_runs(pairs)]
        sums = np.zeros(len(self), np.uint64)
        if len(pairs):
            np.add.at(sums, pairs // len(distinct), distinct[pairs % len(distinct)])
        return sums

    def _named(self) -> tuple[Fingerprints, Numbers, Numbers]:
        """Return hashes of names, and for each dependency the indices of its owner and its name."""
        side, graph = self.side, self.side.graph
        stating = np.flatnonzero(side.stating_compilers[self.rows])
        of_compilers = side.compilers[0][self.rows[stating]]
        packages = side.column("package")
        of_packages = packages.fingerprints.astype(np.uint64)
        hashes = np.concatenate([of_packages, of_compilers])
        first, of_hashes = distinct_codes(hashes)
        names, compilers = np.split(of_hashes, [len(of_packages)])
        edges = graph.down.edges_of(self.rows.astype(np.int64))
        place_of = np.empty(graph.num_nodes, np.int64)
        place_of[self.rows] = np.arange(len(self))
        owners = [place_of[graph.sources[edges]], stating]
        codes = [names[packages.codes[graph.targets[edges]]], compilers]
        return hashes[first], np.concatenate(owners), np.concatenate(codes)

    def _column(self, name: str) -> Fingerprints:
        return row_hashes(self.side.frame, self.rows, [name])


MAX_CLASSES = 512
"""Maximum number of classes with the same key that are ranked at once."""

_HALF = 32
"""Half the number of bits of a number."""


def match(base: Fingerprints, head: Fingerprints) -> tuple[Numbers, Numbers]:
    """Pair candidates of both sides with the same mark: the first of each, the second, and so on.

    Return the indices of each pair in the two arrays.
    """
    ours, theirs = (mixed(marks, _ordinals(marks).astype(np.uint64)) for marks in (base, head))
    _, first, second = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    return first, second


def _ordinals(marks: Fingerprints) -> Numbers:
    """Return for each mark the number of equal marks that precede it."""
    order = np.argsort(marks, kind="stable")
    begins = np.flatnonzero(begins_of_runs(marks[order]))
    sizes = np.diff(np.append(begins, len(marks)))
    ordinals = np.empty(len(marks), np.int64)
    ordinals[order] = np.arange(len(marks)) - np.repeat(begins, sizes)
    return ordinals


class Classes:
    """The classes of some candidates of one side, sorted by key, the newest version first.

    Per candidate, ``places`` ascend with the hashes, ``keys`` are key numbers, ``marks`` are equal
    for candidates that differ only in the hash, and ``versions`` are positions in Spack's order.
    Per class, ``first`` is the index of its first candidate and ``keys`` its key number. ``pieces``
    are numbers of keys and pieces: a key with more than ``MAX_CLASSES`` classes has several pieces,
    and ``is_cut`` is True if there is such a key.
    """

    def __init__(
        self, places: Numbers, keys: Numbers, marks: Fingerprints, versions: Numbers
    ) -> None:
        first, of_member = distinct_codes(marks)
        order = np.lexsort((first, -versions[first], keys[first]))
        numbers = ranks(order)[of_member]
        bounds = np.concatenate(([0], np.cumsum(np.bincount(numbers)))).tolist()
        # Sorted by class; the free members of a class are those from ``_starts`` to ``_stops``.
        self._members: list[int] = places[np.argsort(numbers, kind="stable")].tolist()
        self._starts: list[int] = bounds[:-1]
        self._stops: list[int] = bounds[1:]
        self.first = places[first[order]]
        self.keys = keys[first[order]]
        piece = (np.arange(len(order)) - np.searchsorted(self.keys, self.keys)) // MAX_CLASSES
        self.pieces = (self.keys << _HALF) + piece
        self.is_cut = bool(piece.any())

    def __len__(self) -> int:
        return len(self.first)

    def free(self, number: int) -> list[int]:
        """Return the members of a class that are still free."""
        return self._members[self._starts[number] : self._stops[number]]

    def smallest(self, number: int) -> int:
        """Return the free member with the smallest hash; there must be one."""
        return self._members[self._starts[number]]

    def num_free(self, number: int) -> int:
        """Return the number of members of a class that are still free."""
        return self._stops[number] - self._starts[number]

    def take(self, number: int, count: int) -> list[int]:
        """Return `count` free members in the order of their hashes, and mark them as not free."""
        start = self._starts[number]
        self._starts[number] = start + count
        return self._members[start : start + count]


def pair_in_order(
    base: Classes, ours: list[int], head: Classes, theirs: list[int], bounds: list[int]
) -> tuple[list[int], list[int]]:
    """Pair the free members of pairs of classes, from first to last; return their indices.

    Pairs between two adjacent ``bounds`` have the same rank. Among their members, the smallest hash
    in base comes first, and is paired with the smallest possible one in head.
    """
    of_base: list[int] = []
    of_head: list[int] = []
    for start, stop in pairwise(bounds):
        partners: defaultdict[int, list[int]] = defaultdict(list)
        for one, other in zip(ours[start:stop], theirs[start:stop], strict=True):
            if base.num_free(one) and head.num_free(other):
                partners[one].append(other)
        if len(partners) == 1 and len(next(iter(partners.values()))) == 1:
            ((one, (other,)),) = partners.items()
            count = min(base.num_free(one), head.num_free(other))
            of_base += base.take(one, count)
            of_head += head.take(other, count)
            continue
        members = sorted((place, number) for number in partners for place in base.free(number))
        for _, number in members:
            free = [other for other in partners[number] if head.num_free(other)]
            if free:
                of_base += base.take(number, 1)
                of_head += head.take(min(free, key=head.smallest), 1)
    return of_base, of_head


_MAX_PAIRS = 1 << 18


def pairs_of_classes(base: Numbers, head: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the numbers of classes of the same piece; the pieces of both sides ascend.

    All pairs of a piece are in the same batch; several small pieces share a batch.
    """
    starts = np.searchsorted(head, base, "left")
    counts = np.searchsorted(head, base, "right") - starts
    for start, stop in _batches(base, counts):
        ours = np.repeat(np.arange(start, stop), counts[start:stop])
        yield ours, places_of_runs(starts[start:stop], counts[start:stop])


def _batches(pieces: Numbers, counts: Numbers) -> Iterator[tuple[int, int]]:
    """Yield ranges of sorted pieces: one piece, or as many as have few pairs."""
    before = np.concatenate(([0], np.cumsum(counts)))
    ends = np.searchsorted(pieces, pieces, "right")
    bounds = np.unique(ends)
    start = 0
    while start < len(counts):
        last = np.searchsorted(before[bounds], before[start] + _MAX_PAIRS, "right") - 1
        stop = int(max(ends[start], bounds[last]))
        yield start, stop
        start = stop


# -- votes


class Votes(msgspec.Struct, frozen=True):
    """The pairs of candidates that have votes, and the number of votes of each.

    A pair is the index in base times the number of candidates of head, plus the index in head;
    ``pairs`` is sorted. Two counterparts vote for two candidates that they depend on by the same
    name. If one of the two depends on several specs of a name, it does not vote on them.
    """

    pairs: Numbers
    counts: Numbers

    def plus(self, others: "Votes") -> "Votes":
        """Return the sum of both; pairs without votes are left out."""
        pairs = np.concatenate([self.pairs, others.pairs])
        order = np.argsort(pairs, kind="stable")  # linear for two sorted parts
        pairs = pairs[order]
        begins = np.flatnonzero(begins_of_runs(pairs))
        counts = np.concatenate([self.counts, others.counts])[order]
        sums = np.add.reduceat(counts, begins) if len(begins) else counts
        return Votes(pairs[begins][sums != 0], sums[sums != 0])


NO_VOTES = Votes(np.empty(0, np.int64), np.empty(0, np.int64))


class Ballot:
    """Who votes for whom: the candidates that each candidate depends on by a unique name.

    Only candidates that are ``free`` get votes. Each argument contains that of base and that of
    head.
    """

    def __init__(self, candidates: Sequence[Candidates], free: Sequence[Mask]) -> None:
        self._num_head = len(candidates[1])
        names = [one.side.column("package").fingerprints.astype(np.uint64) for one in candidates]
        first, numbers = distinct_codes(np.concatenate(names))
        self._num_names = len(first)
        self._uses = [
            _Uses(one, mask, of_side, len(first))
            for one, mask, of_side in zip(
                candidates, free, np.split(numbers, [len(names[0])]), strict=True
            )
        ]

    def votes(self, base: Numbers, head: Numbers, *, weight: int = 1) -> Votes:
        """Return the votes of counterparts, given by their indices; each has so much weight."""
        (ours, before), (theirs, after) = (
            uses.of(places) for uses, places in zip(self._uses, (base, head), strict=True)
        )
        # Both are sorted, and a name occurs once per counterpart.
        found = np.minimum(np.searchsorted(theirs, ours), max(0, len(theirs) - 1))
        both = np.flatnonzero(theirs[found] == ours) if len(theirs) else np.empty(0, np.int64)
        pairs = np.sort(before[both] * self._num_head + after[found[both]])
        begins = np.flatnonzero(begins_of_runs(pairs))
        return Votes(pairs[begins], weight * np.diff(np.append(begins, len(pairs))))


class _Uses:
    """The free candidates on which candidates of one side depend by a name unique among theirs.

    They are sorted by user and name. ``names`` are name numbers per value of the package column.
    """

    def __init__(self, candidates: Candidates, free: Mask, names: Numbers, num_names: int) -> None:
        side, nodes = candidates.side, candidates.rows.astype(np.int64)
        graph = side.graph
        self._num_names = num_names
        place_of = np.full(graph.num_nodes, NO_ROW, np.int64)
        place_of[candidates.rows[free]] = np.flatnonzero(free)
        counts = graph.down.starts[nodes + 1] - graph.down.starts[nodes]
        targets = graph.targets[graph.down.edges_of(nodes)]
        keys = np.repeat(np.arange(len(nodes)), counts) * num_names
        keys += names[side.column("package").codes[targets]]
        order = sorted_order(keys)
        keys = keys[order]
        begins = begins_of_runs(keys)
        is_unique = begins & np.append(begins[1:], True)
        places = place_of[targets[order]]
        chosen = is_unique & (places != NO_ROW)
        users, self._names = np.divmod(keys[chosen], num_names)
        self._places = places[chosen]
        self._starts = np.searchsorted(users, np.arange(len(nodes) + 1))

    def of(self, users: Numbers) -> tuple[Numbers, Numbers]:
        """Return for all candidates that users depend on a key of user and name, and its index.

        The keys contain the index in ``users`` and the number of the name; they ascend.
        """
        starts = self._starts[users]
        counts = self._starts[users + 1] - starts
        uses = places_of_runs(starts, counts)
        keys = np.repeat(np.arange(len(users)), counts) * self._num_names + self._names[uses]
        return keys, self._places[uses]


# -- ranking


_BELOW = (("package", "version"), ("package", "version", "variants"))
"""The columns by which the sets of dependencies of specs are compared, in the order of ranking."""


class Group(msgspec.Struct, frozen=True):
    """Some candidates of one side: their ascending indices among all, and their key numbers."""

    places: Numbers
    keys: Numbers

    def without(self, places: Numbers) -> "Group":
        """Return the group without the candidates at ``places``."""
        is_other = np.ones(1 + self.places.max(initial=-1), np.bool_)
        is_other[places] = False
        mask = is_other[self.places]
        return Group(self.places[mask], self.keys[mask])


class _Ranked(msgspec.Struct, frozen=True):
    """The candidates of one side and the facts by which they are ranked.

    ``sets`` are the numbers of the sets of all dependencies of each candidate, without and with
    variants; ``versions`` are positions in Spack's order.
    """

    candidates: Candidates
    sets: Sequence[Numbers]
    versions: Numbers

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    def marks(self, group: Group) -> Fingerprints:
        """Return a hash per candidate that is equal for candidates that differ only in the hash."""
        facts = self.candidates.keys(("stacks", "variants", "version"), group.places)
        numbers = *(numbers[group.places] for numbers in self.sets), group.keys
        return mixed(facts, *(column.astype(np.uint64) for column in numbers))

    def classes(self, group: Group, marks: Fingerprints, paired: Numbers) -> Classes:
        """Return the classes of the candidates that are not paired yet."""
        unpaired = np.delete(np.arange(len(group.places)), paired)
        places = group.places[unpaired]
        return Classes(places, group.keys[unpaired], marks[unpaired], self.versions[places])


class Ranking:
    """Ranks candidates of base and head that have no counterparts yet.

    ``base_places`` and ``head_places`` are the indices of candidates that can be paired at all.
    """

    def __init__(
        self, base: Candidates, base_places: Numbers, head: Candidates, head_places: Numbers
    ) -> None:
        versions = version_places(base.side.frame, base.rows, head.side.frame, head.rows)
        rows = base.rows[base_places], head.rows[head_places]
        walks = Walk(base.side, rows[0], _BELOW[-1]), Walk(head.side, rows[1], _BELOW[-1])
        self._below = [Below(*walks, columns) for columns in _BELOW]
        ours = [_placed(len(base), base_places, below.base_numbers) for below in self._below]
        theirs = [_placed(len(head), head_places, below.head_numbers) for below in self._below]
        self._base = _Ranked(base, ours, versions[0])
        self._head = _Ranked(head, theirs, versions[1])

    def pair(
        self,
        base: Group,
        head: Group,
        votes: Votes | None,
        *,
        with_common_stack: bool,
    ) -> tuple[Numbers, Numbers, bool]:
        """Pair the candidates of each key: most votes first, then the most similar.

        Return the indices of the pairs in base and in head, and whether more pairs may remain.
        ``with_common_stack`` excludes pairs that have no stack other than root in common.
        """
        pairs = []
        if votes:
            pairs.append(self._voted(base, head, votes, with_common_stack=with_common_stack))
            base, head = base.without(pairs[0][0]), head.without(pairs[0][1])
        marks = self._base.marks(base), self._head.marks(head)
        # No pair precedes one of equal candidates, and each class equals at most one class.
        first, second = match(*marks)
        pairs.append((base.places[first], head.places[second]))
        ours = self._base.classes(base, marks[0], first)
        theirs = self._head.classes(head, marks[1], second)
        for one, other in pairs_of_classes(ours.pieces, theirs.pieces):
            stacks = self._shares("stacks", ours.first[one], theirs.first[other])
            chosen = stacks > 0 if with_common_stack else np.ones(len(one), np.bool_)
            one, other, stacks = one[chosen], other[chosen], stacks[chosen]
            ranks = self._ranks(ours.first[one], theirs.first[other], stacks)
            classes = ours, one, theirs, other
            pairs.append(_pair_by_rank(*classes, (ours.keys[one], *ranks)))
        places = [np.concatenate(of_side) for of_side in zip(*pairs, strict=True)]
        return places[0], places[1], ours.is_cut or theirs.is_cut

    def _voted(
        self, base: Group, head: Group, votes: Votes, *, with_common_stack: bool
    ) -> tuple[Numbers, Numbers]:
        """Pair candidates of the same key that have votes."""
        keys = [
            _placed(ranked.size, group.places, group.keys)
            for ranked, group in ((self._base, base), (self._head, head))
        ]
        before, after = np.divmod(votes.pairs, self._head.size)
        same = keys[0][before] == keys[1][after]
        chosen = np.flatnonzero(same & (keys[0][before] != NO_ROW))
        before, after = before[chosen], after[chosen]
        stacks = self._shares("stacks", before, after)
        if with_common_stack:
            common = np.flatnonzero(stacks > 0)
            chosen, stacks = chosen[common], stacks[common]
            before, after = before[common], after[common]
        ranks = -votes.counts[chosen], *self._ranks(before, after, stacks)
        return _pair_first_free(before, after, ranks)

    def _ranks(self, base: Numbers, head: Numbers, stacks: Shares) -> tuple[npt.NDArray[Any], ...]:
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

    def _shares(self, name: str, base: Numbers, head: Numbers) -> Shares:
        """Return the share of a list-valued fact that each two candidates have in common."""
        ours, theirs = self._base.candidates, self._head.candidates
        before, after = (getattr(candidates.side.frame, name) for candidates in (ours, theirs))
        left_out = frozenset({ROOT_STACK})
        return shares(before, ours.rows[base], after, theirs.rows[head], left_out)


def _placed(size: int, places: Numbers, numbers: Numbers) -> Numbers:
    """Return an array of ``size`` numbers: the given ones at their indices, -1 elsewhere."""
    placed = np.full(size, NO_ROW, np.int64)
    placed[places] = numbers
    return placed


def _pair_first_free(
    base: Numbers, head: Numbers, ranks: tuple[npt.NDArray[Any], ...]
) -> tuple[Numbers, Numbers]:
    """Select pairs of candidates, those of the smallest rank first, then of the smallest hashes."""
    order = np.lexsort((*filter(_varies, ranks[::-1]), np.zeros(len(base))))
    before, after = base[order], head[order]
    selected = _first_free(before, after)
    return before[selected], after[selected]


def _varies(column: npt.NDArray[Any]) -> bool:
    return bool((column != column[:1]).any())


def _first_free(base: Numbers, head: Numbers) -> Numbers:
    """Return the indices of the pairs whose candidates no pair before them has, ascending."""
    selected = np.zeros(len(base), np.bool_)
    is_free = np.ones(1 + base.max(initial=0), np.bool_), np.ones(1 + head.max(initial=0), np.bool_)
    left, num_left = np.arange(len(base)), 2 * len(base)
    # Select all pairs at once that are the first of both of their candidates, as long as this
    # leaves at most half of the pairs.
    while 2 * len(left) <= num_left and num_left:
        num_left = len(left)
        sides = base[left], head[left]
        first = left[np.logical_and(*map(_are_first, sides))]
        selected[first] = True
        is_free[0][base[first]] = is_free[1][head[first]] = False
        left = left[is_free[0][sides[0]] & is_free[1][sides[1]]]
    for pair, removed, added in zip(
        left.tolist(), base[left].tolist(), head[left].tolist(), strict=True
    ):
        if is_free[0][removed] and is_free[1][added]:
            is_free[0][removed] = is_free[1][added] = False
            selected[pair] = True
    return np.flatnonzero(selected)


def _are_first(places: Numbers) -> Mask:
    """Return which of some numbers are the first of equal ones."""
    first = np.empty(1 + places.max(initial=0), np.int64)
    numbers = np.arange(len(places))
    first[places[::-1]] = numbers[::-1]  # numpy keeps the last assigned value
    mask: Mask = first[places] == numbers
    return mask


def _pair_by_rank(
    base: Classes,
    ours: Numbers,
    head: Classes,
    theirs: Numbers,
    ranks: tuple[npt.NDArray[Any], ...],
) -> tuple[Numbers, Numbers]:
    """Select the free members of pairs of classes, those of the smallest rank first."""
    order = np.lexsort(ranks[::-1])
    begins = np.logical_or.reduce([begins_of_runs(column[order]) for column in ranks])
    bounds = [*np.flatnonzero(begins).tolist(), len(order)]
    classes = base, ours[order].tolist(), head, theirs[order].tolist()
    of_base, of_head = pair_in_order(*classes, bounds)
    return np.array(of_base, np.int64), np.array(of_head, np.int64)


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


class Counterparts(Arrays, msgspec.Struct, frozen=True, dict=True):
    """The pairs: ``base_of`` contains the row in base of each row of head, ``head_of`` the reverse.

    -1 means none.
    """

    base_of: Rows
    head_of: Rows

    @cached_property
    def head_rows(self) -> Rows:
        """The rows in head of all pairs, ascending."""
        return np.flatnonzero(self.base_of != NO_ROW).astype(np.int32)

    @cached_property
    def base_rows(self) -> Rows:
        """The rows in base of the same pairs, in the same order."""
        return self.base_of[self.head_rows]

    def __len__(self) -> int:
        return len(self.head_rows)


MAX_ROUNDS = 10
"""Maximum number of rounds of voting; for real caches, votes are stable after a few."""


def find_counterparts(
    base: Side, removed: Rows, head: Side, added: Rows, *, apart: Apart | None = None
) -> Counterparts:
    """Pair the removed rows of base with the added rows of head."""
    search = _Search(base, removed, head, added, apart)
    pairs = search.pairs()
    for _ in range(MAX_ROUNDS):
        if not search.vote(pairs):
            break
        pairs = search.revised(pairs)
    return pairs


class _State(msgspec.Struct):
    """The state of a search: the number of the current pass, and the pairs found so far.

    ``free`` marks the candidates of base and of head that have no counterpart yet.
    """

    number: int
    free: tuple[Mask, Mask]
    pairs: list[tuple[Numbers, Numbers]]

    def copy(self) -> "_State":
        """Return an independent copy."""
        return _State(self.number, (self.free[0].copy(), self.free[1].copy()), [*self.pairs])

    def take(self, base: Numbers, head: Numbers) -> None:
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
        self, base: Side, removed: Rows, head: Side, added: Rows, apart: Apart | None
    ) -> None:
        self._passes = (*_CLOSEST, *(_OF_ONE_STACK if apart is None else _APART))
        self._apart = apart
        self._sides = Candidates(base, removed), Candidates(head, added)
        free = np.ones(len(removed), np.bool_), np.ones(len(added), np.bool_)
        self._state = _State(0, free, [])
        self._first_ranking: _State | None = None
        self._votes: Votes | None = None
        self._ballot: Ballot | None = None
        self._base_of: Rows = np.full(len(added), NO_ROW, np.int32)
        self._revised: tuple[Mask, Mask] | None = None

    def pairs(self) -> Counterparts:
        """Return the counterparts without votes."""
        self._search()
        base, head = self._sides
        base_of = np.full(len(head.side.frame), NO_ROW, np.int32)
        head_of = np.full(len(base.side.frame), NO_ROW, np.int32)
        self._set_pairs(base_of, head_of)
        return Counterparts(base_of, head_of)

    def revised(self, last: Counterparts) -> Counterparts:
        """Return the counterparts according to votes that changed since the last ones.

        The counterparts of a package depend only on the votes for its own candidates.
        """
        self._search(self._revised)
        base_of, head_of = last.base_of.copy(), last.head_of.copy()
        if self._revised:
            base, head = (
                candidates.rows[are_revised]
                for candidates, are_revised in zip(self._sides, self._revised, strict=True)
            )
            base_of[head] = head_of[base] = NO_ROW
        self._set_pairs(base_of, head_of)
        return Counterparts(base_of, head_of)

    def _search(self, within: tuple[Mask, Mask] | None = None) -> None:
        """Pair candidates pass by pass, all or some of them."""
        # The passes before the first ranking do not depend on votes.
        state = self._state = (self._first_ranking or self._state).copy()
        if within:
            for free, are_included in zip(state.free, within, strict=True):
                free &= are_included
        for number in range(state.number, len(self._passes)):
            state.number = number
            facts, by_stack = self._passes[number]
            if number == len(_CLOSEST):
                self._leave_out(state.free)
            while self._pair(facts, by_stack=by_stack):
                pass

    def _set_pairs(self, base_of: Rows, head_of: Rows) -> None:
        base, head = self._sides
        for ours, theirs in self._state.pairs:
            base_of[head.rows[theirs]] = base.rows[ours]
            head_of[base.rows[ours]] = head.rows[theirs]

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
        base, head = (
            candidates.packages_in_stacks(np.flatnonzero(of_side))
            for candidates, of_side in zip(self._sides, free, strict=True)
        )
        for of_side, (places, ours), (_, theirs) in zip(
            free, (base, head), (head, base), strict=True
        ):
            of_side[:] = False
            of_side[places[are_among(ours, theirs)]] = True

    def vote(self, pairs: Counterparts) -> bool:
        """Let counterparts vote; return whether the votes differ from those of the last round."""
        if self._first_ranking is None:
            return False
        if self._ballot is None:
            self._ballot = Ballot(self._sides, self._first_ranking.free)
        base, head = self._sides
        last, self._base_of = self._base_of, pairs.base_of[head.rows]
        is_other = self._base_of != last
        # Only pairs that came or went since the last round change the votes.
        difference = NO_VOTES
        for of_head, weight in ((last, -1), (self._base_of, 1)):
            users = np.flatnonzero(is_other & (of_head != NO_ROW))
            votes = self._ballot.votes(self._place_of[of_head[users]], users, weight=weight)
            difference = difference.plus(votes)
        self._votes = (self._votes or NO_VOTES).plus(difference)
        packages = base.package[difference.pairs // len(head)]
        is_base, is_head = (are_among(candidates.package, packages) for candidates in self._sides)
        self._revised = is_base, is_head
        return len(difference.pairs) > 0

    @cached_property
    def _place_of(self) -> Numbers:
        """The index of each row of base among the candidates."""
        base = self._sides[0]
        place_of = np.full(len(base.side.frame), NO_ROW, np.int64)
        place_of[base.rows] = np.arange(len(base))
        return place_of

    def _pair(self, facts: Sequence[str], *, by_stack: bool) -> bool:
        """Pair candidates with the same key; return whether there may be more such pairs."""
        state = self._state
        base, head = map(np.flatnonzero, state.free)
        if not len(base) or not len(head):
            return False
        both = self._sides[0].keys(facts, base), self._sides[1].keys(facts, head)
        distinct, keys = distinct_codes(np.concatenate(both))
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
            *groups, self._votes, with_common_stack=by_stack
        )
        state.take(first, second)
        return may_be_more and len(first) > 0

    @cached_property
    def _ranking(self) -> Ranking:
        """The ranking of all free candidates that may have counterparts; created on first use."""
        base, head = map(np.flatnonzero, self._state.free)
        ours, theirs = (candidates.package for candidates in self._sides)
        of_base = are_among(ours[base], theirs[head])
        of_head = are_among(theirs[head], ours[base])
        return Ranking(self._sides[0], base[of_base], self._sides[1], head[of_head])


def _by_key(places: Numbers, keys: Numbers, chosen: Mask) -> Numbers:
    """Return the indices of the candidates whose key is chosen, sorted by key."""
    is_chosen = chosen[keys]
    return places[is_chosen][np.argsort(keys[is_chosen])]

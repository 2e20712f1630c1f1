"""Candidates for counterparts: removed and added specs, and classes of equal ones.

Facts are columns of hashes. 5,000 equal specs on each side are one pair of classes instead of 25
million pairs. Pairs of classes are ranked; within two classes, the hashes decide, so their pairs
follow from two sorted lists. Two classes are candidates for each other if they have a common mark.
If candidates need only the same key, the mark is the key; if they also need a common stack, each
class has a mark for each of its stacks.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.involvement import ranks
from snapshots.changes.sides import (
    Fingerprints,
    Side,
    compilers,
    node_codes,
    node_fingerprints,
    row_hashes,
    stating_compilers,
)
from snapshots.frames.columns import Mask, Rows, begins_of_runs, mixed, places_of_runs
from snapshots.models import ARCHITECTURE
from snapshots.spack.names import ROOT_STACK

Places = npt.NDArray[np.int64]


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

    def stacks_of(self, places: Places) -> "Items":
        """Return the stacks of candidates, without root; owners are indices into ``places``."""
        column = self.side.frame.stacks
        owners, items = column.items_of(column.codes[self.rows[places]])
        hashes = np.fromiter(map(hash, column.items), np.int64, len(column.items))
        is_other = items != column.item_index.get(ROOT_STACK, -1)
        return Items(owners[is_other], hashes[items[is_other]].astype(np.uint64))

    def keys(self, facts: Sequence[str]) -> Fingerprints:
        """Return one hash of several facts; ``facts`` are names of these columns."""
        return mixed(*(getattr(self, fact) for fact in facts))

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

    def _named(self) -> tuple[Fingerprints, Places, Places]:
        """Return hashes of names, and for each dependency the indices of its owner and its name."""
        side, graph = self.side, self.side.graph
        stating = np.flatnonzero(stating_compilers(side)[self.rows])
        of_compilers = compilers(side)[0][self.rows[stating]]
        of_packages = node_fingerprints(side, "package")
        distinct = np.unique(np.concatenate([of_packages, of_compilers]))
        edges = graph.down.edges_of(self.rows.astype(np.int64))
        place_of = np.empty(graph.num_nodes, np.int64)
        place_of[self.rows] = np.arange(len(self))
        of_nodes = np.searchsorted(distinct, of_packages)[node_codes(side, "package")]
        owners = [place_of[graph.sources[edges]], stating]
        codes = [of_nodes[graph.targets[edges]], np.searchsorted(distinct, of_compilers)]
        return distinct, np.concatenate(owners), np.concatenate(codes)

    def _column(self, name: str) -> Fingerprints:
        return row_hashes(self.side.frame, self.rows, [name])


MAX_CLASSES = 512
"""Maximum number of classes with the same key that are ranked at once."""

_SHIFT = 32


def twins(base: Fingerprints, head: Fingerprints) -> tuple[Places, Places]:
    """Pair candidates of both sides with the same mark: the first of each, the second, and so on.

    Return the indices of each pair in the two arrays.
    """
    ours, theirs = (mixed(marks, _ordinals(marks).astype(np.uint64)) for marks in (base, head))
    _, first, second = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    return first, second


def _ordinals(marks: Fingerprints) -> Places:
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

    def __init__(self, places: Places, keys: Places, marks: Fingerprints, versions: Places) -> None:
        _, first, of_member = np.unique(marks, return_index=True, return_inverse=True)
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
        self.pieces = first_piece(self.keys) + piece
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


def first_piece(keys: Places) -> Places:
    """Return the number of the first piece of each key."""
    return keys << _SHIFT


class Tie(msgspec.Struct, frozen=True):
    """Candidates whose pairs only the hashes decide, and the number of these pairs."""

    num_base: int
    num_head: int
    num_pairs: int


class Ties:
    """The ties among candidates: the number of the first tie of each candidate, -1 for none.

    ``of_base`` and ``of_head`` contain the numbers, ``every`` the ties.
    """

    def __init__(self, num_base: int, num_head: int) -> None:
        self.of_base = np.full(num_base, _NO_TIE, np.int32)
        self.of_head = np.full(num_head, _NO_TIE, np.int32)
        self.every: list[Tie] = []

    def add(self, base: Sequence[int], head: Sequence[int], num_pairs: int) -> None:
        """Add a tie between candidates, unless there is only one possible pair."""
        if len(base) * len(head) > 1:
            number = np.int32(len(self.every))
            self._enter(self.of_base, np.array(base), number)
            self._enter(self.of_head, np.array(head), number)
            self.every.append(Tie(len(base), len(head), num_pairs))

    def add_ties(
        self, base: Places, base_marks: Fingerprints, head: Places, head_marks: Fingerprints
    ) -> None:
        """Add the ties between candidates of both sides that have the same mark."""
        _, codes = np.unique(np.concatenate([base_marks, head_marks]), return_inverse=True)
        ours, theirs = np.split(codes, [len(base)])
        before, after = (np.bincount(of_side, minlength=len(codes)) for of_side in (ours, theirs))
        is_tie = before * after > 1
        numbers = np.where(is_tie, len(self.every) + np.cumsum(is_tie) - 1, _NO_TIE)
        self._enter(self.of_base, base, numbers[ours])
        self._enter(self.of_head, head, numbers[theirs])
        sizes = zip(before[is_tie].tolist(), after[is_tie].tolist(), strict=True)
        self.every += [Tie(*of_sides, min(of_sides)) for of_sides in sizes]

    def by_place(self) -> Iterator[list[tuple[int, Tie]]]:
        """Yield the indices of candidates with their ties, of base and of head."""
        for numbers in (self.of_base, self.of_head):
            places = np.flatnonzero(numbers != _NO_TIE)
            ties = map(self.every.__getitem__, numbers[places].tolist())
            yield list(zip(places.tolist(), ties, strict=True))

    @staticmethod
    def _enter(numbers: Rows, places: Places, values: npt.ArrayLike) -> None:
        numbers[places] = np.where(numbers[places] == _NO_TIE, values, numbers[places])


_NO_TIE = -1


def pair_in_order(
    base: Classes,
    ours: list[int],
    head: Classes,
    theirs: list[int],
    bounds: list[int],
    ties: Ties | None,
) -> tuple[list[int], list[int]]:
    """Pair the free members of pairs of classes, from first to last; return their indices.

    Pairs between two adjacent ``bounds`` have the same rank. Among their members, the smallest hash
    in base comes first, and is paired with the smallest possible one in head. If other choices are
    possible, they are added to ``ties``, unless it is None.
    """
    of_base: list[int] = []
    of_head: list[int] = []
    for start, stop in pairwise(bounds):
        partners: defaultdict[int, list[int]] = defaultdict(list)
        for one, other in zip(ours[start:stop], theirs[start:stop], strict=True):
            if base.num_free(one) and head.num_free(other):
                partners[one].append(other)
        for connected in _connected(partners) if ties and len(partners) > 1 else (partners,):
            members = sorted((place, one) for one in connected for place in base.free(one))
            others = {other for of_one in connected.values() for other in of_one}
            after = [place for other in others for place in head.free(other)] if ties else []
            num_pairs = len(of_base)
            if len(connected) == len(others) == 1:
                (one,), (other,) = connected, others
                count = min(base.num_free(one), head.num_free(other))
                of_base += base.take(one, count)
                of_head += head.take(other, count)
            else:
                for _, one in members:
                    free = [other for other in connected[one] if head.num_free(other)]
                    if free:
                        of_base += base.take(one, 1)
                        of_head += head.take(min(free, key=head.smallest), 1)
            if ties:
                ties.add([place for place, _ in members], after, len(of_base) - num_pairs)
    return of_base, of_head


def _connected(partners: Mapping[int, list[int]]) -> Iterator[dict[int, list[int]]]:
    """Yield the connected components of pairs of classes: the classes of head by those of base."""
    reverse: defaultdict[int, list[int]] = defaultdict(list)
    for one, others in partners.items():
        for other in others:
            reverse[other].append(one)
    remaining = dict(partners)
    while remaining:
        connected: dict[int, list[int]] = {}
        waiting = [next(iter(remaining))]
        while waiting:
            one = waiting.pop()
            if one in remaining:
                connected[one] = remaining.pop(one)
                for other in connected[one]:
                    waiting += reverse.pop(other, ())
        yield connected


_MAX_PAIRS = 1 << 18


class Items(msgspec.Struct, frozen=True):
    """Items of classes or candidates: the numbers of their owners, ascending, and item hashes."""

    owners: Places
    hashes: Fingerprints


class Marks(msgspec.Struct, frozen=True):
    """Marks of classes: the numbers of the classes, ascending, and a hash of each mark.

    ``groups`` ascend as well: pairs from marks of the same group are ranked together.
    """

    owners: Places
    hashes: Fingerprints
    groups: Places


def marks_of_keys(classes: Classes) -> Marks:
    """Return one mark per class: its key, with the piece if the key has too many classes."""
    pieces = classes.pieces
    return Marks(np.arange(len(classes)), pieces.astype(np.uint64), pieces)


def marks_of_items(
    base: Classes, base_items: Items, head: Classes, head_items: Items
) -> tuple[Marks, Marks]:
    """Return marks that two classes share if they have the same key and a common item.

    If a key would have too many pairs, its classes have the marks of ``marks_of_keys`` instead.
    """
    ours, theirs = _of_items(base, base_items), _of_items(head, head_items)
    _, counts, _ = _joined(ours, theirs)
    size = 1 + max(classes.keys.max(initial=0) for classes in (base, head))
    too_many = np.bincount(base.keys[ours.owners], counts, minlength=size) > _MAX_PAIRS
    return _chosen(base, ours, too_many), _chosen(head, theirs, too_many)


def _of_items(classes: Classes, items: Items) -> Marks:
    keys = classes.keys[items.owners]
    hashes = mixed(keys.astype(np.uint64), items.hashes)
    return Marks(items.owners, hashes, first_piece(keys))


def _chosen(classes: Classes, marks: Marks, too_many: Mask) -> Marks:
    """Return the marks, replaced by those of keys for keys with too many pairs."""
    of_items = np.flatnonzero(~too_many[classes.keys[marks.owners]])
    of_keys = np.flatnonzero(too_many[classes.keys])
    others = marks_of_keys(classes)
    owners = np.concatenate([marks.owners[of_items], of_keys])
    hashes = np.concatenate([marks.hashes[of_items], others.hashes[of_keys]])
    groups = np.concatenate([marks.groups[of_items], others.groups[of_keys]])
    order = np.argsort(owners, kind="stable")
    return Marks(owners[order], hashes[order], groups[order])


def pairs_of_classes(base: Marks, head: Marks) -> Iterator[tuple[Places, Places]]:
    """Yield the numbers of classes that have a common mark, each pair once.

    All pairs of a group are in the same batch; several small groups share a batch.
    """
    starts, counts, owners = _joined(base, head)
    size = 1 + int(owners.max(initial=0))
    for batch in _batches(base.groups, counts):
        ours = np.repeat(base.owners[batch], counts[batch])
        theirs = owners[places_of_runs(starts[batch], counts[batch])]
        pairs = np.sort(ours * size + theirs)
        yield np.divmod(pairs[begins_of_runs(pairs)], size)


def _joined(base: Marks, head: Marks) -> tuple[Places, Places, Places]:
    """Return for each mark of base where equal marks of head begin, and their number.

    The beginnings are indices into the third array, the owners of head's marks sorted by hash.
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

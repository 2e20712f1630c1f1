"""Similarity of two specs: by their lists, their versions, and their dependencies.

The set of all direct and indirect dependencies of a spec is represented as an integer with one bit
per item, such as a name with a version. Sets are computed bottom-up: the set of a spec consists of
its dependencies and their sets. Only nodes that the given specs reach are visited.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from sys import getsizeof
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Fingerprints, Numbers, Rows, Shares
from snapshots.changes.sides import Side
from snapshots.frames.columns import (
    Column,
    ListColumn,
    begins_of_runs,
    distinct_codes,
    mixed,
    places_of_runs,
    scattered,
)
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import BottomUpGraph
from snapshots.models import SPEC_FACTS


def shares(
    base: ListColumn,
    base_rows: Rows,
    head: ListColumn,
    head_rows: Rows,
    left_out: frozenset[str] = frozenset(),
) -> Shares:
    """Return for each two rows the share of items that their lists have in common.

    The share is the size of the intersection divided by that of the union, and 1 if both lists are
    empty. Items in ``left_out`` do not count.
    """
    size = len(head.values)
    pairs = base.codes[base_rows].astype(np.int64) * size + head.codes[head_rows]
    first, places = distinct_codes(pairs)
    distinct = pairs[first]
    ours = _item_sets(base, distinct // size, left_out)
    theirs = _item_sets(head, distinct % size, left_out)
    of_distinct = [
        len(one & other) / len(one | other) if one or other else 1.0
        for one, other in zip(ours, theirs, strict=True)
    ]
    return np.array(of_distinct, np.float64)[places]


def _item_sets(
    column: ListColumn, codes: npt.NDArray[np.int64], left_out: frozenset[str]
) -> list[frozenset[str]]:
    """Return the items of lists; equal codes share the same set."""
    distinct, places = np.unique(codes, return_inverse=True)
    sets = [frozenset(column.values[code] or ()) - left_out for code in distinct.tolist()]
    return [sets[place] for place in places.tolist()]


def version_places(
    base: Frame, base_rows: Rows, head: Frame, head_rows: Rows
) -> tuple[Numbers, Numbers]:
    """Return for rows of two frames the position of each row's version in Spack's order.

    The positions of two specs of one package differ by the distance of their versions among all
    distinct versions of the package in either frame: 0 for equal versions, 1 for adjacent ones.
    """
    sort_key = SPEC_FACTS["version"].sort_key
    versions = _ranks([base.version, head.version], sort_key)
    packages = _ranks([base.package, head.package], str)
    size = 1 + max(len(base.version.values), len(head.version.values)) * 2
    ours, theirs = (
        of_package * size + of_version
        for of_package, of_version in zip(packages, versions, strict=True)
    )
    # The rows of a frame are sorted by package and version, so equal ones are adjacent.
    distinct = np.unique(np.concatenate([keys[begins_of_runs(keys)] for keys in (ours, theirs)]))
    return np.searchsorted(distinct, ours[base_rows]), np.searchsorted(distinct, theirs[head_rows])


def _ranks(columns: Sequence[Column[str]], sort_key: Callable[[str], Any]) -> list[Numbers]:
    """Return for each column the rank of each row's value among the values of all columns."""
    values = sorted(set(chain.from_iterable(column.values for column in columns)), key=sort_key)
    ranks = {value: rank for rank, value in enumerate(values)}
    return [
        np.array([ranks[value] for value in column.values], np.int64)[column.codes]
        for column in columns
    ]


_BLOCK_BYTES = 32 << 20
_MAX_CACHED_BYTES = 128 << 20

Sets = list[int]


class Below:
    """The dependencies of rows of base and head, as sets of items composed of the given columns.

    ``base`` and ``head`` are the walks of these rows; ``columns`` are among those of the walks.
    ``base_numbers`` and ``head_numbers`` contain a number for the set of each row, equal for equal
    sets.

    The set of a spec does not contain the spec itself, unless one of its dependencies is the same
    item. A compiler that is not a dependency counts as a dependency of each spec that states it.
    The version of a dependency whose facts are not stated is None, which is a value like any other.
    """

    def __init__(self, base: "Walk", head: "Walk", columns: Sequence[str]) -> None:
        self._walks = base, head
        items = [walk.items(columns) for walk in self._walks]
        distinct = np.unique(np.concatenate([*items, base.compilers, head.compilers]))
        self._num_items = len(distinct)
        self._numbered = [
            _NumberedWalk(walk, of_walk, distinct)
            for walk, of_walk in zip(self._walks, items, strict=True)
        ]
        self._block = 1 + 8 * _BLOCK_BYTES // max(1, sum(map(len, items)))
        self._cached: list[_Block] | None = None
        numbers = self._number()
        ours, theirs = np.split(numbers, [len(base.starts)])
        self.base_numbers, self.head_numbers = ours[base.start_of], theirs[head.start_of]
        _, self._with_number = np.unique(numbers, return_index=True)

    def _blocks(self) -> Iterator["_Block"]:
        """Yield the sets of the starts of both walks, restricted to one block of items at a time.

        Blocks bound the memory that is used, regardless of the number of items.
        """
        for start in range(0, self._num_items, self._block):
            bits = [0] * (self._num_items + 1)  # the last one: no compiler
            for item in range(start, min(start + self._block, self._num_items)):
                bits[item] = 1 << (item - start)
            base, head = self._numbered
            sets = base.sets(bits) + head.sets(bits)
            numbers: dict[int, int] = {}
            codes = [numbers.setdefault(items, len(numbers)) for items in sets]
            yield _Block([*numbers], np.array(codes, np.int64))

    def _number(self) -> Numbers:
        """Return the set numbers of all starts; compute sizes of sets, and cache small blocks."""
        size = sum(len(walk.starts) for walk in self._walks)
        numbers, self._sizes = np.zeros((2, size), np.int64)
        cached, num_free = list[_Block](), _MAX_CACHED_BYTES
        for block in self._blocks():
            num_free -= block.num_bytes
            if num_free >= 0:
                cached.append(block)
            else:
                cached.clear()
            pairs = numbers * len(block.distinct) + block.codes
            _, numbers = distinct_codes(pairs)
            self._sizes += _counts(block.distinct)[block.codes]
        if num_free >= 0:
            self._cached = cached
        return numbers

    def shares(self, base: Numbers, head: Numbers) -> npt.NDArray[np.float64]:
        """Return the share that two sets, given by their numbers, have in common.

        It is the size of the intersection divided by that of the union, and 1 if both are empty.
        """
        size = len(self._with_number)
        first, places = distinct_codes(base * size + head)
        ours, theirs = self._with_number[base[first]], self._with_number[head[first]]
        common = np.zeros(len(first), np.int64)
        for block in self._blocks() if self._cached is None else self._cached:
            sets, codes = block.distinct, block.codes
            both = zip(codes[ours].tolist(), codes[theirs].tolist(), strict=True)
            common += _counts([sets[one] & sets[other] for one, other in both])
        either = self._sizes[ours] + self._sizes[theirs] - common
        return np.where(either > 0, common / np.maximum(either, 1), 1.0)[places]


class _Block(msgspec.Struct, frozen=True):
    """Sets restricted to a block of items: the distinct sets, and the index of each start's set."""

    distinct: Sets
    codes: Numbers

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the sets, in bytes."""
        return sum(map(getsizeof, self.distinct)) + self.codes.nbytes


class Walk:
    """The part of one side's graph that some rows reach, in bottom-up order.

    Nodes that are equal in all ``columns`` and in the compiler that they state, and whose
    dependencies are equal in the same sense, are one *kind*, of which only the first node is kept:
    equal graphs under many hashes are walked once.

    ``start_of`` contains the index in ``starts`` of the kind of each row, ``kinds`` the kinds
    bottom-up. The targets of the kind n are
    those from ``edges[n]`` to ``edges[n + 1]``. ``stating`` are the kinds that state a compiler,
    and ``compilers`` hashes of these compilers.
    """

    def __init__(self, side: Side, rows: Rows, columns: Sequence[str]) -> None:
        graph = side.graph
        self._side = side
        nodes = np.flatnonzero(graph.nodes_below(rows))
        place_of = np.full(graph.num_nodes, NO_ROW, np.int32)
        place_of[nodes] = np.arange(len(nodes), dtype=np.int32)
        edges = graph.down.edges_of(nodes)
        sources, targets = place_of[graph.sources[edges]], place_of[graph.targets[edges]]
        order = BottomUpGraph(sources, targets, len(nodes))
        stating = np.flatnonzero(side.stating_compilers[nodes])
        compilers = mixed(*(hashes[nodes[stating]] for hashes in side.compilers))
        facts = mixed(*(side.column(name).row_hashes(nodes) for name in columns))
        facts[stating] = mixed(facts[stating], compilers)
        first, kinds = distinct_codes(_hashes_of_kinds(order, facts))
        is_first = np.zeros(len(nodes), np.bool_)
        is_first[first] = True
        self._nodes = nodes[first]
        self.kinds: list[int] = kinds[order.nodes[is_first[order.nodes]]].tolist()
        counts = np.bincount(sources, minlength=len(nodes))
        begins = np.cumsum(counts) - counts
        of_first = places_of_runs(begins[first], counts[first])
        self.targets: list[int] = kinds[targets[of_first]].tolist()
        self.edges: list[int] = np.concatenate(([0], np.cumsum(counts[first]))).tolist()
        self.stating = np.flatnonzero(side.stating_compilers[self._nodes])
        self.compilers = mixed(*(hashes[self._nodes[self.stating]] for hashes in side.compilers))
        self.starts, self.start_of = np.unique(kinds[place_of[rows]], return_inverse=True)

    def items(self, columns: Sequence[str]) -> Fingerprints:
        """Return a hash of the values of each kind in some of the columns."""
        return mixed(*(self._side.column(name).row_hashes(self._nodes) for name in columns))


def _hashes_of_kinds(order: BottomUpGraph, facts: Fingerprints) -> Fingerprints:
    """Return a hash per node of its facts and of the hashes of its direct successors.

    It is equal by chance for two nodes of different kinds in one of 10^19 pairs.
    """
    hashes = facts.copy()

    def finish(nodes: Numbers) -> None:
        # Sums alone would depend on the number of paths only modulo 2^64.
        hashes[nodes] = scattered(hashes[nodes])

    order.spread(hashes, np.add, finish)
    return hashes


class _NumberedWalk:
    """A walk with the number of the item of each kind, the index in an array of distinct items."""

    def __init__(self, walk: Walk, items: Fingerprints, distinct: Fingerprints) -> None:
        self._walk = walk
        numbers = np.full(len(items), len(distinct), np.int64)
        numbers[walk.stating] = np.searchsorted(distinct, walk.compilers)
        self._item_of: list[int] = np.searchsorted(distinct, items).tolist()
        self._compiler_of: list[int] = numbers.tolist()

    def sets(self, bits: Sequence[int]) -> Sets:
        """Return the set of dependencies of each start; ``bits`` contains the bit of each item."""
        walk = self._walk
        below = [0] * len(self._item_of)
        whole = [0] * len(self._item_of)
        targets, edges = walk.targets, walk.edges
        for kind in walk.kinds:
            items = bits[self._compiler_of[kind]]
            for other in targets[edges[kind] : edges[kind + 1]]:
                items |= whole[other]
            below[kind] = items
            whole[kind] = items | bits[self._item_of[kind]]
        return list(map(below.__getitem__, walk.starts.tolist()))


def _counts(sets: Sets) -> Numbers:
    return np.fromiter(map(int.bit_count, sets), np.int64, len(sets))

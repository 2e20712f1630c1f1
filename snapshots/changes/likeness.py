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
from snapshots.frames.columns import Column, ListColumn, begins_of_runs, mixed
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
    distinct, places = np.unique(pairs, return_inverse=True)
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

    ``base_numbers`` and ``head_numbers`` contain a number for the set of each row, equal for equal
    sets.

    The set of a spec does not contain the spec itself, unless one of its dependencies is the same
    item. A compiler that is not a dependency counts as a dependency of each spec that states it.
    The version of a dependency whose facts are not stated is None, which is a value like any other.
    """

    def __init__(
        self, base: Side, base_rows: Rows, head: Side, head_rows: Rows, columns: Sequence[str]
    ) -> None:
        self._walks = _Walk(base, base_rows, columns), _Walk(head, head_rows, columns)
        items = [hashes for walk in self._walks for hashes in (walk.items, walk.compilers)]
        distinct = np.unique(np.concatenate(items))
        self._num_items = len(distinct)
        num_nodes = sum(len(walk.items) for walk in self._walks)
        self._block = 1 + 8 * _BLOCK_BYTES // max(1, num_nodes)
        for walk in self._walks:
            walk.number(distinct)
        self._cached: list[_Block] | None = None
        numbers = self._number()
        self.base_numbers, self.head_numbers = np.split(numbers, [len(base_rows)])
        _, self._with_number = np.unique(numbers, return_index=True)

    def _blocks(self) -> Iterator["_Block"]:
        """Yield the sets of the rows of base and head, restricted to one block of items at a time.

        Blocks bound the memory that is used, regardless of the number of items.
        """
        for start in range(0, self._num_items, self._block):
            bits = [0] * (self._num_items + 1)  # the last one: no compiler
            for item in range(start, min(start + self._block, self._num_items)):
                bits[item] = 1 << (item - start)
            base, head = self._walks
            sets = base.sets(bits) + head.sets(bits)
            numbers: dict[int, int] = {}
            codes = [numbers.setdefault(items, len(numbers)) for items in sets]
            yield _Block([*numbers], np.array(codes, np.int64))

    def _number(self) -> Numbers:
        """Return the set numbers of all rows; compute the sizes of sets, and cache small blocks."""
        size = sum(walk.num_rows for walk in self._walks)
        numbers, self._sizes = np.zeros((2, size), np.int64)
        cached, num_free = list[_Block](), _MAX_CACHED_BYTES
        for block in self._blocks():
            num_free -= block.num_bytes
            if num_free >= 0:
                cached.append(block)
            else:
                cached.clear()
            pairs = numbers * len(block.distinct) + block.codes
            _, numbers = np.unique(pairs, return_inverse=True)
            self._sizes += _counts(block.distinct)[block.codes]
        if num_free >= 0:
            self._cached = cached
        return numbers

    def shares(self, base: Numbers, head: Numbers) -> npt.NDArray[np.float64]:
        """Return the share that two sets, given by their numbers, have in common.

        It is the size of the intersection divided by that of the union, and 1 if both are empty.
        """
        size = len(self._with_number)
        pairs, places = np.unique(base * size + head, return_inverse=True)
        ours, theirs = self._with_number[pairs // size], self._with_number[pairs % size]
        common = np.zeros(len(pairs), np.int64)
        for block in self._blocks() if self._cached is None else self._cached:
            sets, codes = block.distinct, block.codes
            both = zip(codes[ours].tolist(), codes[theirs].tolist(), strict=True)
            common += _counts([sets[one] & sets[other] for one, other in both])
        either = self._sizes[ours] + self._sizes[theirs] - common
        return np.where(either > 0, common / np.maximum(either, 1), 1.0)[places]


class _Block(msgspec.Struct, frozen=True):
    """Sets restricted to a block of items: the distinct sets, and the index of each row's set."""

    distinct: Sets
    codes: Numbers

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the sets, in bytes."""
        return sum(map(getsizeof, self.distinct)) + self.codes.nbytes


class _Walk:
    """The part of one side's graph that some rows reach, in bottom-up order.

    ``items`` contains a hash of each node's values in the columns, ``compilers`` hashes of the
    compilers that nodes state.
    """

    def __init__(self, side: Side, rows: Rows, columns: Sequence[str]) -> None:
        graph = side.graph
        nodes = np.flatnonzero(graph.nodes_below(rows))
        place_of = np.full(graph.num_nodes, NO_ROW, np.int32)
        place_of[nodes] = np.arange(len(nodes), dtype=np.int32)
        edges = graph.down.edges_of(nodes)
        sources, targets = place_of[graph.sources[edges]], place_of[graph.targets[edges]]
        self.num_rows = len(rows)
        self._places = place_of[rows].tolist()
        self._order = BottomUpGraph(sources, targets, len(nodes))
        self._targets: list[int] = targets.tolist()
        self._starts: list[int] = np.searchsorted(sources, np.arange(len(nodes) + 1)).tolist()
        self.items = mixed(*(side.column(name).row_hashes(nodes) for name in columns))
        self._stating = np.flatnonzero(side.stating_compilers[nodes])
        self.compilers = mixed(*(hashes[nodes[self._stating]] for hashes in side.compilers))

    def number(self, distinct: Fingerprints) -> None:
        """Set the number of each item: its index in the sorted array of all distinct items."""
        numbers = np.full(len(self.items), len(distinct), np.int64)
        numbers[self._stating] = np.searchsorted(distinct, self.compilers)
        self._item_of: list[int] = np.searchsorted(distinct, self.items).tolist()
        self._compiler_of: list[int] = numbers.tolist()

    def sets(self, bits: Sequence[int]) -> Sets:
        """Return the set of dependencies of each row; ``bits`` contains the bit of each item."""
        below = [0] * len(self._item_of)
        whole = [0] * len(self._item_of)
        targets, starts = self._targets, self._starts
        for node in self._order.nodes.tolist():
            items = bits[self._compiler_of[node]]
            for other in targets[starts[node] : starts[node + 1]]:
                items |= whole[other]
            below[node] = items
            whole[node] = items | bits[self._item_of[node]]
        for component in self._order.components:
            self._close(component.tolist(), bits, below, whole)
        return [below[place] for place in self._places]

    def _close(
        self, component: Sequence[int], bits: Sequence[int], below: Sets, whole: Sets
    ) -> None:
        """Set the sets of nodes that all depend on each other."""
        items = once = twice = 0
        for node in component:
            items |= bits[self._compiler_of[node]]
            for other in self._targets[self._starts[node] : self._starts[node + 1]]:
                items |= whole[other]
            bit = bits[self._item_of[node]]
            twice |= once & bit
            once |= bit
        for node in component:
            alone = bits[self._item_of[node]] & ~(items | twice)
            whole[node] = items | once
            below[node] = whole[node] & ~alone


def _counts(sets: Sets) -> Numbers:
    return np.fromiter(map(int.bit_count, sets), np.int64, len(sets))

"""Similarity of two specs: by their lists, their versions, and their dependencies.

The set of all direct and indirect dependencies of a spec consists of items, such as a name with a
version, and is stored as their sorted numbers: specs reach few nodes of a large graph. Only nodes
that the given specs reach are visited.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Fingerprints, Numbers, Rows, Shares
from snapshots.changes.sides import Side
from snapshots.frames.columns import (
    Arrays,
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
    distinct = np.sort(np.concatenate([keys[begins_of_runs(keys)] for keys in (ours, theirs)]))
    distinct = distinct[begins_of_runs(distinct)]
    return np.searchsorted(distinct, ours[base_rows]), np.searchsorted(distinct, theirs[head_rows])


def _ranks(columns: Sequence[Column[str]], sort_key: Callable[[str], Any]) -> list[Numbers]:
    """Return for each column the rank of each row's value among the values of all columns."""
    # Each column is in order already, which sorting makes use of.
    values = dict.fromkeys(chain.from_iterable(column.values for column in columns))
    ranks = {value: rank for rank, value in enumerate(sorted(values, key=sort_key))}
    return [
        np.array([ranks[value] for value in column.values], np.int64)[column.codes]
        for column in columns
    ]


_MAX_MARKS = 32 << 20
"""Maximum number of marks, one byte each, by which several sets are compared at once."""

_MAX_PAIRS = 1 << 14
"""Maximum number of pairs of sets that are compared at once."""

_MAX_STARTS = 1 << 10
"""Maximum number of specs from which nodes are reached at once."""


class Below(Arrays):
    """The dependencies of rows of base and head, as sets of items composed of the given columns.

    ``base`` and ``head`` are the walks of these rows; ``columns`` are among those of the walks.
    ``base_numbers`` and ``head_numbers`` contain a number for the set of each row, equal for equal
    sets.

    The set of a spec does not contain the spec itself, unless one of its dependencies is the same
    item. A compiler that is not a dependency counts as a dependency of each spec that states it.
    The version of a dependency whose facts are not stated is None, which is a value like any other.
    """

    def __init__(self, base: "Walk", head: "Walk", columns: Sequence[str]) -> None:
        parts = [base.items(columns), base.compilers, head.items(columns), head.compilers]
        hashes = np.concatenate(parts)
        of_items, numbers = distinct_codes(hashes)
        self._num_items = len(of_items)
        numbered = np.split(numbers, np.cumsum(list(map(len, parts[:-1]))))
        sets = base.sets(*numbered[:2]), head.sets(*numbered[2:])
        sizes = np.concatenate([of_walk for of_walk, _ in sets])
        members = np.concatenate([of_walk for _, of_walk in sets])
        # Sums of the items' hashes are equal by chance for two sets in one of 10^19 pairs.
        sums = np.cumsum(np.append(np.uint64(0), scattered(hashes[of_items][members])))
        stops = np.cumsum(sizes)
        first, numbers = distinct_codes(sums[stops] - sums[stops - sizes])
        self._sizes = sizes[first]
        self._items = members[places_of_runs((stops - sizes)[first], self._sizes)]
        self._begins = np.cumsum(self._sizes) - self._sizes
        ours, theirs = np.split(numbers, [len(base.starts)])
        self.base_numbers, self.head_numbers = ours[base.start_of], theirs[head.start_of]

    def shares(self, base: Numbers, head: Numbers) -> npt.NDArray[np.float64]:
        """Return the share that two sets, given by their numbers, have in common.

        It is the size of the intersection divided by that of the union, and 1 if both are empty.
        """
        size = len(self._sizes)
        first, places = distinct_codes(base * size + head)
        ours, theirs = base[first], head[first]
        common = np.zeros(len(first), np.int64)
        step = min(_MAX_PAIRS, 1 + _MAX_MARKS // max(1, self._num_items))
        is_marked = np.zeros(min(step, len(first)) * self._num_items, np.bool_)
        for start in range(0, len(first), step):
            of_base, of_head = ours[start : start + step], theirs[start : start + step]
            begins = begins_of_runs(of_base)  # the pairs are sorted by the set in base
            rows = np.cumsum(begins) - 1
            marks = self._marks(of_base[begins], rows[begins])
            is_marked[marks] = True
            sums = np.append(0, np.cumsum(is_marked[self._marks(of_head, rows)]))
            is_marked[marks] = False
            stops = np.cumsum(self._sizes[of_head])
            common[start : start + step] = sums[stops] - sums[stops - self._sizes[of_head]]
        either = self._sizes[ours] + self._sizes[theirs] - common
        return np.where(either > 0, common / np.maximum(either, 1), 1.0)[places]

    def _marks(self, numbers: Numbers, rows: Numbers) -> Numbers:
        """Return the indices of the marks of all items of some sets; each has a row of marks."""
        sizes = self._sizes[numbers]
        items = self._items[places_of_runs(self._begins[numbers], sizes)]
        marks: Numbers = np.repeat(rows * self._num_items, sizes) + items
        return marks


class Walk:
    """The part of one side's graph that some rows reach.

    Nodes that are equal in all ``columns`` and in the compiler that they state, and whose
    dependencies are equal in the same sense, are one *kind*, of which only the first node is kept:
    equal graphs under many hashes are walked once.

    ``start_of`` contains the index in ``starts`` of the kind of each row. ``stating`` are the kinds
    that state a compiler, and ``compilers`` hashes of these compilers.
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
        self._nodes = nodes[first]
        counts = np.bincount(sources, minlength=len(nodes))
        begins = np.cumsum(counts) - counts
        of_first = places_of_runs(begins[first], counts[first])
        self._targets = kinds[targets[of_first]]
        self._edges = np.concatenate(([0], np.cumsum(counts[first])))
        self.stating = np.flatnonzero(side.stating_compilers[self._nodes])
        self.compilers = mixed(*(hashes[self._nodes[self.stating]] for hashes in side.compilers))
        self.starts, self.start_of = np.unique(kinds[place_of[rows]], return_inverse=True)

    def items(self, columns: Sequence[str]) -> Fingerprints:
        """Return a hash of the values of each kind in some of the columns."""
        return mixed(*(self._side.column(name).row_hashes(self._nodes) for name in columns))

    def sets(self, items: Numbers, compilers: Numbers) -> tuple[Numbers, Rows]:
        """Return the sizes of the sets of all starts, and their items, ascending within a set.

        The arguments are the numbers of the items of all kinds, and of the compilers.
        """
        starts, kinds = self._reached
        compiler_of = np.full(len(items), NO_ROW, np.int64)
        compiler_of[self.stating] = compilers
        is_below, is_stating = self.starts[starts] != kinds, compiler_of[kinds] != NO_ROW
        owners = np.concatenate([starts[is_below], starts[is_stating]])
        members = np.concatenate([items[kinds[is_below]], compiler_of[kinds[is_stating]]])
        size = 1 + members.max(initial=0)
        keys = np.sort(owners * size + members)
        owners, members = np.divmod(keys[begins_of_runs(keys)], size)
        return np.bincount(owners, minlength=len(self.starts)), members.astype(np.int32)

    @cached_property
    def _reached(self) -> tuple[Numbers, Numbers]:
        """The index of each start with each kind that it reaches, the start itself included."""
        num_kinds = len(self._nodes)
        parts = [np.empty(0, np.int64)]
        for first in range(0, len(self.starts), _MAX_STARTS):
            starts = self.starts[first : first + _MAX_STARTS]
            new = keys = np.arange(first, first + len(starts)) * num_kinds + starts
            while len(new):
                of_new, kinds = np.divmod(new, num_kinds)
                counts = self._edges[kinds + 1] - self._edges[kinds]
                targets = self._targets[places_of_runs(self._edges[kinds], counts)]
                below = np.sort(np.repeat(of_new * num_kinds, counts) + targets)
                below = below[begins_of_runs(below)]
                places = np.searchsorted(keys, below)
                is_new = keys[np.minimum(places, len(keys) - 1)] != below
                new = below[is_new]
                keys = np.insert(keys, places[is_new], new)
            parts.append(keys)
        starts, kinds = np.divmod(np.concatenate(parts), num_kinds or 1)
        return starts, kinds


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

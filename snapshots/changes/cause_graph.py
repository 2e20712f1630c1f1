"""The pairs of nodes whose different hashes explain each other.

The walk leads from a pair of counterparts to the pairs of their common dependencies whose hashes
differ, and on from there. Each pair is visited once.

A dependency of one node is paired with the dependency of the other node that has the same name. If
a name occurs twice on either side, edges of equal types are paired: those to equal hashes first,
the others in the order of their versions (unknown ones first) and hashes. Edges that remain
unpaired exist on one side only.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Mask, Numbers, Rows
from snapshots.changes.sides import Side, equal_nodes
from snapshots.frames.columns import Arrays, distinct_codes, sorted_order
from snapshots.frames.dependencies import DependencyType
from snapshots.frames.hashes import texts_of
from snapshots.spack.versions import total_order

Key = TypeVar("Key", bound=Hashable)


class EdgeEnd(msgspec.Struct, frozen=True):
    """A dependency: the package and hash to which an edge leads, and its other known facts.

    ``node`` is its number in the graph of its side; ``version`` is None if it is not known.
    """

    name: str
    types: int
    virtuals: tuple[str, ...]
    hash: str
    version: str | None
    node: int


class PairedEdges(msgspec.Struct, frozen=True):
    """The edges of two nodes: those that both have, and those that only one of them has."""

    both: Sequence[tuple[EdgeEnd, EdgeEnd]]
    only_base: Sequence[EdgeEnd]
    only_head: Sequence[EdgeEnd]


def edges_of_each(side: Side, nodes: Numbers) -> list[list[EdgeEnd]]:
    """Return the dependencies of each node, in the order of its record.

    They are read by column; reading them one by one takes several times as long.
    """
    graph = side.graph
    edges = graph.down.edges_of(nodes)
    targets = graph.targets[edges].astype(np.int64)
    columns = (
        side.column("package").values_at(targets),
        graph.types[edges].tolist(),
        map(graph.virtuals.values.__getitem__, graph.virtuals.codes[edges].tolist()),
        texts_of(side.hash_words(targets)),
        side.column("version").values_at(targets),
        targets.tolist(),
    )
    ends = list(map(EdgeEnd, *columns))
    stops = np.cumsum(graph.down.starts[nodes + 1] - graph.down.starts[nodes]).tolist()
    return [ends[start:stop] for start, stop in pairwise([0, *stops])]


def edge_texts(side: Side, node: int) -> list[str]:
    """Return name, types and virtual packages of each dependency of a node, without its hash."""
    graph = side.graph
    texts = []
    for edge in range(int(graph.down.starts[node]), int(graph.down.starts[node + 1])):
        frame, row = side.at(int(graph.targets[edge]))
        parts = (
            frame.package.at(row),
            _names(int(graph.types[edge])),
            ",".join(graph.virtuals.at(edge)),
        )
        texts.append(" ".join(filter(None, parts)))
    return texts


@lru_cache(maxsize=64)
def _names(types: int) -> str:
    return ",".join(str(kind.name).lower() for kind in DependencyType if kind & types)


def pair_edges(base: Sequence[EdgeEnd], head: Sequence[EdgeEnd]) -> PairedEdges:
    """Pair the edges of two nodes."""
    both: list[tuple[EdgeEnd, EdgeEnd]] = []
    only_base: list[EdgeEnd] = []
    only_head: list[EdgeEnd] = []
    for before, after in edges_by_name(base, head):
        if len(before) == len(after) == 1:
            both.append((before[0], after[0]))
            continue
        for old, new in _grouped(before, after, attrgetter("types")):
            pairs, old, new = _equal_first(old, new)
            both += pairs
            both += zip(old, new, strict=False)
            only_base += old[len(new) :]
            only_head += new[len(old) :]
    return PairedEdges(both, only_base, only_head)


def _equal_first(
    base: Iterable[EdgeEnd], head: Iterable[EdgeEnd]
) -> tuple[list[tuple[EdgeEnd, EdgeEnd]], list[EdgeEnd], list[EdgeEnd]]:
    """Return the pairs of equal hashes, and the remaining edges of both sides, in order."""
    both: list[tuple[EdgeEnd, EdgeEnd]] = []
    unmatched: list[EdgeEnd] = []
    after = defaultdict(list)
    for edge in sorted(head, key=_order, reverse=True):
        after[edge.hash].append(edge)
    for edge in sorted(base, key=_order):
        if after[edge.hash]:
            both.append((edge, after[edge.hash].pop()))
        else:
            unmatched.append(edge)
    new = sorted((edge for edges in after.values() for edge in edges), key=_order)
    return both, unmatched, new


def _order(edge: EdgeEnd) -> tuple[object, ...]:
    version = edge.version
    key = () if version is None else total_order(version)
    return version is not None, key, edge.hash, edge.virtuals


def edges_by_name(
    base: Iterable[EdgeEnd], head: Iterable[EdgeEnd]
) -> Iterable[tuple[list[EdgeEnd], list[EdgeEnd]]]:
    """Return the edges of both sides grouped by target name, in the order of first occurrence."""
    return _grouped(base, head, attrgetter("name"))


def _grouped(
    base: Iterable[EdgeEnd], head: Iterable[EdgeEnd], key: Callable[[EdgeEnd], Key]
) -> Iterable[tuple[list[EdgeEnd], list[EdgeEnd]]]:
    """Return the edges of both sides grouped by key, in the order of first occurrence."""
    groups: dict[Key, tuple[list[EdgeEnd], list[EdgeEnd]]] = {}
    for number, edges in enumerate((base, head)):
        for edge in edges:
            groups.setdefault(key(edge), ([], []))[number].append(edge)
    return groups.values()


def _repeated(keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sorted keys that occur more than once."""
    return np.unique(keys[1:][keys[1:] == keys[:-1]])


MAX_PAIRS_PER_NODE = 4
"""Maximum number of pairs per node of the two graphs; real ones rarely need more than one.

Two nodes of the same names at every depth can have as many pairs as the product of both numbers of
nodes. If there are more pairs, the most distant ones are not followed.
"""

MAX_STEPS = 1_000
"""Maximum length of a chain of dependencies from a pair; real ones end after about 100."""


class PairGraph(Arrays, msgspec.Struct, frozen=True):
    """The pairs that are reached, and the edges between them.

    The first ``num_starts`` pairs are those at which the walk starts. Pair n consists of
    ``base_nodes[n]`` and ``head_nodes[n]``. ``sources``, ascending, and ``targets`` are the pairs
    of each edge. ``is_external`` marks pairs for which at least one side states no facts,
    ``has_twice`` those with several dependencies of the same name, ``is_cut`` those that were not
    followed.
    """

    num_starts: int
    base_nodes: Numbers
    head_nodes: Numbers
    sources: Rows
    targets: Rows
    is_external: Mask
    has_twice: Mask
    is_cut: Mask

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        return len(self.base_nodes)


def walk(base: Side, head: Side, base_rows: Rows, head_rows: Rows) -> PairGraph:
    """Return the pairs that are reached from pairs of rows, which must be distinct."""
    return _Walk(base, head).run(base_rows.astype(np.int64), head_rows.astype(np.int64))


class _Walk:
    """A walk level by level; ``_reached`` are the sorted keys of all pairs so far.

    ``_numbers`` contains the number of each of these pairs, and ``_names`` that of each node's
    package, common to both sides.
    """

    def __init__(self, base: Side, head: Side) -> None:
        self._sides = base, head
        columns = [side.column("package") for side in self._sides]
        # In records, dependencies are in the order of their names.
        names = sorted(dict.fromkeys(name for column in columns for name in column.values))
        numbers = {name: number for number, name in enumerate(names)}
        self._names = [
            np.array(list(map(numbers.__getitem__, column.values)), np.uint32)[column.codes]
            for column in columns
        ]
        self._num_names = len(names) + 1
        self._stated = base.is_stated, head.is_stated
        self._equal = equal_nodes(base, head)
        self._start_of = np.full(base.graph.num_nodes, NO_ROW, np.int32)
        self._most = MAX_PAIRS_PER_NODE * (base.graph.num_nodes + head.graph.num_nodes)
        self._edges: list[tuple[Rows, Rows]] = []
        self._twice: list[Rows] = []

    def run(self, base_nodes: Numbers, head_nodes: Numbers) -> PairGraph:
        """Return the pairs reached from the given ones, up to limits that bound memory."""
        num_starts = len(base_nodes)
        self._start_of[base_nodes] = np.arange(num_starts)
        self._heads_of_starts = np.append(head_nodes, NO_ROW)
        level = self._keys(base_nodes, head_nodes)
        self._numbers = np.argsort(level)
        self._reached = level[self._numbers]
        levels = []
        while len(level):
            levels.append(level)
            if len(self._numbers) > self._most or len(levels) > MAX_STEPS:
                break
            level = self._step(level)
        return self._graph(num_starts, np.concatenate([*levels, level[:0]]), num_cut=len(level))

    def _keys(self, base_nodes: Numbers | Rows, head_nodes: Numbers | Rows) -> Numbers:
        return base_nodes.astype(np.int64) * self._sides[1].graph.num_nodes + head_nodes

    def _ends(self, keys: Numbers) -> tuple[Numbers, Numbers]:
        return np.divmod(keys, self._sides[1].graph.num_nodes)

    def _step(self, level: Numbers) -> Numbers:
        """Return the keys of the pairs that a level leads to and that are new."""
        numbers = np.arange(len(self._numbers) - len(level), len(self._numbers), dtype=np.int32)
        base_nodes, head_nodes = self._ends(level)
        stated = self._stated[0][base_nodes] & self._stated[1][head_nodes]
        numbers, base_nodes, head_nodes = numbers[stated], base_nodes[stated], head_nodes[stated]
        places, base_ends, head_ends, twice = self._common_edges(base_nodes, head_nodes)
        self._twice.append(numbers[twice])
        of_edges = self._start_of[base_ends]
        # Most pairs consist of counterparts.
        others = np.flatnonzero(self._heads_of_starts[of_edges] != head_ends)
        keys = self._keys(base_ends[others], head_ends[others])
        first, of_other = distinct_codes(keys)
        keys = keys[first]
        begins = np.searchsorted(self._reached, keys)
        is_new: Mask = self._reached[np.minimum(begins, len(self._reached) - 1)] != keys
        new: Numbers = keys[is_new]
        begins = begins[is_new]
        following = np.arange(len(self._reached), len(self._reached) + len(new))
        self._reached = np.insert(self._reached, begins, new)
        self._numbers = np.insert(self._numbers, begins, following)
        of_edges[others] = self._numbers[np.searchsorted(self._reached, keys)][of_other]
        self._edges.append((numbers[places], of_edges))
        return new

    def _common_edges(
        self, base_nodes: Numbers, head_nodes: Numbers
    ) -> tuple[Rows, Rows, Rows, Numbers]:
        """Return the dependencies that both nodes of a pair have, with different hashes.

        They are paired as by ``pair_edges``. The results are, for each, the index of the pair in
        the arguments, and the targets of the edges in base and in head; and last, the indices of
        pairs with a dependency whose name occurs twice on either side.
        """
        (keys, ends, begins), (head_keys, head_ends, head_begins) = map(
            self._named_edges, self._sides, self._names, (base_nodes, head_nodes)
        )
        twice = np.unique(
            np.concatenate([_repeated(keys), _repeated(head_keys)]) // self._num_names
        )
        counts = np.diff(begins)
        places = np.repeat(np.arange(len(base_nodes), dtype=np.int32), counts)
        # Edges of the same name are paired below, so any of them will do here. Most nodes have
        # dependencies of the same names, so the partner of an edge is at the same place.
        partners = np.arange(len(keys)) + np.repeat((head_begins - begins)[:-1], counts)
        # An additional last edge is the partner of edges without any.
        head_keys = np.append(head_keys, np.iinfo(head_keys.dtype).max)
        head_ends = np.append(head_ends, np.int32(NO_ROW))
        partners = np.minimum(partners, len(head_keys) - 1)
        others = np.flatnonzero(head_keys[partners] != keys)
        partners[others] = np.searchsorted(head_keys, keys[others])
        is_common = np.ones(len(keys), np.bool_)
        is_common[others] = head_keys[partners[others]] == keys[others]
        head_ends = head_ends[partners]
        chosen = np.flatnonzero(is_common & (self._equal[ends] != head_ends))
        edges = places[chosen], ends[chosen], head_ends[chosen]
        if len(twice):
            is_once = ~np.isin(edges[0], twice)
            paired = self._paired(twice, base_nodes[twice], head_nodes[twice])
            paired = paired[:, self._equal[paired[1]] != paired[2]]
            begins = np.searchsorted(edges[0][is_once], paired[0])
            places, ends, head_ends = (
                np.insert(once[is_once], begins, more)
                for once, more in zip(edges, paired, strict=True)
            )
            edges = places, ends, head_ends
        return *edges, twice

    def _named_edges(
        self, side: Side, names: npt.NDArray[np.uint32], nodes: Numbers
    ) -> tuple[npt.NDArray[np.unsignedinteger[Any]], Rows, Numbers]:
        """Return a sorted key of each edge, from the node's index and the name, and its target.

        Last, return where the edges of each node begin, and the number of edges.
        """
        down, targets = side.graph.down, side.graph.targets
        counts = down.starts[nodes + 1] - down.starts[nodes]
        ends = targets[down.edges_of(nodes)]
        begins = np.concatenate(([0], np.cumsum(counts)))
        # The half of the memory takes the half of the time, and mostly suffices.
        size = np.min_scalar_type(len(nodes) * self._num_names)
        firsts = np.arange(len(nodes)) * self._num_names
        keys = np.repeat(firsts.astype(np.promote_types(size, np.uint32)), counts)
        keys += names[ends]
        if (keys[1:] >= keys[:-1]).all():
            return keys, ends, begins
        order = sorted_order(keys)
        return keys[order], ends[order], begins

    def _paired(self, places: Numbers, base: Numbers, head: Numbers) -> Numbers:
        """Return the index and targets of the common edges of pairs of nodes, one row each."""
        edges = map(edges_of_each, self._sides, (base, head))
        ends = [
            (place, old.node, new.node)
            for place, of_pair in zip(places.tolist(), map(pair_edges, *edges), strict=True)
            for old, new in of_pair.both
        ]
        rows: Numbers = np.array(ends, np.int64).reshape(-1, 3).T
        return rows

    def _graph(self, num_starts: int, keys: Numbers, num_cut: int) -> PairGraph:
        base_nodes, head_nodes = self._ends(keys)
        nothing = np.empty(0, np.int32)
        sources, targets = map(np.concatenate, zip((nothing, nothing), *self._edges, strict=True))
        has_twice = np.zeros(len(keys), np.bool_)
        has_twice[np.concatenate([nothing, *self._twice])] = True
        return PairGraph(
            num_starts,
            base_nodes,
            head_nodes,
            sources,
            targets,
            ~(self._stated[0][base_nodes] & self._stated[1][head_nodes]),
            has_twice,
            np.arange(len(keys)) >= len(keys) - num_cut,
        )

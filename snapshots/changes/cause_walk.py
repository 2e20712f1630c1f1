"""The pairs of nodes whose differing hashes explain each other.

From a pair of counterparts to the pairs of the dependencies that both have, where their hashes
differ, and on from there; each pair is reached once, so that cycles end.
"""

from typing import NamedTuple

import numpy as np

from snapshots.changes.edge_joins import EdgeJoin
from snapshots.changes.node_columns import are_equal, is_stated
from snapshots.changes.sides import Side
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.graphs import Edges, Nodes, Numbers

MOST_PAIRS_PER_NODE = 4
"""How many pairs are followed, for each node of the two graphs; hardly any needs more than one.

Cycles of different lengths could be walked around in step for ever so long. Where there are more
pairs, those that are farthest away are not followed.
"""

MOST_STEPS = 1_000
"""How many dependencies in a row are followed from a pair; real ones end after some 100."""


class PairGraph(NamedTuple):
    """The pairs that are reached, and which leads to which.

    The first ``num_starts`` are those that the walk began with. Pair n is of ``base_nodes[n]`` and
    ``head_nodes[n]``. ``sources``, rising, and ``targets`` are the pairs of each edge.
    ``is_external`` marks pairs of which one side or both state nothing, ``has_twice`` those with
    dependencies of one name, ``is_cut`` those that were not followed.
    """

    num_starts: int
    base_nodes: Nodes
    head_nodes: Nodes
    sources: Numbers
    targets: Numbers
    is_external: Mask
    has_twice: Mask
    is_cut: Mask

    @property
    def num_pairs(self) -> int:
        """How many pairs there are."""
        return len(self.base_nodes)

    @property
    def num_bytes(self) -> int:
        """How much memory the arrays take."""
        return sum(it.nbytes for it in self[1:])


def walk(base: Side, head: Side, base_rows: Rows, head_rows: Rows) -> PairGraph:
    """Return the pairs that are reached from pairs of rows, which are different pairs."""
    return _Walk(base, head).run(base_rows.astype(np.int64), head_rows.astype(np.int64))


class _Walk:
    """Goes down level by level; ``_numbers`` has the number of each pair by its key."""

    def __init__(self, base: Side, head: Side) -> None:
        self._base, self._head = base, head
        self._join = EdgeJoin(base, head)
        self._stated = is_stated(base), is_stated(head)
        self._most = MOST_PAIRS_PER_NODE * (base.graph.num_nodes + head.graph.num_nodes)
        self._numbers: dict[int, int] = {}
        self._edges: list[tuple[Edges, Edges]] = []
        self._twice: list[Edges] = []

    def run(self, base_nodes: Nodes, head_nodes: Nodes) -> PairGraph:
        """Return what is reached from the pairs; only bounded memory limits how far it goes."""
        num_starts = len(base_nodes)
        keys = level = self._keys(base_nodes, head_nodes)
        self._numbers = dict(zip(keys.tolist(), range(num_starts), strict=True))
        levels = []
        while len(level):
            levels.append(level)
            if len(self._numbers) > self._most or len(levels) > MOST_STEPS:
                break
            level = self._step(level)
        return self._graph(num_starts, np.concatenate([*levels, level[:0]]), num_cut=len(level))

    def _keys(self, base_nodes: Nodes, head_nodes: Nodes) -> Nodes:
        return base_nodes * self._head.graph.num_nodes + head_nodes

    def _ends(self, keys: Nodes) -> tuple[Nodes, Nodes]:
        return np.divmod(keys, self._head.graph.num_nodes)

    def _step(self, level: Nodes) -> Nodes:
        """Return the keys of the pairs that a level leads to and that no earlier one did."""
        numbers = np.arange(len(self._numbers) - len(level), len(self._numbers))
        base_nodes, head_nodes = self._ends(level)
        stated = self._stated[0][base_nodes] & self._stated[1][head_nodes]
        numbers, base_nodes, head_nodes = numbers[stated], base_nodes[stated], head_nodes[stated]
        common = self._join.common(base_nodes, head_nodes)
        self._twice.append(numbers[common.twice])
        ends = common.base_nodes, common.head_nodes
        differ = ~are_equal(self._base, ends[0], self._head, ends[1])
        keys, places = np.unique(self._keys(*ends)[differ], return_inverse=True)
        new = [key for key in keys.tolist() if key not in self._numbers]
        first = len(self._numbers)
        self._numbers.update(zip(new, range(first, first + len(new)), strict=True))
        reached = np.fromiter(map(self._numbers.__getitem__, keys.tolist()), np.int64, len(keys))
        self._edges.append((numbers[common.places[differ]], reached[places]))
        return np.array(new, np.int64)

    def _graph(self, num_starts: int, keys: Nodes, num_cut: int) -> PairGraph:
        base_nodes, head_nodes = self._ends(keys)
        nothing = np.empty(0, np.int64)
        sources, targets = (
            (np.concatenate([nothing, *ends]) for ends in zip(*self._edges, strict=True))
            if self._edges
            else (nothing, nothing)
        )
        order = np.argsort(sources, kind="stable")
        has_twice = np.zeros(len(keys), np.bool_)
        has_twice[np.concatenate([nothing, *self._twice])] = True
        return PairGraph(
            num_starts,
            base_nodes,
            head_nodes,
            sources[order].astype(np.int32),
            targets[order].astype(np.int32),
            ~(self._stated[0][base_nodes] & self._stated[1][head_nodes]),
            has_twice,
            np.arange(len(keys)) >= len(keys) - num_cut,
        )

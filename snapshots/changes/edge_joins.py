"""The dependencies that the two nodes of each of many pairs have in common, in columns."""

from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.node_columns import node_codes
from snapshots.changes.edge_pairs import edge_at, pair_edges
from snapshots.changes.sides import Side
from snapshots.frames.adjacency import Edges, Nodes, Numbers

Keys = npt.NDArray[np.int64]


class CommonEdges(NamedTuple):
    """Dependencies that both nodes of a pair have, as ``edge_pairs`` pairs them.

    ``places`` are those of the pairs among all that were asked for; ``base_nodes`` and
    ``head_nodes`` are what the two edges lead to. ``twice`` are the places of pairs with a
    dependency whose name stands twice on one side or the other.
    """

    places: Edges
    base_nodes: Nodes
    head_nodes: Nodes
    twice: Edges


class _NamedEdges(NamedTuple):
    """The edges of the nodes on one side, by the place of the node and the name at their end."""

    keys: Keys
    edges: Edges


class EdgeJoin:
    """Joins the edges of pairs of nodes of two sides."""

    def __init__(self, base: Side, head: Side) -> None:
        self._sides = base, head
        packages = [(it.frame.packages, it.graph.outside.packages) for it in self._sides]
        every = sorted(set(chain(*chain(*packages))))
        places = {name: place for place, name in enumerate(every)}
        self._size = len(every) + 1
        self._names: list[Numbers] = []
        for side, lists in zip(self._sides, packages, strict=True):
            codes = np.fromiter(map(places.__getitem__, chain(*lists)), np.int32)
            self._names.append(codes[node_codes(side, "package")])

    def common(self, base_nodes: Nodes, head_nodes: Nodes) -> CommonEdges:
        """Return what the two nodes of each pair have in common."""
        before, after = (self._named(0, base_nodes), self._named(1, head_nodes))
        twice = np.union1d(_standing_twice(before.keys), _standing_twice(after.keys))
        keys, ours, theirs = np.intersect1d(
            before.keys, after.keys, assume_unique=not len(twice), return_indices=True
        )
        if len(twice):
            once = ~np.isin(keys, twice)
            keys, ours, theirs = keys[once], ours[once], theirs[once]
        base, head = (it.graph.targets.astype(np.int64) for it in self._sides)
        found = [(keys // self._size, base[before.edges[ours]], head[after.edges[theirs]])]
        found += [self._paired(key, before, after) for key in twice.tolist()]
        places, base_ends, head_ends = map(np.concatenate, zip(*found, strict=True))
        return CommonEdges(
            places,
            base_ends,
            head_ends,
            np.unique(twice // self._size),
        )

    def _named(self, number: int, nodes: Nodes) -> _NamedEdges:
        """Return the edges of nodes of a side, sorted by the node's place and the name."""
        graph = self._sides[number].graph
        edges = graph.down.edges_of(nodes)
        counts = graph.down.starts[nodes + 1] - graph.down.starts[nodes]
        places = np.repeat(np.arange(len(nodes)), counts)
        keys = places * self._size + self._names[number][graph.targets[edges]]
        order = np.argsort(keys, kind="stable")
        return _NamedEdges(keys[order], edges[order])

    def _paired(
        self, key: int, before: _NamedEdges, after: _NamedEdges
    ) -> tuple[Edges, Nodes, Nodes]:
        """Pair the edges of one pair of nodes that have one name."""
        lists = []
        for side, named in zip(self._sides, (before, after), strict=True):
            start, stop = np.searchsorted(named.keys, (key, key + 1)).tolist()
            lists.append([edge_at(side, edge) for edge in named.edges[start:stop].tolist()])
        both = pair_edges(*lists).both
        ends = np.array([(old.node, new.node) for old, new in both], np.int64).reshape(-1, 2)
        return np.full(len(both), key // self._size), ends[:, 0], ends[:, 1]


def _standing_twice(keys: Keys) -> Keys:
    """Return the keys, out of sorted ones, that stand there more than once."""
    return np.unique(keys[1:][keys[1:] == keys[:-1]])

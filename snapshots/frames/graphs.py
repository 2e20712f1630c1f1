"""Directed graphs in compressed form, and their bottom-up order: targets of edges come first."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from snapshots.arrays import Mask, Numbers, Rows
from snapshots.frames.columns import Arrays, begins_of_runs, places_of_runs

_HALF = 32
"""Half the number of bits of a number."""


class Adjacency(Arrays):
    """One direction of a graph: the edges of each node, and the node at the end of each edge.

    ``begins`` has the node where each edge begins, in ascending order. ``edges`` has the numbers of
    these edges; None if the edges are numbered in this order.
    """

    def __init__(self, begins: Rows, edges: Rows | None, ends: Rows, num_nodes: int) -> None:
        counts = np.bincount(begins, minlength=num_nodes)
        self.starts = np.concatenate(([0], np.cumsum(counts)))
        self.edges = edges
        self.ends = ends

    def edges_of(self, nodes: Numbers) -> Numbers:
        """Return the edges that begin at the nodes, node by node."""
        starts = self.starts[nodes]
        places = places_of_runs(starts, self.starts[nodes + 1] - starts)
        return places if self.edges is None else self.edges[places].astype(np.int64)


# -- bottom-up order


class BottomUpGraph(Arrays):
    """A graph without cycles in bottom-up order: the target of an edge precedes its source.

    ``sources``, in ascending order, and ``targets`` are the nodes of each edge. ``levels`` has the
    nodes; a level follows all levels that its nodes lead to. They are determined unless they are
    passed. Readers refuse cycles; the nodes that lead to one would be in no level.
    """

    def __init__(
        self, sources: Rows, targets: Rows, num_nodes: int, levels: Iterable[Numbers] | None = None
    ) -> None:
        self.num_nodes = num_nodes
        self._down = Adjacency(sources, None, targets, num_nodes)
        self.levels = list(levels or bottom_up_levels(sources, targets, num_nodes))

    @property
    def nodes(self) -> Numbers:
        """The nodes of all levels, in their order."""
        return np.concatenate([np.empty(0, np.int64), *self.levels])

    @property
    def ends(self) -> Mask:
        """A mask of the nodes without successors."""
        mask: Mask = np.diff(self._down.starts) == 0
        return mask

    def spread(
        self,
        values: npt.NDArray[Any],
        fold: np.ufunc,
        finish: Callable[[Numbers], None] = lambda _: None,
    ) -> None:
        """Fold the values of all reachable nodes into the value of each node (a row of ``values``).

        ``finish`` is called with the nodes whose values are final, before the nodes that lead to
        them are folded.
        """
        counts = np.diff(self._down.starts)
        for level in self.levels:
            inner = level[counts[level] > 0]
            if len(inner):
                targets = self._down.ends[self._down.edges_of(inner)]
                begins = np.cumsum(counts[inner]) - counts[inner]
                values[inner] = fold(values[inner], fold.reduceat(values[targets], begins))
            finish(level)


def bottom_up_levels(sources: Rows, targets: Rows, num_nodes: int) -> Iterator[Numbers]:
    """Yield the nodes in levels: all successors of a level's nodes are in earlier levels."""
    # Both ends of an edge as one number, as only whole numbers are sorted fast.
    by_target = np.sort(targets.astype(np.int64) << _HALF | sources)
    up = Adjacency(targets, None, by_target.astype(np.uint32), num_nodes)
    num_open = np.bincount(sources, minlength=num_nodes)
    level = np.flatnonzero(num_open == 0)
    while len(level):
        yield level
        above = up.ends[up.edges_of(level)]
        np.subtract.at(num_open, above, 1)
        level = np.sort(above[num_open[above] == 0]).astype(np.int64)
        level = level[begins_of_runs(level)]

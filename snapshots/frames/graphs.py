"""Directed graphs in compressed form, and their bottom-up order: targets of edges come first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """A graph in bottom-up order: the target of an edge precedes its source.

    ``sources``, in ascending order, and ``targets`` are the nodes of each edge. ``levels`` has the
    nodes from which no cycle is reachable; a level follows all levels that its nodes lead to.
    ``components`` has the other nodes, as strongly connected components: the nodes of a cycle, or a
    single node that leads to cycles. Cycles are rare, so the levels are removed first.
    """

    def __init__(self, sources: Rows, targets: Rows, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        self._sources = sources
        self._down = Adjacency(sources, None, targets, num_nodes)
        self.levels = list(bottom_up_levels(sources, targets, num_nodes))
        is_left = np.ones(num_nodes, np.bool_)
        for level in self.levels:
            is_left[level] = False
        self.components: Sequence[Numbers] = [
            np.array(nodes, np.int64) for nodes in strongly_connected(self._below(is_left))
        ]

    def _below(self, is_left: Mask) -> dict[int, list[int]]:
        """Return the marked direct successors of each marked node."""
        nodes = np.flatnonzero(is_left)
        below: dict[int, list[int]] = {node: [] for node in nodes.tolist()}
        edges = self._down.edges_of(nodes)
        edges = edges[is_left[self._down.ends[edges]]]
        sources, targets = self._sources[edges].tolist(), self._down.ends[edges].tolist()
        for source, target in zip(sources, targets, strict=True):
            below[source].append(target)
        return below

    @property
    def nodes(self) -> Numbers:
        """The nodes of all levels, in their order."""
        return np.concatenate([np.empty(0, np.int64), *self.levels])

    def _targets(self, nodes: Numbers) -> Numbers:
        targets: Numbers = self._down.ends[self._down.edges_of(nodes)].astype(np.int64)
        return targets

    def ends(self, is_marked: Mask) -> Mask:
        """Return the unmarked nodes without successors, or with successors only in their own cycle.

        A cycle counts as marked if one of its nodes is marked.
        """
        mask = np.zeros(len(is_marked), np.bool_)
        lowest = self.levels[0] if self.levels else np.empty(0, np.int64)
        mask[lowest] = ~is_marked[lowest]
        for nodes in self.components:
            if not is_marked[nodes].any() and np.isin(self._targets(nodes), nodes).all():
                mask[nodes] = True
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
        for number, level in enumerate(self.levels):
            if number:
                starts = self._down.starts[level]
                counts = self._down.starts[level + 1] - starts
                below = fold.reduceat(values[self._targets(level)], np.cumsum(counts) - counts)
                values[level] = fold(values[level], below)
            finish(level)
        for nodes in self.components:
            both = np.concatenate((nodes, self._targets(nodes)))
            values[nodes] = fold.reduce(values[both], axis=0)
            finish(nodes)


def bottom_up_levels(sources: Rows, targets: Rows, num_nodes: int) -> Iterator[Numbers]:
    """Yield levels of the nodes from which no cycle is reachable.

    All successors of a level's nodes are in earlier levels.
    """
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


def strongly_connected(below: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components of a small graph bottom-up, without recursion.

    Kosaraju's algorithm: a walk from the node that the upward walk finishes last reaches exactly
    the nodes of its component that no earlier component has.
    """
    above: dict[int, list[int]] = {node: [] for node in below}
    for node, targets in below.items():
        for target in targets:
            above[target].append(node)
    finished: list[int] = []
    seen: set[int] = set()
    for node in below:
        finished += _finished_from(node, above, seen)
    seen.clear()
    for node in reversed(finished):
        if component := _finished_from(node, below, seen):
            yield component


def _finished_from(
    start: int, targets_of: Mapping[int, Sequence[int]], seen: set[int]
) -> list[int]:
    """Return the unseen nodes that a depth-first walk reaches, in the order in which it ends."""
    finished: list[int] = []
    walk = [] if start in seen else [(start, iter(targets_of[start]))]
    seen.add(start)
    while walk:
        node, targets = walk[-1]
        target = next((target for target in targets if target not in seen), None)
        if target is None:
            finished.append(node)
            walk.pop()
        else:
            seen.add(target)
            walk.append((target, iter(targets_of[target])))
    return finished

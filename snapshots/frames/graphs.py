"""Directed graphs in compressed form, and their order from below: targets of edges come first."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.int64]
Edges = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


class Adjacency:
    """One direction of a graph: the edges of each node, and the node at the end of each edge.

    ``begins`` are the nodes that the edges lead away from, in rising order, ``edges`` the numbers
    of those edges, None where they are in order themselves.
    """

    def __init__(
        self, begins: Numbers, edges: Numbers | None, ends: Numbers, num_nodes: int
    ) -> None:
        counts = np.bincount(begins, minlength=num_nodes)
        self.starts = np.concatenate(([0], np.cumsum(counts)))
        self.edges = edges
        self.ends = ends

    def edges_of(self, nodes: Nodes) -> Edges:
        """Return the edges that lead away from the nodes, node by node."""
        starts = self.starts[nodes]
        places = places_of_runs(starts, self.starts[nodes + 1] - starts)
        return places if self.edges is None else self.edges[places].astype(np.int64)


def places_of_runs(starts: Edges, counts: Edges) -> Edges:
    """Return the numbers of runs, one after the other: each from a start on, so many of them."""
    before = np.cumsum(counts) - counts
    places: Edges = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return places


# -- order from below


class FromBelow(msgspec.Struct, frozen=True):
    """All nodes of a graph, each after all that it leads to.

    ``nodes`` lead to no cycle. The others follow, as strongly connected components: nodes that all
    lead to each other, or a single one.
    """

    nodes: Nodes
    components: Sequence[Sequence[int]]


def from_below(sources: Numbers, targets: Numbers, num_nodes: int) -> FromBelow:
    """Put a graph in order; ``sources`` and ``targets`` are the nodes of each edge.

    Cycles are rare, so nodes that lead to none are removed level by level. Tarjan's algorithm
    orders the rest.
    """
    nodes = np.concatenate([np.empty(0, np.int64), *levels_from_below(sources, targets, num_nodes)])
    is_left = np.ones(num_nodes, np.bool_)
    is_left[nodes] = False
    below: dict[int, list[int]] = {node: [] for node in np.flatnonzero(is_left).tolist()}
    edges = is_left[sources] & is_left[targets]
    for source, target in zip(sources[edges].tolist(), targets[edges].tolist(), strict=True):
        below[source].append(target)
    return FromBelow(nodes, list(strongly_connected(below)))


def levels_from_below(sources: Numbers, targets: Numbers, num_nodes: int) -> Iterator[Nodes]:
    """Yield the nodes that lead to no cycle, a level at a time: all that leads to earlier ones."""
    by_target = np.argsort(targets).astype(np.int32)
    up = Adjacency(targets[by_target], by_target, sources, num_nodes)
    num_open = np.bincount(sources, minlength=num_nodes)
    level = np.flatnonzero(num_open == 0)
    while len(level):
        yield level
        above = sources[up.edges_of(level)]
        np.subtract.at(num_open, above, 1)
        level = np.unique(above[num_open[above] == 0]).astype(np.int64)


def strongly_connected(below: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """Yield the components of a small graph in that order, without recursion."""
    numbers: dict[int, int] = {}
    lowest: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for start in below:
        if start in numbers:
            continue
        walk = [(start, iter(below[start]))]
        numbers[start] = lowest[start] = len(numbers)
        open_nodes.append(start)
        is_open.add(start)
        while walk:
            node, targets = walk[-1]
            for target in targets:
                if target not in numbers:
                    numbers[target] = lowest[target] = len(numbers)
                    open_nodes.append(target)
                    is_open.add(target)
                    walk.append((target, iter(below[target])))
                    break
                if target in is_open:
                    lowest[node] = min(lowest[node], numbers[target])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == numbers[node]:
                    component = [open_nodes.pop()]
                    while component[-1] != node:
                        component.append(open_nodes.pop())
                    is_open.difference_update(component)
                    yield component

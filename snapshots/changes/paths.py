"""The shortest chain of dependencies from a spec to a cause of its change."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from snapshots.changes.cause_walk import PairGraph
from snapshots.changes.node_columns import frame_row
from snapshots.changes.sides import Side
from snapshots.frames.graphs import Adjacency, Nodes, Numbers


class CauseStep(NamedTuple):
    """A package on the way from a spec to a cause, and its nodes in the graphs of both sides."""

    name: str
    base_node: int | None
    head_node: int | None


class Paths:
    """Finds the shortest chains from pairs to what explains most of all causes below them.

    ``best`` is the number of that cause for each pair, ``ends`` are the pairs that have it
    themselves. Every pair on a way to it has the same one, so that one search is enough for all.
    """

    def __init__(
        self, base: Side, head: Side, graph: PairGraph, best: Numbers, ends: Nodes
    ) -> None:
        self._sides = base, head
        self._graph = graph
        self._best = best
        self._ends = ends

    def of(self, pair: int) -> list[CauseStep]:
        """Return a shortest chain from a pair to an end, both included.

        Of equally short chains it is the one whose names come first; of pairs of one name that
        with the lesser hashes.
        """
        steps = [self.step(pair)]
        for left in range(int(self._distances[pair]) - 1, -1, -1):
            targets = self._down.ends[self._down.edges_of(np.array([pair]))]
            is_next = self._distances[targets] == left
            is_next &= self._best[targets] == self._best[pair]
            pair = min(set(targets[is_next].tolist()), key=self._order)
            steps.append(self.step(pair))
        return steps

    @cached_property
    def _distances(self) -> Numbers:
        """How many steps each pair is away from its nearest end."""
        graph = self._graph
        edges = np.flatnonzero(self._best[graph.sources] == self._best[graph.targets])
        edges = edges[np.argsort(graph.targets[edges], kind="stable")]
        up = Adjacency(graph.targets[edges], None, graph.sources[edges], graph.num_pairs)
        distances = np.full(graph.num_pairs, -1, np.int32)
        distance, level = 0, self._ends
        while len(level):
            distances[level] = distance
            above = up.ends[up.edges_of(level)]
            level = np.unique(above[distances[above] < 0]).astype(np.int64)
            distance += 1
        return distances

    @cached_property
    def _down(self) -> Adjacency:
        graph = self._graph
        return Adjacency(graph.sources, None, graph.targets, graph.num_pairs)

    def step(self, pair: int) -> CauseStep:
        """Return the step that leads to a pair."""
        base_node, head_node = self._nodes(pair)
        frame, row = frame_row(self._sides[0], base_node)
        return CauseStep(frame.package.at(row), base_node, head_node)

    def _order(self, pair: int) -> tuple[str, str, str]:
        rows = [
            frame_row(side, node) for side, node in zip(self._sides, self._nodes(pair), strict=True)
        ]
        before, after = (frame.hashes.at(row) for frame, row in rows)
        return self.step(pair).name, before, after

    def _nodes(self, pair: int) -> tuple[int, int]:
        return int(self._graph.base_nodes[pair]), int(self._graph.head_nodes[pair])

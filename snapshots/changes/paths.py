"""The shortest chain of dependencies from a spec to a cause of its change."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.cause_walk import PairGraph
from snapshots.changes.node_columns import frame_row
from snapshots.changes.sides import Side
from snapshots.frames.adjacency import Adjacency, Nodes

_FAR = np.iinfo(np.int32).max


class CauseStep(NamedTuple):
    """A package on the way from a spec to a cause, and its nodes in the graphs of both sides."""

    name: str
    base_node: int | None
    head_node: int | None


class Paths:
    """Finds chains in a graph of pairs."""

    def __init__(self, base: Side, head: Side, graph: PairGraph) -> None:
        self._sides = base, head
        self._graph = graph

    def to(self, ends: Nodes, starts: Iterable[int]) -> Iterator[list[CauseStep]]:
        """Yield for each start a shortest chain to one of the ends, both ends included.

        All starts lead to some end. Of equally short chains it is the one whose names come first;
        of pairs of one name that with the lesser hashes.
        """
        distances = self._distances(ends)
        for start in starts:
            pair = start
            steps = [self._step(pair)]
            while distances[pair]:
                targets = self._down.ends[self._down.edges_of(np.array([pair]))]
                nearer = targets[distances[targets] == distances[pair] - 1]
                pair = min(set(nearer.tolist()), key=self._order)
                steps.append(self._step(pair))
            yield steps

    def _distances(self, ends: Nodes) -> npt.NDArray[np.int32]:
        """Return how many steps each pair is away from the nearest end."""
        distances = np.full(self._graph.num_pairs, _FAR, np.int32)
        distance, level = 0, ends
        while len(level):
            distances[level] = distance
            above = self._up.ends[self._up.edges_of(level)]
            level = np.unique(above[distances[above] == _FAR]).astype(np.int64)
            distance += 1
        return distances

    @cached_property
    def _down(self) -> Adjacency:
        graph = self._graph
        return Adjacency(graph.sources, None, graph.targets, graph.num_pairs)

    @cached_property
    def _up(self) -> Adjacency:
        graph = self._graph
        order = np.argsort(graph.targets, kind="stable")
        return Adjacency(graph.targets[order], None, graph.sources[order], graph.num_pairs)

    def _step(self, pair: int) -> CauseStep:
        base_node, head_node = self._nodes(pair)
        frame, row = frame_row(self._sides[0], base_node)
        return CauseStep(frame.package.at(row), base_node, head_node)

    def _order(self, pair: int) -> tuple[str, str, str]:
        rows = [
            frame_row(side, node) for side, node in zip(self._sides, self._nodes(pair), strict=True)
        ]
        before, after = (frame.hashes.at(row) for frame, row in rows)
        return self._step(pair).name, before, after

    def _nodes(self, pair: int) -> tuple[int, int]:
        return int(self._graph.base_nodes[pair]), int(self._graph.head_nodes[pair])

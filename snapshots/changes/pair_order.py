"""The pairs of nodes from below: each behind all that it leads to, those of a cycle as one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from snapshots.changes.cause_walk import PairGraph
from snapshots.frames.columns import Mask
from snapshots.frames.graphs import Adjacency, Nodes, levels_from_below, strongly_connected


class PairOrder:
    """An order to work a graph of pairs off in.

    ``levels`` are the pairs that lead to no cycle, a level behind all that it leads to. Then come
    ``components``, the pairs of each cycle, or one pair that leads to cycles without being in one.
    """

    def __init__(self, graph: PairGraph) -> None:
        size = graph.num_pairs
        self.num_pairs = size
        self._sources = graph.sources
        self._down = Adjacency(graph.sources, None, graph.targets, size)
        self.levels = list(levels_from_below(graph.sources, graph.targets, size))
        is_left = np.ones(size, np.bool_)
        for level in self.levels:
            is_left[level] = False
        self.components: Sequence[Nodes] = [
            np.array(pairs, np.int64) for pairs in strongly_connected(self._below(is_left))
        ]

    def _below(self, is_left: Mask) -> dict[int, list[int]]:
        """Return for each marked pair the marked ones that it leads to."""
        pairs = np.flatnonzero(is_left)
        below: dict[int, list[int]] = {pair: [] for pair in pairs.tolist()}
        edges = self._down.edges_of(pairs)
        edges = edges[is_left[self._down.ends[edges]]]
        sources, targets = self._sources[edges].tolist(), self._down.ends[edges].tolist()
        for source, target in zip(sources, targets, strict=True):
            below[source].append(target)
        return below

    def _targets(self, pairs: Nodes) -> Nodes:
        targets: Nodes = self._down.ends[self._down.edges_of(pairs)].astype(np.int64)
        return targets

    def ends(self, is_explained: Mask) -> Mask:
        """Return the pairs that are not marked and lead to none, or to none but their own cycle.

        A cycle counts as marked where one of its pairs is.
        """
        mask = np.zeros(len(is_explained), np.bool_)
        lowest = self.levels[0] if self.levels else np.empty(0, np.int64)
        mask[lowest] = ~is_explained[lowest]
        for pairs in self.components:
            if not is_explained[pairs].any() and np.isin(self._targets(pairs), pairs).all():
                mask[pairs] = True
        return mask

    def spread(self, values: npt.NDArray[Any], fold: np.ufunc) -> None:
        """Fold into the value of each pair, a row, those of all pairs that it leads to."""
        for level in self.levels[1:]:
            starts = self._down.starts[level]
            counts = self._down.starts[level + 1] - starts
            below = fold.reduceat(values[self._targets(level)], np.cumsum(counts) - counts)
            values[level] = fold(values[level], below)
        for pairs in self.components:
            both = np.concatenate((pairs, self._targets(pairs)))
            values[pairs] = fold.reduce(values[both], axis=0)

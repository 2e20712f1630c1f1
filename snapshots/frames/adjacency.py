"""A graph in compressed form, seen from one of its two directions."""

import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.int64]
Edges = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


class Adjacency:
    """One direction to walk in: the edges of each node, and the node at the end of each edge.

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

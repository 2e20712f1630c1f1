"""The holes of a revision: missing specs without which others cannot be installed from its cache.

A spec is *whole* if every spec that it reaches over link and run edges is in the cache or external.
A *hole* is a missing spec; it *affects* all specs that reach it. The source may state only the name
and hash of a missing spec. It is then not known to be external, and counts as a hole.
"""

import msgspec
import numpy as np

from snapshots.changes.involvement import Involvement, Numbers
from snapshots.changes.pairings import Records
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.dependencies import DependencyGraph, DependencyType, EachLevel
from snapshots.frames.graphs import BottomUpGraph, Edges, Nodes

INSTALLED = DependencyType.LINK | DependencyType.RUN
"""The types of dependencies that are installed with a binary package."""


class Hole(msgspec.Struct, frozen=True):
    """A missing spec; ``version`` is None if the source does not state it."""

    hash: str
    name: str
    version: str | None
    num_affected: int


class Holes(Records[Hole]):
    """The holes of a content, those that affect the most specs first.

    Equal ones are sorted by package, newest version and hash. With ``rows``, a mask over the
    content's rows, only these count as affected, and only specs that they reach are holes.
    Dependencies that the source does not state are not followed. ``num_affected`` is the number of
    specs that any hole affects. ``num_whole`` is the number of specs known to be whole: a spec that
    has or reaches unknown dependencies does not count.
    """

    def __init__(self, graph: DependencyGraph, rows: Mask | None = None) -> None:
        self._rows = np.ones(graph.num_rows, np.bool_) if rows is None else rows
        edges = np.flatnonzero(graph.types & INSTALLED.value)
        is_needed = np.zeros(graph.num_nodes, np.bool_)
        is_needed[graph.targets[edges]] = True
        is_needed[graph.num_rows :] &= ~_are_external(graph)
        nodes = graph.num_rows + np.flatnonzero(is_needed[graph.num_rows :])
        counts = _count_affected(graph, edges, nodes, self._rows)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        self._nodes, self._counts = nodes[order], counts[order]
        frame, places = graph.outside, self._nodes - graph.num_rows
        self._hashes = list(map(frame.hashes.at, places.tolist()))
        self._names = [frame.packages[code] for code in frame.package.codes[places].tolist()]
        self._versions = [frame.version.at(place) for place in places.tolist()]
        is_hole = np.zeros(graph.num_nodes, np.bool_)
        is_hole[self._nodes] = True
        is_affected = self._rows & _rows_above(graph, is_hole)
        self.num_affected = int(np.count_nonzero(is_affected))
        is_unknown = np.zeros(graph.num_nodes, np.bool_)
        is_unknown[: graph.num_rows] = ~graph.known
        is_unsure = is_unknown[: graph.num_rows] | _rows_above(graph, is_unknown)
        self.num_whole = int(np.count_nonzero(self._rows & ~is_affected & ~is_unsure))

    def __len__(self) -> int:
        return len(self._nodes)

    def _record(self, place: int) -> Hole:
        return Hole(
            self._hashes[place], self._names[place], self._versions[place], int(self._counts[place])
        )

    def find(self, digest: str) -> int | None:
        """Return the index of the hole with a hash; None if there is none."""
        return self._hashes.index(digest) if digest in self._hashes else None

    def affected(self, graph: DependencyGraph, place: int, each_level: EachLevel = iter) -> Rows:
        """Return the rows that a hole affects, ascending; ``each_level`` is that of other walks.

        ``graph`` must be the graph from which the holes were computed.
        """
        node = int(self._nodes[place])
        above = graph.reached_from(
            node, INSTALLED, upward=True, transitive=True, each_level=each_level
        ).nodes
        rows = np.sort(above[above < graph.num_rows]).astype(np.int32)
        return rows[self._rows[rows]]


def _count_affected(graph: DependencyGraph, edges: Edges, nodes: Nodes, rows: Mask) -> Numbers:
    """Return for each of some nodes the number of marked rows that reach it by the given edges."""
    order = BottomUpGraph(graph.sources[edges], graph.targets[edges], graph.num_nodes)
    numbers = np.arange(len(nodes))
    involvement = Involvement(len(nodes), nodes, numbers, order, graph.num_rows)
    return involvement.num_involved(np.flatnonzero(rows))


def _rows_above(graph: DependencyGraph, nodes: Mask) -> Mask:
    """Return the rows that reach any of some nodes by link and run edges."""
    edges = nodes[graph.targets] & (graph.types & INSTALLED.value != 0)
    return graph.nodes_above(edges, INSTALLED)[: graph.num_rows]


def _are_external(graph: DependencyGraph) -> Mask:
    """Return which of the specs outside the cache are external."""
    mask = np.zeros(len(graph.outside), np.bool_)
    for name in ("external_path", "external_modules"):
        column: Column[object] = getattr(graph.outside, name)
        mask |= column.known()[column.codes]
    return mask

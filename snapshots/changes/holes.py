"""The holes of a revision: missing specs without which others cannot be installed from its cache.

A spec is *whole* if every spec that it reaches over link and run edges is in the cache or external.
The spec that a spliced one was built as counts like such an edge.
A *hole* is a missing spec; it *affects* all specs that reach it. The source may state only the name
and hash of a missing spec. It is then not known to be external, and counts as a hole.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from snapshots.arrays import Mask, Numbers, Rows
from snapshots.changes.involvement import Involvement
from snapshots.changes.pairings import Records
from snapshots.frames.columns import Column
from snapshots.frames.dependencies import DependencyGraph, DependencyType, EachLevel
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import BottomUpGraph

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
    Dependencies that the source does not state are not followed. A spliced spec is installed from
    the binary of the spec that it was built as, which is a hole if it is not in the cache.

    ``num_affected`` is the number of specs that any hole affects. ``num_whole`` is the number of
    specs known to be whole: a spec that has or reaches unknown dependencies does not count.
    """

    def __init__(self, frame: Frame, graph: DependencyGraph, rows: Mask | None = None) -> None:
        self._rows = np.ones(graph.num_rows, np.bool_) if rows is None else rows
        edges = np.flatnonzero(graph.types & INSTALLED.value)
        self._spliced, built_as, unlisted = _missing_builds(frame, graph)
        self._built_as = built_as
        num_nodes = graph.num_nodes + len(unlisted)
        is_needed = np.zeros(num_nodes, np.bool_)
        is_needed[graph.targets[edges]] = True
        is_needed[graph.num_rows : graph.num_nodes] &= ~_are_external(graph)
        is_needed[built_as] = True
        nodes = graph.num_rows + np.flatnonzero(is_needed[graph.num_rows :])
        sources: Rows = np.concatenate((graph.sources[edges], self._spliced)).astype(np.int32)
        targets: Rows = np.concatenate((graph.targets[edges], built_as)).astype(np.int32)
        by_source = np.argsort(sources, kind="stable")
        counts = _count_affected(
            sources[by_source], targets[by_source], num_nodes, nodes, self._rows
        )
        outside, places = graph.outside, nodes - graph.num_rows
        listed = [_hole(outside, unlisted, place) for place in places.tolist()]
        names = np.array([name for _, name, _ in listed], dtype=np.str_)
        order = np.lexsort((names, -counts))[: np.count_nonzero(counts)]
        self._nodes, self._counts = nodes[order], counts[order]
        self._listed = [listed[place] for place in order.tolist()]
        is_hole = np.zeros(num_nodes, np.bool_)
        is_hole[self._nodes] = True
        is_affected = self._rows & self._rows_above(graph, is_hole)
        self.num_affected = int(np.count_nonzero(is_affected))
        is_unknown = np.zeros(num_nodes, np.bool_)
        is_unknown[: graph.num_rows] = ~graph.known
        is_unsure = is_unknown[: graph.num_rows] | self._rows_above(graph, is_unknown)
        self.num_whole = int(np.count_nonzero(self._rows & ~is_affected & ~is_unsure))

    def __len__(self) -> int:
        return len(self._nodes)

    def _record(self, place: int) -> Hole:
        digest, name, version = self._listed[place]
        return Hole(digest, name, version, int(self._counts[place]))

    def find(self, digest: str) -> int | None:
        """Return the index of the hole with a hash; None if there is none."""
        hashes = [text for text, _, _ in self._listed]
        return hashes.index(digest) if digest in hashes else None

    def affected(self, graph: DependencyGraph, place: int, each_level: EachLevel = iter) -> Rows:
        """Return the rows that a hole affects, ascending; ``each_level`` is that of other walks.

        ``graph`` must be the graph from which the holes were computed.
        """
        node = int(self._nodes[place])
        starts = self._spliced[self._built_as == node].tolist()
        reached = [starts]
        for start in [*starts, *([node] if node < graph.num_nodes else [])]:
            above = graph.reached_from(
                start, INSTALLED, upward=True, transitive=True, each_level=each_level
            ).nodes
            reached.append(above[above < graph.num_rows])
        rows = np.unique(np.concatenate(reached)).astype(np.int32)
        return rows[self._rows[rows]]

    def _rows_above(self, graph: DependencyGraph, nodes: Mask) -> Mask:
        """Return the rows that reach some nodes by link and run edges, or were built as one."""
        is_spliced = np.zeros(graph.num_rows, np.bool_)
        is_spliced[self._spliced[nodes[self._built_as]]] = True
        nodes = nodes[: graph.num_nodes].copy()
        nodes[: graph.num_rows] |= is_spliced
        edges = nodes[graph.targets] & (graph.types & INSTALLED.value != 0)
        return is_spliced | graph.nodes_above(edges, INSTALLED)[: graph.num_rows]


def _missing_builds(
    frame: Frame, graph: DependencyGraph
) -> tuple[Numbers, Numbers, Sequence[tuple[str, str]]]:
    """Return the spliced rows whose build spec is not in the cache, and the nodes of those.

    Build specs that the graph does not have are numbered after its nodes; the last result has their
    names and hashes.
    """
    column: Column[str | None] = frame.columns["build_spec"]  # type: ignore[assignment]
    unlisted: dict[tuple[str, str], int] = {}
    spliced, built_as = [], []
    for row in np.flatnonzero(column.known()[column.codes]).tolist():
        name, _, digest = (column.at(row) or "").partition("/")
        if frame.hashes.find(digest) is None:
            node = graph.absent_index.get(digest)
            if node is None:
                node = graph.num_nodes + unlisted.setdefault((name, digest), len(unlisted))
            spliced.append(row)
            built_as.append(node)
    return np.array(spliced, np.int64), np.array(built_as, np.int64), list(unlisted)


def _hole(
    outside: Frame, unlisted: Sequence[tuple[str, str]], place: int
) -> tuple[str, str, str | None]:
    """Return the hash, name and version of a missing spec."""
    if place < len(outside):
        return outside.hashes.at(place), outside.package.at(place), outside.version.at(place)
    name, digest = unlisted[place - len(outside)]
    return digest, name, None


def _count_affected(
    sources: Rows, targets: Rows, num_nodes: int, nodes: Numbers, rows: Mask
) -> Numbers:
    """Return for each of some nodes the number of marked rows that reach it by the given edges."""
    order = BottomUpGraph(sources, targets, num_nodes)
    numbers = np.arange(len(nodes))
    involvement = Involvement(len(nodes), nodes, numbers, order, len(rows))
    return involvement.num_involved(np.flatnonzero(rows))


def _are_external(graph: DependencyGraph) -> Mask:
    """Return which of the specs outside the cache are external."""
    mask = np.zeros(len(graph.outside), np.bool_)
    for name in ("external_path", "external_modules"):
        column: Column[object] = getattr(graph.outside, name)
        mask |= column.known()[column.codes]
    return mask

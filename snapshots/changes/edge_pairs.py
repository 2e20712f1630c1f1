"""Which dependency of one node stands where a dependency of another one stood.

A name that stands once on each side pairs by itself. Where it stands twice on either side, edges of
equal types pair: those to equal hashes first, the others in the order of their versions (an unknown
one first) and hashes. What is left stands on one side only.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from snapshots.changes.node_columns import frame_row
from snapshots.changes.sides import Side
from snapshots.frames.dependencies import DependencyType
from snapshots.spack.versions import version_key

Key = TypeVar("Key", bound=Hashable)


class Edge(NamedTuple):
    """A dependency: the package and hash that the edge leads to, and what else is known of it.

    ``node`` is its number in the graph of its side; ``version`` is None where it is not known.
    """

    name: str
    types: int
    virtuals: tuple[str, ...]
    hash: str
    version: str | None
    node: int

    @property
    def text(self) -> str:
        """The edge without its hash: name, types and virtuals."""
        return _text(self.name, self.types, self.virtuals)


def _text(name: str, types: int, virtuals: Sequence[str]) -> str:
    return " ".join(filter(None, (name, _names(types), ",".join(virtuals))))


@lru_cache(maxsize=64)
def _names(types: int) -> str:
    return ",".join(str(kind.name).lower() for kind in DependencyType if kind & types)


class PairedEdges(NamedTuple):
    """The edges of two nodes: those of both, and those that only one of them has."""

    both: Sequence[tuple[Edge, Edge]]
    only_base: Sequence[Edge]
    only_head: Sequence[Edge]


def edges_of(side: Side, node: int) -> list[Edge]:
    """Return the dependencies of a node, in the order of its record."""
    graph = side.graph
    return [
        edge_at(side, edge)
        for edge in range(int(graph.down.starts[node]), int(graph.down.starts[node + 1]))
    ]


def texts_of(side: Side, node: int) -> list[str]:
    """Return the texts of the dependencies of a node, without reading more of them."""
    graph = side.graph
    edges = slice(int(graph.down.starts[node]), int(graph.down.starts[node + 1]))
    targets, types = graph.targets[edges].tolist(), graph.types[edges].tolist()
    places = (frame_row(side, target) for target in targets)
    names = [frame.package.at(row) for frame, row in places]
    virtuals = map(graph.virtuals.at, range(edges.start, edges.stop))
    return list(map(_text, names, types, virtuals))


def edge_at(side: Side, edge: int) -> Edge:
    """Return the edge of a number in its graph."""
    graph = side.graph
    target = int(graph.targets[edge])
    frame, row = frame_row(side, target)
    return Edge(
        frame.package.at(row),
        int(graph.types[edge]),
        graph.virtuals.at(edge),
        frame.hashes.at(row),
        frame.version.at(row),
        target,
    )


def pair_edges(base: Sequence[Edge], head: Sequence[Edge]) -> PairedEdges:
    """Pair the edges of two nodes."""
    both: list[tuple[Edge, Edge]] = []
    only_base: list[Edge] = []
    only_head: list[Edge] = []
    for before, after in _grouped(base, head, lambda edge: edge.name):
        if len(before) == len(after) == 1:
            both.append((before[0], after[0]))
            continue
        for old, new in _grouped(before, after, lambda edge: edge.types):
            pairs, old, new = _equal_first(old, new)
            both += pairs
            both += zip(old, new, strict=False)
            only_base += old[len(new) :]
            only_head += new[len(old) :]
    return PairedEdges(both, only_base, only_head)


def _equal_first(
    base: Iterable[Edge], head: Iterable[Edge]
) -> tuple[list[tuple[Edge, Edge]], list[Edge], list[Edge]]:
    """Return the pairs of equal hashes, and what is left of both sides, in order."""
    both: list[tuple[Edge, Edge]] = []
    left: list[Edge] = []
    after = defaultdict(list)
    for edge in sorted(head, key=_order, reverse=True):
        after[edge.hash].append(edge)
    for edge in sorted(base, key=_order):
        if after[edge.hash]:
            both.append((edge, after[edge.hash].pop()))
        else:
            left.append(edge)
    new = sorted((edge for edges in after.values() for edge in edges), key=_order)
    return both, left, new


def _order(edge: Edge) -> tuple[object, ...]:
    version = edge.version
    key = () if version is None else (version_key(version), version)
    return version is not None, key, edge.hash, edge.virtuals


def _grouped(
    base: Iterable[Edge], head: Iterable[Edge], key: Callable[[Edge], Key]
) -> Iterable[tuple[list[Edge], list[Edge]]]:
    """Return the edges of both sides by their key, in the order in which the keys first stand."""
    groups: dict[Key, tuple[list[Edge], list[Edge]]] = {}
    for number, edges in enumerate((base, head)):
        for edge in edges:
            groups.setdefault(key(edge), ([], []))[number].append(edge)
    return groups.values()

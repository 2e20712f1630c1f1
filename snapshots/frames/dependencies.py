"""Who depends on whom in one content: a graph in compressed form, walked by numpy.

Its nodes are the rows of the content's frame and, numbered on from there, the specs that rows
depend on without being in the revision themselves: external compilers, say. Of those the name and
the hash are all that is known, so every way ends there.
"""

from collections.abc import Iterator, Sequence
from enum import IntFlag
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.frames.columns import Column, Mask
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import Hashes, match

Nodes = npt.NDArray[np.int64]
Edges = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

_SEPARATOR = "\0"


class DependencyType(IntFlag):
    """What a spec needs another for; one edge can have several types."""

    BUILD = 1
    LINK = 2
    RUN = 4
    TEST = 8


_TYPES = {str(kind.name).lower(): kind for kind in DependencyType}


class Absent(NamedTuple):
    """A spec that others depend on and that is not in the revision."""

    name: str
    hash: str


class Reached(NamedTuple):
    """Nodes in the order they are reached in, each with the edge that it is first reached by.

    Nearer ones come first; equally near ones by their numbers, which is the frame's own order with
    the absent ones behind it.
    """

    nodes: Nodes
    edges: Edges


class DependencyGraph:
    """The dependencies of one content.

    ``table`` has the columns ``hash`` and ``dependencies`` of ``snapshots.tables.SPECS``, in any
    order of rows; ``hashes`` are those of the content's frame. Edges are numbered by the row that
    depends, and for one row in the order that its record has them in.

    ``known`` is a mask over the rows: those whose dependencies the source told. ``types`` holds the
    DependencyType of each edge, and nothing for a type that Spack does not have; ``virtuals`` the
    virtual packages that it provides. ``sources`` and ``targets`` are its two nodes.
    """

    def __init__(self, table: pa.Table, hashes: Hashes) -> None:
        lines = np.argsort(match(_hashes_of(table["hash"]), hashes))
        lists = table["dependencies"].combine_chunks().take(pa.array(lines))
        edges = lists.flatten()
        counts = np.asarray(pc.list_value_length(lists).fill_null(0))
        self.num_rows = len(lists)
        self.known: Mask = np.asarray(lists.is_valid())
        self.sources = np.repeat(np.arange(len(lists), dtype=np.int32), counts)
        self.targets, self.absent = _targets(edges, hashes)
        codes, texts = _distinct(pc.binary_join(edges.field("types"), _SEPARATOR))
        self.types = np.array(list(map(_types_of, texts)), np.uint8)[codes]
        codes, texts = _distinct(pc.binary_join(edges.field("virtuals"), _SEPARATOR))
        self.virtuals = Column(codes, [tuple(filter(None, it.split(_SEPARATOR))) for it in texts])
        self.absent_frame: Frame | None = None
        self._down = _Adjacency(self.sources, None, self.targets, self.num_nodes)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are: the rows and the absent ones."""
        return self.num_rows + len(self.absent)

    @cached_property
    def is_known(self) -> bool:
        """Whether the source told the dependencies of any row."""
        return bool(self.known.any())

    @property
    def num_bytes(self) -> int:
        """About how much memory the graph takes, with what walking it upwards will make."""
        arrays = (self.known, self.sources, self.targets, self.types, self.virtuals.codes)
        ways = 2 * 8 * self.num_nodes + 4 * len(self.targets)
        return sum(array.nbytes for array in arrays) + ways + 300 * len(self.absent)

    @cached_property
    def absent_index(self) -> dict[str, int]:
        """The node of each absent hash."""
        return {it.hash: node for node, it in enumerate(self.absent, start=self.num_rows)}

    def absent_at(self, node: int) -> Absent | None:
        """Return what is known of a node that is no row; None for a row."""
        return None if node < self.num_rows else self.absent[node - self.num_rows]

    # -- from one spec

    def dependencies_of(
        self, row: int, types: DependencyType | None = None, *, transitive: bool = False
    ) -> Reached:
        """Return what a row depends on, itself never; with ``transitive`` also what those do.

        With ``types`` only edges that have one of them are followed.
        """
        return self._reach(row, types, self._down, transitive=transitive)

    def dependents_of(
        self, row: int, types: DependencyType | None = None, *, transitive: bool = False
    ) -> Reached:
        """Return the rows that depend on a row, likewise."""
        return self._reach(row, types, self._up, transitive=transitive)

    def _reach(
        self, row: int, types: DependencyType | None, adjacency: "_Adjacency", *, transitive: bool
    ) -> Reached:
        levels = self._levels(np.array([row]), types, adjacency)
        nodes, edges = zip(*(levels if transitive else islice(levels, 1)), strict=True)
        return Reached(np.concatenate(nodes), np.concatenate(edges))

    # -- from many

    def rows_above(self, edges: Mask, types: DependencyType | None = None) -> Mask:
        """Return a mask over the rows: those with such an edge, or with a dependency that has one.

        Dependencies count however far away they are. With ``types`` only edges that have one of
        them are followed to them.
        """
        found = np.zeros(self.num_rows, np.bool_)
        found[self.sources[edges]] = True
        for rows, _ in self._levels(np.flatnonzero(found), types, self._up):
            found[rows] = True
        return found

    # -- walking

    @cached_property
    def _up(self) -> "_Adjacency":
        by_target = np.argsort(self.targets, kind="stable").astype(np.int32)
        return _Adjacency(self.targets[by_target], by_target, self.sources, self.num_nodes)

    def _levels(
        self, nodes: Nodes, types: DependencyType | None, adjacency: "_Adjacency"
    ) -> Iterator[Reached]:
        """Yield what is one step away from the nodes, then what is two steps away, and so on.

        Every node comes once, those to begin with never: cycles end by themselves.
        """
        is_new = np.ones(self.num_nodes, np.bool_)
        first = np.empty(self.num_nodes, np.int64)
        while len(nodes):
            is_new[nodes] = False
            edges = adjacency.edges_of(nodes)
            if types is not None:
                edges = edges[self.types[edges] & types.value != 0]
            ends = adjacency.ends[edges]
            wanted = is_new[ends]
            edges, ends = edges[wanted], ends[wanted]
            # Where several edges lead to one node, numpy keeps what is assigned last.
            first[ends[::-1]] = edges[::-1]
            reached = np.zeros(self.num_nodes, np.bool_)
            reached[ends] = True
            nodes = np.flatnonzero(reached)
            yield Reached(nodes, first[nodes])


class _Adjacency:
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
        counts = self.starts[nodes + 1] - starts
        stops = np.cumsum(counts)
        places: Edges = np.arange(counts.sum()) + np.repeat(starts - (stops - counts), counts)
        return places if self.edges is None else self.edges[places].astype(np.int64)


def _targets(edges: pa.StructArray, hashes: Hashes) -> tuple[Numbers, list[Absent]]:
    """Return the node that each edge leads to, and what the nodes behind the rows are."""
    encoded = edges.field("hash").dictionary_encode()
    codes = np.asarray(encoded.indices, np.int32)
    texts = encoded.dictionary.to_pylist()
    nodes = match(_hashes_of(encoded.dictionary), hashes)
    some_edge = np.empty(len(texts), np.int64)
    some_edge[codes] = np.arange(len(codes))
    missing = np.flatnonzero(nodes < 0)
    names = edges.field("name").take(pa.array(some_edge[missing])).to_pylist()
    absent = sorted(
        (Absent(name, texts[code]), code) for name, code in zip(names, missing, strict=True)
    )
    nodes[[code for _, code in absent]] = np.arange(len(hashes), len(hashes) + len(absent))
    return nodes[codes], [it for it, _ in absent]


def _distinct(array: pa.Array) -> tuple[Numbers, Sequence[str]]:
    encoded = array.dictionary_encode()
    return np.asarray(encoded.indices, np.int32), encoded.dictionary.to_pylist()


def _types_of(text: str) -> int:
    return sum(_TYPES[it] for it in text.split(_SEPARATOR) if it in _TYPES)


def _hashes_of(array: pa.Array | pa.ChunkedArray) -> Hashes:
    return Hashes("".join(array.to_pylist()).encode())

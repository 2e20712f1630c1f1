"""The dependencies of one content: a graph in compressed form, traversed by numpy.

Its nodes are the rows of the content's frame and, numbered after those, the specs that rows depend
on without being in the revision themselves: external compilers, say. Those have a frame of their
own, with what the source states of them: all facts and their own dependencies, or no more than the
name and the hash that the edges to them have.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntFlag
from functools import cache, cached_property
from itertools import islice

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.frames.columns import Column, Mask, places_of_runs
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import Adjacency, Edges, Nodes, Numbers
from snapshots.frames.hashes import Hashes
from snapshots.spack.virtuals import LANGUAGES
from snapshots.tables import SPECS, split_by_cache, with_columns

_SEPARATOR = "\0"
_SPARSE = 16
"""For one end in so many nodes, sorting the ends is quicker than marking them among all nodes."""


class DependencyType(IntFlag):
    """What a spec needs another one for.

    - BUILD: It is used while the spec is built.
    - LINK: The spec is linked to it.
    - RUN: It is used when the spec runs.
    - TEST: It is used to test the spec.
    """

    # One edge can have several types.
    BUILD = 1
    LINK = 2
    RUN = 4
    TEST = 8


_TYPES = {str(kind.name).lower(): kind for kind in DependencyType}


class ReachedNodes(msgspec.Struct, frozen=True):
    """Nodes in the order they are reached in, each with the edge that it is first reached by.

    Nearer ones come first; equally near ones by their numbers, which is the frame's own order with
    those outside the revision behind it.
    """

    nodes: Nodes
    edges: Edges


EachLevel = Callable[[Iterable[ReachedNodes]], Iterable[ReachedNodes]]
"""Yields the levels of a walk one by one."""


class DependencyGraph:
    """The dependencies of one content.

    ``table`` has the columns ``hash`` and ``dependencies`` of ``snapshots.tables.SPECS``, and all
    of them for the rows outside the cache, in any order of rows; ``hashes`` are those of the
    content's frame. Edges are numbered by the node that depends, and for one node in the order that
    its record has them in.

    ``outside`` is the frame of the nodes behind the rows: node ``num_rows + n`` is its row n.
    ``stated`` is a mask over its rows: those that the source states. Of the others all facts but
    name and hash are None.

    ``known`` is a mask over the rows: those whose dependencies the source has; ``known_nodes`` is
    that mask over all nodes. ``types`` holds the DependencyType of each edge, and nothing for a
    type that Spack does not have; ``virtuals`` the virtual packages that it provides. ``sources``
    and ``targets`` are its two nodes; ``down`` leads from the former to the latter.
    """

    def __init__(self, table: pa.Table, hashes: Hashes) -> None:
        inside, outside = split_by_cache(table)
        lines = pa.concat_tables(
            [part.select(["hash", "dependencies"]) for part in (inside, outside)]
        )
        self.num_rows = len(hashes)
        if lines["dependencies"].null_count:
            lines = lines.filter(pc.is_valid(lines["dependencies"]))
        lists = lines["dependencies"].combine_chunks()
        edges = lists.flatten()
        end_codes, end_texts = _distinct(edges.field("hash"))
        ends = Hashes("".join(end_texts).encode())
        stated = _hashes_of(outside["hash"])
        nodes_outside = pa.concat_tables(
            [
                with_columns(outside, SPECS.names),
                _named_by_edges(edges, end_codes, ends, (hashes, stated)),
            ]
        )
        # Most contents have nothing there: to make a frame of it takes as long as one of 100 rows.
        is_empty = not len(nodes_outside)
        self.outside = _nothing() if is_empty else Frame(nodes_outside, "", in_cache=False)
        self.stated: Mask = self.outside.hashes.match(stated) >= 0

        nodes = self._nodes(_hashes_of(lines["hash"]), hashes)
        order = np.argsort(nodes)
        counts = np.asarray(pc.list_value_length(lists)).astype(np.int64)
        places = places_of_runs((np.cumsum(counts) - counts)[order], counts[order])
        self.known_nodes: Mask = np.zeros(self.num_nodes, np.bool_)
        self.known_nodes[nodes] = True
        self.known = self.known_nodes[: self.num_rows]
        self.sources = np.repeat(nodes[order], counts[order])
        self.targets = self._nodes(ends, hashes)[end_codes][places]
        codes, texts = _distinct(pc.binary_join(edges.field("types"), _SEPARATOR))
        self.types = np.array(list(map(_types_of, texts)), np.uint8)[codes][places]
        codes, texts = _distinct(pc.binary_join(edges.field("virtuals"), _SEPARATOR))
        self.virtuals = Column(
            codes[places], [tuple(filter(None, text.split(_SEPARATOR))) for text in texts]
        )
        self.down = Adjacency(self.sources, None, self.targets, self.num_nodes)

    def _nodes(self, ends: Hashes, hashes: Hashes) -> Numbers:
        """Return the node of each hash, all of them being those of nodes."""
        nodes = ends.match(hashes)
        outside = ends.match(self.outside.hashes)
        return np.where(nodes < 0, outside + np.int32(self.num_rows), nodes)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are: the rows and those outside the revision."""
        return self.num_rows + len(self.outside)

    @cached_property
    def is_known(self) -> bool:
        """Whether the source has the dependencies of any row."""
        return bool(self.known.any())

    @property
    def num_bytes(self) -> int:
        """About how much memory the graph takes, with what queries will make of it."""
        arrays = (self.known_nodes, self.sources, self.targets, self.types, self.virtuals.codes)
        # Four bytes an edge to walk upwards, and four for those that lead to compilers: a fifth.
        derived = 2 * 8 * self.num_nodes + 5 * len(self.targets)
        outside = sum(column.num_bytes for column in self.outside.columns.values())
        return sum(array.nbytes for array in arrays) + derived + outside

    @cached_property
    def absent_index(self) -> dict[str, int]:
        """The node of each hash that is not a row's."""
        return {digest: self.num_rows + row for row, digest in enumerate(self.outside.hashes.texts)}

    @cached_property
    def edges_to_compilers(self) -> Numbers:
        """The edges by which a compiler provides a language to what it builds."""
        provided = self.virtuals.where(lambda virtuals: not LANGUAGES.isdisjoint(virtuals))
        mask = provided[self.virtuals.codes] & (self.types & DependencyType.BUILD != 0)
        return np.flatnonzero(mask).astype(np.int32)

    def has_provider(self, virtual: str) -> bool:
        """Tell whether anything provides a virtual package."""
        return any(virtual in virtuals for virtuals in self.virtuals.values)

    # -- from one spec

    def reached_from(
        self,
        row: int,
        types: DependencyType | None = None,
        *,
        upward: bool = False,
        transitive: bool = False,
        each_level: EachLevel = iter,
    ) -> ReachedNodes:
        """Return what a row depends on, itself never; with ``transitive`` also what those do.

        ``upward`` leads to what depends on the row instead. With ``types`` only edges that have one
        of them are followed. ``each_level`` hands the levels of the walk on, and may end it by an
        error.
        """
        levels = self._levels(np.array([row]), types, self._up if upward else self.down)
        reached = [*each_level(levels if transitive else islice(levels, 1))]
        return ReachedNodes(
            np.concatenate([level.nodes for level in reached]),
            np.concatenate([level.edges for level in reached]),
        )

    # -- from many

    def nodes_below(self, nodes: Nodes | Numbers) -> Mask:
        """Return a mask over the nodes: these, and all that they depend on, near or far."""
        mask = np.zeros(self.num_nodes, np.bool_)
        mask[nodes] = True
        for level in self._levels(nodes.astype(np.int64), None, self.down):
            mask[level.nodes] = True
        return mask

    def rows_needing(self, rows: slice) -> Nodes:
        """Return the rows that depend on one of these themselves, each once, in order."""
        edges = self._up.edges_of(np.arange(*rows.indices(self.num_rows)))
        sources = np.unique(self._up.ends[edges])
        return sources[sources < self.num_rows].astype(np.int64)

    def nodes_above(self, edges: Mask, types: DependencyType | None = None) -> Mask:
        """Return a mask over the nodes: those with such an edge, or with a dependency that has one.

        Dependencies count however far away they are. With ``types`` only edges that have one of
        them are followed to them.
        """
        mask = np.zeros(self.num_nodes, np.bool_)
        mask[self.sources[edges]] = True
        for level in self._levels(np.flatnonzero(mask), types, self._up):
            mask[level.nodes] = True
        return mask

    # -- walking

    @cached_property
    def _up(self) -> Adjacency:
        by_target = np.argsort(self.targets, kind="stable").astype(np.int32)
        return Adjacency(self.targets[by_target], by_target, self.sources, self.num_nodes)

    def _levels(
        self, nodes: Nodes, types: DependencyType | None, adjacency: Adjacency
    ) -> Iterator[ReachedNodes]:
        """Yield what is one step away from the nodes, then what is two steps away, and so on.

        Every node is yielded once, and the nodes to start from never, so that cycles end.
        """
        is_new = np.ones(self.num_nodes, np.bool_)
        first = np.empty(self.num_nodes, np.int64)
        while len(nodes):
            is_new[nodes] = False
            edges = adjacency.edges_of(nodes)
            if types is not None:
                edges = edges[self.types[edges] & types.value != 0]
            ends = adjacency.ends[edges]
            is_first = is_new[ends]
            edges, ends = edges[is_first], ends[is_first]
            # Where several edges lead to one node, numpy keeps what is assigned last.
            first[ends[::-1]] = edges[::-1]
            if len(ends) < self.num_nodes // _SPARSE:  # so that a long chain costs its length
                nodes = np.unique(ends).astype(np.int64)
            else:
                reached = np.zeros(self.num_nodes, np.bool_)
                reached[ends] = True
                nodes = np.flatnonzero(reached)
            yield ReachedNodes(nodes, first[nodes])


def _named_by_edges(
    edges: pa.StructArray, end_codes: Numbers, ends: Hashes, nodes: Sequence[Hashes]
) -> pa.Table:
    """Return the name and hash of each spec that edges lead to and that is not one of ``nodes``."""
    is_node = np.logical_or.reduce([ends.match(hashes) >= 0 for hashes in nodes])
    missing = np.flatnonzero(~is_node)
    some_edge = np.empty(len(ends), np.int64)
    some_edge[end_codes] = np.arange(len(end_codes))
    rows = pa.table(
        {
            "hash": pa.array(map(ends.at, missing.tolist()), pa.string()),
            "name": edges.field("name").take(pa.array(some_edge[missing])),
            "in_cache": pa.repeat(False, len(missing)),
        }
    )
    return with_columns(rows, SPECS.names)


@cache
def _nothing() -> Frame:
    return Frame(with_columns(pa.table({}), SPECS.names), "", in_cache=False)


def _distinct(array: pa.Array) -> tuple[Numbers, Sequence[str]]:
    encoded = array.dictionary_encode()
    return np.asarray(encoded.indices, np.int32), encoded.dictionary.to_pylist()


def _types_of(text: str) -> int:
    return sum(_TYPES[name] for name in text.split(_SEPARATOR) if name in _TYPES)


def _hashes_of(array: pa.Array | pa.ChunkedArray) -> Hashes:
    return Hashes("".join(array.to_pylist()).encode())

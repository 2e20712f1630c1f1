"""The dependencies of one content: a graph in compressed form, traversed with numpy.

The nodes are the rows of the content's frame, followed by the specs outside the revision that rows
depend on, such as external compilers. Those have their own frame, with the data that the source
states about them: either all facts and dependencies, or only the name and the hash that the edges
to them have.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntFlag
from functools import cache, cached_property
from itertools import islice

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Mask, Numbers, Rows
from snapshots.frames.columns import Column, places_of_runs
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import Adjacency
from snapshots.frames.hashes import Hashes
from snapshots.spack.virtuals import LANGUAGES
from snapshots.tables import SPECS, split_by_cache, with_columns

_SEPARATOR = "\0"
_SPARSE = 16
"""If fewer than one in this many nodes is an end, sorting the ends is faster than marking them."""


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
    """Reached nodes in the order of the walk, each with the edge by which it was first reached.

    Nearer nodes come first. Equally near nodes are ordered by number: the rows in the order of the
    frame, then the nodes outside the revision.
    """

    nodes: Numbers
    edges: Numbers


EachLevel = Callable[[Iterable[ReachedNodes]], Iterable[ReachedNodes]]
"""A function that yields the levels of a walk one by one."""


class DependencyGraph:
    """The dependencies of one content.

    ``table`` has the columns ``hash`` and ``dependencies`` of ``snapshots.tables.SPECS``, and all
    columns for the rows outside the cache, with its rows in any order. ``hashes`` are those of the
    content's frame. Edges are numbered by the node that depends, and within a node in the order of
    its record.

    ``outside`` is the frame of the nodes outside the revision: node ``num_rows + n`` is its row n.
    ``stated`` is a mask over its rows that selects those that the source states. Of the others, all
    facts except name and hash are None.

    ``known`` is a mask over the rows that selects those whose dependencies the source states;
    ``known_nodes`` is the same mask over all nodes. ``types`` has the DependencyType of each edge,
    without types that Spack does not define; ``virtuals`` has the virtual packages that each edge
    provides. ``sources`` and ``targets`` are the two nodes of each edge; ``down`` leads from the
    sources to the targets.
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
        # Most contents have no such nodes, and building an empty frame takes as long as building
        # one of 100 rows.
        is_empty = not len(nodes_outside)
        self.outside = _empty_frame() if is_empty else Frame(nodes_outside, "", in_cache=False)
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

    def _nodes(self, ends: Hashes, hashes: Hashes) -> Rows:
        """Return the node of each hash; every hash has to belong to a node."""
        nodes = ends.match(hashes)
        outside = ends.match(self.outside.hashes)
        return np.where(nodes < 0, outside + np.int32(self.num_rows), nodes)

    @property
    def num_nodes(self) -> int:
        """Number of nodes: the rows and the specs outside the revision."""
        return self.num_rows + len(self.outside)

    @cached_property
    def is_known(self) -> bool:
        """Whether the source states the dependencies of any row."""
        return bool(self.known.any())

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the graph and the data that queries derive, in bytes."""
        arrays = (self.known_nodes, self.sources, self.targets, self.types, self.virtuals.codes)
        # Per edge: four bytes to walk upward, and one, as a fifth of them lead to compilers.
        derived = 2 * 8 * self.num_nodes + 5 * len(self.targets)
        outside = sum(column.num_bytes for column in self.outside.columns.values())
        return sum(array.nbytes for array in arrays) + derived + outside

    @cached_property
    def absent_index(self) -> dict[str, int]:
        """The node of each hash outside the revision."""
        return {digest: self.num_rows + row for row, digest in enumerate(self.outside.hashes.texts)}

    @cached_property
    def edges_to_compilers(self) -> Rows:
        """The edges by which a compiler provides a language to the spec that it builds."""
        provided = self.virtuals.where(lambda virtuals: not LANGUAGES.isdisjoint(virtuals))
        mask = provided[self.virtuals.codes] & (self.types & DependencyType.BUILD != 0)
        return np.flatnonzero(mask).astype(np.int32)

    def has_provider(self, virtual: str) -> bool:
        """Return whether any edge provides a virtual package."""
        return any(virtual in virtuals for virtuals in self.virtuals.values)

    # -- walks from one spec

    def reached_from(
        self,
        row: int,
        types: DependencyType | None = None,
        *,
        upward: bool = False,
        transitive: bool = False,
        each_level: EachLevel = iter,
    ) -> ReachedNodes:
        """Return the direct dependencies of a row; with ``transitive``, the indirect ones too.

        The result never has the row itself. With ``upward``, return the dependents instead. With
        ``types``, follow only edges that have at least one of these types. ``each_level`` passes
        the levels of the walk on, and can end the walk by raising an error.
        """
        levels = self._levels(np.array([row]), types, self._up if upward else self.down)
        reached = [*each_level(levels if transitive else islice(levels, 1))]
        return ReachedNodes(
            np.concatenate([level.nodes for level in reached]),
            np.concatenate([level.edges for level in reached]),
        )

    # -- walks from several specs

    def nodes_below(self, nodes: Numbers | Rows) -> Mask:
        """Return a mask that selects these nodes and all their direct and indirect dependencies."""
        mask = np.zeros(self.num_nodes, np.bool_)
        mask[nodes] = True
        for level in self._levels(nodes.astype(np.int64), None, self.down):
            mask[level.nodes] = True
        return mask

    def rows_needing(self, rows: Numbers) -> Numbers:
        """Return the rows that directly depend on one of these, each once, in order."""
        edges = self._up.edges_of(rows)
        sources = np.unique(self._up.ends[edges])
        return sources[sources < self.num_rows].astype(np.int64)

    def nodes_above(self, edges: Mask, types: DependencyType | None = None) -> Mask:
        """Return a mask that selects the sources of these edges, and all that depend on them.

        Indirect dependents are included. With ``types``, only edges that have at least one of these
        types lead to dependents.
        """
        mask = np.zeros(self.num_nodes, np.bool_)
        mask[self.sources[edges]] = True
        for level in self._levels(np.flatnonzero(mask), types, self._up):
            mask[level.nodes] = True
        return mask

    # -- levels of a walk

    @cached_property
    def _up(self) -> Adjacency:
        by_target = np.argsort(self.targets, kind="stable").astype(np.int32)
        return Adjacency(self.targets[by_target], by_target, self.sources, self.num_nodes)

    def _levels(
        self, nodes: Numbers, types: DependencyType | None, adjacency: Adjacency
    ) -> Iterator[ReachedNodes]:
        """Yield the nodes at distance one from these nodes, then those at distance two, and so on.

        Each node is yielded once, and the initial nodes never, so that cycles end.
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
            # If several edges lead to one node, numpy retains the last assignment.
            first[ends[::-1]] = edges[::-1]
            if len(ends) < self.num_nodes // _SPARSE:  # a long chain takes linear time
                nodes = np.unique(ends).astype(np.int64)
            else:
                reached = np.zeros(self.num_nodes, np.bool_)
                reached[ends] = True
                nodes = np.flatnonzero(reached)
            yield ReachedNodes(nodes, first[nodes])


def _named_by_edges(
    edges: pa.StructArray, end_codes: Rows, ends: Hashes, nodes: Sequence[Hashes]
) -> pa.Table:
    """Return the name and hash of each spec that is the end of an edge and not one of ``nodes``."""
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
def _empty_frame() -> Frame:
    return Frame(SPECS.empty_table(), "", in_cache=False)


def _distinct(array: pa.Array) -> tuple[Rows, Sequence[str]]:
    encoded = array.dictionary_encode()
    return np.asarray(encoded.indices, np.int32), encoded.dictionary.to_pylist()


def _types_of(text: str) -> int:
    return sum(_TYPES[name] for name in text.split(_SEPARATOR) if name in _TYPES)


def _hashes_of(array: pa.Array | pa.ChunkedArray) -> Hashes:
    return Hashes("".join(array.to_pylist()).encode())

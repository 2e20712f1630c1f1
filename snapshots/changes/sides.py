"""A side of a comparison: one of its two contents, and columns over all nodes of its graph.

The nodes are the rows of the frame followed by the specs outside the cache. Facts are compared
across two sides by 64-bit hashes, which are valid within this process: equal values have equal
hashes, and two different values share one by chance in one of about 10^19 pairs.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from snapshots.arrays import NO_ROW, FactBits, Fingerprints, Mask, Numbers, Rows
from snapshots.frames.columns import Arrays, Column, are_among, differing, mixed, scattered
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import NUM_WORDS, Hashes
from snapshots.models import ARCHITECTURE, OWN_COLUMNS, OWN_FACTS, SPEC_FACTS
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.virtuals import LANGUAGES, LIBC, package_of_compiler


class Side(Arrays, msgspec.Struct, frozen=True, dict=True):
    """A content's rows and dependency graph; ``graph.is_known`` is False if it states no edges."""

    frame: Frame
    graph: DependencyGraph

    def at(self, node: int) -> tuple[Frame, int]:
        """Return the frame that contains the facts of a node, and its row there."""
        outside = node - self.graph.num_rows
        return (self.frame, node) if outside < 0 else (self.graph.outside, outside)

    def column(self, name: str) -> Column[Any]:
        """Return a fact of all nodes; a value that nodes inside and outside have has two codes."""
        inside: Column[Any] = getattr(self.frame, name)
        outside: Column[Any] = getattr(self.graph.outside, name)
        higher = outside.codes.astype(np.int32) + len(inside.values)
        codes = np.concatenate((inside.codes, higher))
        column = Column(codes, [*inside.values, *outside.values])
        column.fingerprints = np.concatenate((inside.fingerprints, outside.fingerprints))
        return column

    @cached_property
    def is_stated(self) -> Mask:
        """A mask of the nodes that the source states: all rows, and some outside the cache."""
        rows = np.ones(self.graph.num_rows, np.bool_)
        return np.concatenate((rows, self.graph.stated))

    def hash_keys(self, nodes: Numbers) -> Fingerprints:
        """Return the beginning of each node's hash as a number; they sort like the hashes."""
        keys = np.empty(len(nodes), np.uint64)
        for mask, hashes, rows in self._hashes(nodes):
            keys[mask] = hashes.keys_at(rows)
        return keys

    def hash_words(self, nodes: Numbers) -> Fingerprints:
        """Return the hash of each node as four numbers."""
        words = np.empty((len(nodes), NUM_WORDS), np.uint64)
        for mask, hashes, rows in self._hashes(nodes):
            words[mask] = hashes.words_at(rows)
        return words

    def _hashes(self, nodes: Numbers) -> Iterator[tuple[Mask, Hashes, Numbers]]:
        """Yield a mask of the nodes that are rows, or outside; their hashes; and their rows."""
        is_row = nodes < self.graph.num_rows
        yield is_row, self.frame.hashes, nodes[is_row]
        yield ~is_row, self.graph.outside.hashes, nodes[~is_row] - self.graph.num_rows

    @property
    def compilers(self) -> tuple[Fingerprints, Fingerprints]:
        """The hashes of the name and of the version of each node's compiler."""
        column = self.column("compiler")
        parts = np.array(list(map(_name_and_version, column.values)), np.int64).reshape(-1, 2)
        names, versions = parts[column.codes].astype(np.uint64).T
        return names, versions

    @cached_property
    def stating_compilers(self) -> Mask:
        """A mask of the nodes with a compiler that is not one of their dependencies.

        This is the case on cache pages and in indexes up to version 7. A node that depends on a
        provider of a language is built by this provider.
        """
        column = self.column("compiler")
        mask: Mask = column.known()[column.codes] & ~self.having_compilers
        return mask

    @cached_property
    def having_compilers(self) -> Mask:
        """A mask of the nodes with a compiler among their dependencies."""
        mask = np.zeros(self.graph.num_nodes, np.bool_)
        mask[self.graph.sources[self.graph.edges_to_compilers]] = True
        return mask


def equal_nodes(base: Side, head: Side) -> Rows:
    """Return for each node of base the node of head with the same hash; NO_ROW if there is none."""
    equal = np.full(base.graph.num_nodes, NO_ROW, np.int32)
    num_rows = base.graph.num_rows, head.graph.num_rows
    for ours, start in ((base.frame.hashes, 0), (base.graph.outside.hashes, num_rows[0])):
        of_part = equal[start : start + len(ours)]
        for theirs, offset in ((head.frame.hashes, 0), (head.graph.outside.hashes, num_rows[1])):
            if len(ours) and len(theirs):
                partners = ours.match(theirs)
                of_part[partners != NO_ROW] = partners[partners != NO_ROW] + offset
    return equal


def row_hashes(frame: Frame, rows: Rows | slice, names: Iterable[str]) -> Fingerprints:
    """Return one hash of several facts of each row; the facts are in columns of codes."""
    return mixed(*(getattr(frame, name).row_hashes(rows) for name in names))


Apart = tuple[Mask, Mask]
"""The nodes of base, and of head, whose architecture only their side has."""


def find_unmatched(base: Side, head: Side) -> Apart | None:
    """Return the nodes of two sides whose architecture no spec of the other side has.

    None if one of the sides has no such nodes, or if both have a common stack other than root.
    Nodes are apart between the caches of two machines, which differ as a whole.
    """
    sides = base, head
    ours, theirs = ({*side.frame.stacks.items} - {ROOT_STACK} for side in sides)
    if not ours.isdisjoint(theirs):
        return None
    base_keys, head_keys = (
        mixed(*(side.column(name).row_hashes() for name in ARCHITECTURE)) for side in sides
    )
    of_base = ~are_among(base_keys, head_keys[: head.graph.num_rows])
    of_head = ~are_among(head_keys, base_keys[: base.graph.num_rows])
    return (of_base, of_head) if of_base.any() and of_head.any() else None


def are_unmatched(apart: Apart | None, base_nodes: Numbers, head_nodes: Numbers) -> Mask:
    """Return for each pair of nodes whether each has an architecture that only its own side has."""
    if apart is None:
        return np.zeros(len(base_nodes), np.bool_)
    mask: Mask = apart[0][base_nodes] & apart[1][head_nodes]
    return mask


def _name_and_version(compiler: str | None) -> tuple[int, int]:
    name, _, version = (compiler or "").partition("@")
    return hash(name), hash(version)


# -- own facts
#
# The hash of a spec covers the hashes of all its dependencies, so it says little about the spec
# itself. Its own facts do: the version, the recipe (hash and repository of the package), the
# variants, the architecture, and the shape of the dependencies: their names, types and virtual
# packages, but not their hashes.
#
# A fact that the source of one side does not state counts as equal: a fact that is None, the shape
# if dependencies are not stated, and all facts of a node outside the cache that the index does not
# contain. The compiler is an own fact only if it is not a dependency, as in indexes up to version 7
# and on pages: if no build dependency of either node provides a language. In that case, a spec
# without any compiler differs from one with a compiler. If the compiler is a fact of one node and a
# dependency of the other, as before and since Spack 1.0, their compilers are compared as facts, and
# the dependencies that came with this are left out of the shapes.


_BITS = {name: 1 << number for number, name in enumerate(OWN_FACTS)}


def bits_of(names: Iterable[str]) -> int:
    """Return the sum of the bits of some own facts; the first own fact has the lowest bit."""
    return sum(_BITS[name] for name in names)


def names_of(facts: int) -> list[str]:
    """Return the names of the own facts in a sum of bits, in the order of their ranks."""
    return [name for name, bit in _BITS.items() if facts & bit]


def differing_facts(
    base: Side,
    head: Side,
    base_rows: Numbers | Rows,
    head_rows: Numbers | Rows,
    *,
    apart: Apart | None = None,
) -> FactBits:
    """Return which own facts of each pair of nodes differ; rows of a frame are also nodes.

    For nodes that are ``apart``, the architecture is omitted, as it differs in all such specs.
    """
    base_nodes, head_nodes = (nodes.astype(np.int64) for nodes in (base_rows, head_rows))
    facts = np.zeros(len(base_nodes), np.uint16)
    are_stated = base.is_stated[base_nodes] & head.is_stated[head_nodes]
    for name in OWN_COLUMNS:
        facts[differ_in(name, base, base_nodes, head, head_nodes) & are_stated] |= _BITS[name]
    is_dependency = has_compiler(base, base_nodes) | has_compiler(head, head_nodes)
    became = became_dependencies(base, base_nodes, head, head_nodes)
    facts[is_dependency] &= ~np.uint16(_BITS["compiler"])
    if became.any():
        old, new = _compilers(base, base_nodes), _compilers(head, head_nodes)
        facts[became & (old != new) & (old != 0) & (new != 0)] |= _BITS["compiler"]
    are_known = base.graph.known_nodes[base_nodes] & head.graph.known_nodes[head_nodes]
    differ = shapes(base, base_nodes) != shapes(head, head_nodes)
    if became.any():
        old, new = shapes_without_tools(base, base_nodes), shapes_without_tools(head, head_nodes)
        differ[became] = (old != new)[became]
    facts[differ & are_known] |= _BITS["dependencies"]
    facts[are_unmatched(apart, base_nodes, head_nodes)] &= ~np.uint16(bits_of(ARCHITECTURE))
    return facts


def differ_in(name: str, base: Side, base_nodes: Numbers, head: Side, head_nodes: Numbers) -> Mask:
    """Return for which pairs of nodes a fact differs; an unknown value does not."""
    may_be_unknown = SPEC_FACTS[name].may_be_unknown
    columns = base.column(name), base_nodes, head.column(name), head_nodes
    return differing(*columns, may_be_unknown=may_be_unknown)


def has_compiler(side: Side, nodes: Numbers) -> Mask:
    """Return which of the nodes have a compiler among their dependencies."""
    mask: Mask = side.having_compilers[nodes]
    return mask


def became_dependencies(base: Side, base_nodes: Numbers, head: Side, head_nodes: Numbers) -> Mask:
    """Return for which pairs a compiler is a fact of one node and a dependency of the other."""
    sides = ((base, base_nodes), (head, head_nodes))
    old, new = (side.stating_compilers[nodes] for side, nodes in sides)
    old_has, new_has = (has_compiler(side, nodes) for side, nodes in sides)
    mask: Mask = (old & new_has) | (new & old_has)
    return mask


def _compilers(side: Side, nodes: Numbers) -> Fingerprints:
    """Return the hash of each node's compiler, with the name of its package; 0 without one."""
    column = side.column("compiler")
    hashes = [
        0
        if value is None
        else hash((package_of_compiler(value.split("@")[0]), value.partition("@")[2]))
        for value in column.values
    ]
    return np.array(hashes, np.int64).astype(np.uint64)[column.codes[nodes]]


_TOOLS = frozenset({"compiler-wrapper", "gcc-runtime", "intel-oneapi-runtime"})


def is_tool(name: str, types: int, virtuals: Iterable[str]) -> bool:
    """Return whether a dependency is a compiler, or comes with one: a wrapper, runtime or libc."""
    provides_language = bool(types & DependencyType.BUILD) and not LANGUAGES.isdisjoint(virtuals)
    return name in _TOOLS or provides_language or LIBC in virtuals


def shapes_without_tools(side: Side, nodes: Numbers) -> Fingerprints:
    """Return the shapes of the dependencies of each node that are no tools; see ``is_tool``."""
    return shapes(side, nodes, _edges_to_tools(side))


def tools_of(side: Side) -> set[str]:
    """Return the packages on which any node depends as a tool; see ``is_tool``."""
    names, targets = side.column("package"), side.graph.targets
    codes = np.unique(names.codes[targets[_edges_to_tools(side)]])
    return {names.values[code] for code in codes.tolist()}


def _edges_to_tools(side: Side) -> Mask:
    graph, names = side.graph, side.column("package")
    is_tool_name = np.array([name in _TOOLS for name in names.values], np.bool_)
    mask: Mask = is_tool_name[names.codes[graph.targets]]
    mask[graph.edges_to_compilers] = True
    mask |= graph.virtuals.where(lambda virtuals: LIBC in virtuals)[graph.virtuals.codes]
    return mask


def shapes(side: Side, nodes: Numbers, left_out: Mask | None = None) -> Fingerprints:
    """Return a 64-bit hash of the shape of each node's dependencies, valid within this process.

    It covers how often each dependency occurs, but not their order. ``left_out`` marks edges that
    do not count.
    """
    graph = side.graph
    if len(nodes) > graph.num_nodes:
        # Many pairs can have a node in common: each node once.
        mask = np.zeros(graph.num_nodes, np.bool_)
        mask[nodes] = True
        distinct = np.flatnonzero(mask)
        of_nodes = np.empty(graph.num_nodes, np.uint64)
        of_nodes[distinct] = shapes(side, distinct, left_out)
        return of_nodes[nodes]
    starts, stops = graph.down.starts[nodes], graph.down.starts[nodes + 1]
    # The sum of hashes of edges does not depend on their order.
    edges = graph.down.edges_of(nodes)
    fingerprints = _edge_fingerprints(side, edges)
    if left_out is not None:
        fingerprints[left_out[edges]] = 0
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(fingerprints)))
    counts = np.cumsum(stops - starts)
    shape: Fingerprints = sums[counts] - sums[counts - (stops - starts)]
    return shape


def _edge_fingerprints(side: Side, edges: Numbers) -> Fingerprints:
    graph = side.graph
    names = side.column("package").row_hashes(graph.targets[edges])
    return scattered(scattered(names + graph.types[edges]) + graph.virtuals.row_hashes(edges))

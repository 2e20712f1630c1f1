"""The own facts of a node, and which of them differ between two nodes.

The hash of a spec covers the hashes of all its dependencies, so it says little about the spec
itself. Its own facts do: the version, the recipe (hash and repository of the package), the
variants, the architecture, and the shape of the dependencies: their names, types and virtual
packages, but not their hashes.

A fact that the source of one side does not state counts as equal: a fact that is None, the shape if
dependencies are not stated, and all facts of a node outside the cache that the index does not
contain. The compiler is an own fact only if it is not a dependency, as in indexes up to version 7
and on pages: if no build dependency of either node provides a language. In that case, a spec
without any compiler differs from one with a compiler.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from snapshots.changes.sides import (
    Apart,
    Fingerprints,
    Side,
    are_unmatched,
    is_stated,
    known_values,
    node_codes,
    node_fingerprints,
)
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.graphs import Nodes
from snapshots.models import ARCHITECTURE, OWN_COLUMNS, OWN_FACTS

Facts = npt.NDArray[np.uint16]
"""The own facts that differ in each of some pairs: a sum of bits."""

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
    base_rows: Nodes | Rows,
    head_rows: Nodes | Rows,
    *,
    apart: Apart | None = None,
) -> Facts:
    """Return which own facts of each pair of nodes differ; rows of a frame are also nodes.

    For nodes that are ``apart``, the architecture is omitted, as it differs in all such specs.
    """
    base_nodes, head_nodes = (nodes.astype(np.int64) for nodes in (base_rows, head_rows))
    facts = np.zeros(len(base_nodes), np.uint16)
    are_stated = is_stated(base)[base_nodes] & is_stated(head)[head_nodes]
    for name in OWN_COLUMNS:
        before, known_before = _values(base, name, base_nodes)
        after, known_after = _values(head, name, head_nodes)
        facts[(before != after) & known_before & known_after & are_stated] |= _BITS[name]
    is_dependency = has_compiler(base, base_nodes) | has_compiler(head, head_nodes)
    facts[is_dependency] &= ~np.uint16(_BITS["compiler"])
    are_known = base.graph.known_nodes[base_nodes] & head.graph.known_nodes[head_nodes]
    differ = shapes(base, base_nodes) != shapes(head, head_nodes)
    facts[differ & are_known] |= _BITS["dependencies"]
    facts[are_unmatched(apart, base_nodes, head_nodes)] &= ~np.uint16(bits_of(ARCHITECTURE))
    return facts


def has_compiler(side: Side, nodes: Nodes) -> Mask:
    """Return which of the nodes have a compiler among their dependencies."""
    mask = np.zeros(side.graph.num_nodes, np.bool_)
    mask[side.graph.sources[side.graph.edges_to_compilers]] = True
    of_nodes: Mask = mask[nodes]
    return of_nodes


def shapes(side: Side, nodes: Nodes) -> Fingerprints:
    """Return a 64-bit hash of the shape of each node's dependencies, valid within this process.

    It covers how often each dependency occurs, but not their order.
    """
    graph = side.graph
    starts, stops = graph.down.starts[nodes], graph.down.starts[nodes + 1]
    # The sum of hashes of edges does not depend on their order.
    edges = graph.down.edges_of(nodes)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(_edge_fingerprints(side, edges))))
    counts = np.cumsum(stops - starts)
    shape: Fingerprints = sums[counts] - sums[counts - (stops - starts)]
    return shape


def _edge_fingerprints(side: Side, edges: Nodes) -> Fingerprints:
    graph = side.graph
    names = node_fingerprints(side, "package")[node_codes(side, "package")[graph.targets[edges]]]
    virtuals = graph.virtuals.fingerprints.astype(np.uint64)[graph.virtuals.codes[edges]]
    return _mixed(_mixed(names + graph.types[edges]) + virtuals)


def _mixed(numbers: Fingerprints) -> Fingerprints:
    """Return well-mixed numbers: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _values(side: Side, name: str, nodes: Nodes) -> tuple[Fingerprints, Mask]:
    """Return a hash of each node's value, and a mask of the nodes whose value is known."""
    codes = node_codes(side, name)[nodes]
    values = node_fingerprints(side, name)[codes]
    if not OWN_FACTS[name].may_be_unknown:
        return values, np.ones(len(nodes), np.bool_)
    return values, known_values(side, name)[codes]

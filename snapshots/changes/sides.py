"""A side of a comparison: one of its two contents, and columns over all nodes of its graph.

The nodes are the rows of the frame followed by the specs outside the cache. Facts are compared
across two sides by 64-bit hashes, which are valid within this process: equal values have equal
hashes, and two different values share one by chance in one of about 10^19 pairs.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Codes, Mask, Rows, mixed
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import Nodes
from snapshots.frames.hashes import NUM_WORDS, Hashes, texts_of
from snapshots.models import ARCHITECTURE
from snapshots.spack.names import ROOT_STACK


class Side(msgspec.Struct, frozen=True):
    """A content's rows and dependency graph; ``graph.is_known`` is False if it states no edges."""

    frame: Frame
    graph: DependencyGraph


Fingerprints = npt.NDArray[np.uint64]


def frame_row(side: Side, node: int) -> tuple[Frame, int]:
    """Return the frame that contains the facts of a node, and its row there."""
    outside = node - side.graph.num_rows
    return (side.frame, node) if outside < 0 else (side.graph.outside, outside)


def node_codes(side: Side, name: str) -> Codes:
    """Return the code of each node in a column; nodes outside the cache have the higher codes."""
    inside, outside = getattr(side.frame, name), getattr(side.graph.outside, name)
    higher = outside.codes.astype(np.int32) + len(inside.values)
    return np.concatenate((inside.codes, higher))


def node_fingerprints(side: Side, name: str) -> Fingerprints:
    """Return a 64-bit hash for each of these codes, equal for equal values.

    It is valid within this process. Two values share one by chance in one of about 10^19 pairs.
    """
    columns = getattr(side.frame, name), getattr(side.graph.outside, name)
    values: Fingerprints = np.concatenate([column.fingerprints for column in columns]).astype(
        np.uint64
    )
    return values


def node_values(side: Side, name: str, nodes: Nodes) -> list[Any]:
    """Return the value of each of some nodes in a column."""
    values = [*getattr(side.frame, name).values, *getattr(side.graph.outside, name).values]
    return list(map(values.__getitem__, node_codes(side, name)[nodes].tolist()))


def node_texts(side: Side, nodes: Nodes) -> list[str]:
    """Return the hash of each of some nodes as text."""
    return texts_of(_words(side, nodes))


def known_values(side: Side, name: str) -> Mask:
    """Return for each of these codes whether the value is known."""
    columns = getattr(side.frame, name), getattr(side.graph.outside, name)
    mask: Mask = np.concatenate([column.known() for column in columns])
    return mask


def is_stated(side: Side) -> Mask:
    """Return a mask of the nodes that the source states: all rows, and some outside the cache."""
    rows = np.ones(side.graph.num_rows, np.bool_)
    mask: Mask = np.concatenate((rows, side.graph.stated))
    return mask


def hash_keys(side: Side, nodes: Nodes) -> Fingerprints:
    """Return the beginning of each node's hash as a number; they sort like the hashes."""
    keys = np.empty(len(nodes), np.uint64)
    for mask, hashes, rows in _hashes(side, nodes):
        keys[mask] = hashes.keys_at(rows)
    return keys


def are_equal(base: Side, base_nodes: Nodes, head: Side, head_nodes: Nodes) -> Mask:
    """Return for each pair of nodes whether they have the same hash."""
    equal: Mask = hash_keys(base, base_nodes) == hash_keys(head, head_nodes)
    # The complete hashes need to be compared only if their beginnings are equal.
    pairs = np.flatnonzero(equal)
    before, after = _words(base, base_nodes[pairs]), _words(head, head_nodes[pairs])
    equal[pairs] = (before == after).all(axis=1)
    return equal


def _words(side: Side, nodes: Nodes) -> Fingerprints:
    """Return the hash of each node as four numbers."""
    words = np.empty((len(nodes), NUM_WORDS), np.uint64)
    for mask, hashes, rows in _hashes(side, nodes):
        words[mask] = hashes.words_at(rows)
    return words


def _hashes(side: Side, nodes: Nodes) -> Iterator[tuple[Mask, Hashes, Nodes]]:
    """Yield a mask of the nodes that are rows, or outside; their hashes; and their rows in them."""
    is_row = nodes < side.graph.num_rows
    yield is_row, side.frame.hashes, nodes[is_row]
    yield ~is_row, side.graph.outside.hashes, nodes[~is_row] - side.graph.num_rows


def row_hashes(frame: Frame, rows: Rows | slice, names: Iterable[str]) -> Fingerprints:
    """Return one hash of several facts of each row; the facts are in columns of codes."""
    return mixed(*(getattr(frame, name).row_hashes(rows) for name in names))


def node_hashes(side: Side, name: str) -> Fingerprints:
    """Return the hash of a fact of each node; the fact is in a column of codes."""
    return node_fingerprints(side, name)[node_codes(side, name)]


def compilers(side: Side) -> tuple[Fingerprints, Fingerprints]:
    """Return the hashes of the name and of the version of each node's compiler."""
    columns = side.frame.compiler, side.graph.outside.compiler
    parts = [
        np.array(column.mapped(_name_and_version), np.int64).reshape(-1, 2)[column.codes]
        for column in columns
    ]
    names, versions = np.concatenate(parts).astype(np.uint64).T
    return names, versions


def stating_compilers(side: Side) -> Mask:
    """Return a mask of the nodes with a compiler that is not one of their dependencies.

    This is the case on cache pages and in indexes up to version 7. A node that depends on a
    provider of a language is built by this provider.
    """
    mask = known_values(side, "compiler")[node_codes(side, "compiler")]
    mask[side.graph.sources[side.graph.edges_to_compilers]] = False
    return mask


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
        mixed(*(node_hashes(side, name) for name in ARCHITECTURE)) for side in sides
    )
    of_base = ~np.isin(base_keys, np.unique(head_keys[: head.graph.num_rows]))
    of_head = ~np.isin(head_keys, np.unique(base_keys[: base.graph.num_rows]))
    return (of_base, of_head) if of_base.any() and of_head.any() else None


def are_unmatched(apart: Apart | None, base_nodes: Nodes, head_nodes: Nodes) -> Mask:
    """Return for each pair of nodes whether each has an architecture that only its own side has."""
    if apart is None:
        return np.zeros(len(base_nodes), np.bool_)
    mask: Mask = apart[0][base_nodes] & apart[1][head_nodes]
    return mask


def _name_and_version(compiler: str | None) -> tuple[int, int]:
    name, _, version = (compiler or "").partition("@")
    return hash(name), hash(version)

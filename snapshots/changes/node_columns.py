"""The rows of a side and the nodes outside its cache as one: columns over all nodes of a graph."""

import numpy as np
import numpy.typing as npt

from snapshots.changes.sides import Side
from snapshots.frames.adjacency import Nodes
from snapshots.frames.columns import Codes, Mask
from snapshots.frames.frame import Frame

Fingerprints = npt.NDArray[np.uint64]


def frame_row(side: Side, node: int) -> tuple[Frame, int]:
    """Return the frame that holds what is known of a node, and its row there."""
    outside = node - side.graph.num_rows
    return (side.frame, node) if outside < 0 else (side.graph.outside, outside)


def node_codes(side: Side, name: str) -> Codes:
    """Return the code of each node in a column; those outside the cache have codes behind all."""
    inside, outside = getattr(side.frame, name), getattr(side.graph.outside, name)
    joined: Codes = np.concatenate((inside.codes, outside.codes + np.int32(len(inside.values))))
    return joined


def node_fingerprints(side: Side, name: str) -> Fingerprints:
    """Return a 64-bit hash for each of those codes, equal for equal values.

    It is good within this process. Two values share one by chance in one of some 10^19 pairs.
    """
    columns = getattr(side.frame, name), getattr(side.graph.outside, name)
    values: Fingerprints = np.concatenate([it.fingerprints for it in columns]).astype(np.uint64)
    return values


def known_values(side: Side, name: str) -> Mask:
    """Return for each of those codes whether the value is known."""
    columns = getattr(side.frame, name), getattr(side.graph.outside, name)
    mask: Mask = np.concatenate([it.known() for it in columns])
    return mask


def is_stated(side: Side) -> Mask:
    """Return which of the nodes the source states: rows, and some of those outside the cache."""
    rows = np.ones(side.graph.num_rows, np.bool_)
    mask: Mask = np.concatenate((rows, side.graph.stated))
    return mask


def hash_keys(side: Side) -> Fingerprints:
    """Return the beginning of each node's hash as a number; they stand as the hashes do."""
    return np.concatenate((side.frame.hashes.keys, side.graph.outside.hashes.keys))


def are_equal(base: Side, base_nodes: Nodes, head: Side, head_nodes: Nodes) -> Mask:
    """Return for each pair of nodes whether they have the same hash."""
    equal: Mask = hash_keys(base)[base_nodes] == hash_keys(head)[head_nodes]
    # Whether the whole hashes are equal matters only where their beginnings are.
    pairs = np.flatnonzero(equal)
    before, after = _words(base)[base_nodes[pairs]], _words(head)[head_nodes[pairs]]
    equal[pairs] = (before == after).all(axis=1)
    return equal


def _words(side: Side) -> Fingerprints:
    return np.concatenate((side.frame.hashes.words, side.graph.outside.hashes.words))

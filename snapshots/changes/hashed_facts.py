"""Facts of the nodes of a graph as 64-bit hashes, so that those of two sides can be compared.

They are good within this process. What is equal has an equal one, on either side, and two values
that differ share one by chance in one of some 10^19 pairs.
"""

import numpy as np

from snapshots.changes.node_columns import node_codes, node_fingerprints, known_values
from snapshots.changes.node_columns import Fingerprints
from snapshots.changes.sides import Side
from snapshots.frames.columns import Mask

_MIXER = np.uint64(0x9E3779B97F4A7C15)


def of_nodes(side: Side, name: str) -> Fingerprints:
    """Return the hash of a fact of each node; the fact is one that stands in a column of codes."""
    return node_fingerprints(side, name)[node_codes(side, name)]


def compilers(side: Side) -> tuple[Fingerprints, Fingerprints]:
    """Return the hashes of the name and of the version of each node's compiler."""
    columns = side.frame.compiler, side.graph.outside.compiler
    parts = [
        np.array(it.mapped(_name_and_version), np.int64).reshape(-1, 2)[it.codes] for it in columns
    ]
    names, versions = np.concatenate(parts).astype(np.uint64).T
    return names, versions


def stating_compilers(side: Side) -> Mask:
    """Return a mask over the nodes: those with a compiler that is none of their dependencies.

    So it is on cache pages and in indexes up to version 7. What depends on a provider of a language
    is built by that.
    """
    mask = known_values(side, "compiler")[node_codes(side, "compiler")]
    mask[side.graph.sources[side.graph.edges_to_compilers]] = False
    return mask


def mixed(first: Fingerprints, *others: Fingerprints) -> Fingerprints:
    """Return one hash of several that stand side by side, in this order."""
    for other in others:
        first = first * _MIXER + other
    return first


def _name_and_version(compiler: str | None) -> tuple[int, int]:
    name, _, version = (compiler or "").partition("@")
    return hash(name), hash(version)

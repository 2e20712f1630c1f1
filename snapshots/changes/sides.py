"""One of the two contents that are compared, with all that is known of it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame

Fingerprints = npt.NDArray[np.uint64]
"""64-bit hashes, good within this process: what is equal has an equal one, on both sides."""

_MIXER = np.uint64(0x9E3779B97F4A7C15)


class Side(NamedTuple):
    """A content's rows and its dependency graph; ``graph.is_known`` tells whether it tells any."""

    frame: Frame
    graph: DependencyGraph

    def fingerprints(self, name: str) -> Fingerprints:
        """Return a hash of a fact of each node; the fact is one that stands in a column of codes."""
        columns = self.frame.columns[name], self.graph.outside.columns[name]
        return np.concatenate([it.fingerprints[it.codes] for it in columns]).astype(np.uint64)

    def stating_compilers(self) -> Mask:
        """Return a mask over the nodes: those with a compiler that is none of their dependencies.

        So it is on cache pages and in indexes up to version 7. Who depends on what provides it a
        language is built by that.
        """
        columns = self.frame.compiler, self.graph.outside.compiler
        mask = np.concatenate([it.known()[it.codes] for it in columns])
        mask[self.graph.sources[self.graph.edges_to_compilers]] = False
        return mask

    def compilers(self) -> tuple[Fingerprints, Fingerprints]:
        """Return a hash of the name and one of the version of each node's compiler."""
        columns = self.frame.compiler, self.graph.outside.compiler
        parts = [
            np.array(it.mapped(_name_and_version), np.int64).reshape(-1, 2)[it.codes]
            for it in columns
        ]
        names, versions = np.concatenate(parts).astype(np.uint64).T
        return names, versions


def mixed(first: Fingerprints, *others: Fingerprints) -> Fingerprints:
    """Return one hash of several that stand side by side, in this order."""
    for other in others:
        first = first * _MIXER + other
    return first


def _name_and_version(compiler: str | None) -> tuple[int, int]:
    name, _, version = (compiler or "").partition("@")
    return hash(name), hash(version)

"""The removed and the added specs as what they are paired by: hashes of their facts, in columns."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from snapshots.changes.node_columns import node_codes, node_fingerprints
from snapshots.changes.hashed_facts import (
    compilers,
    mixed,
    stating_compilers,
)
from snapshots.changes.node_columns import Fingerprints
from snapshots.changes.sides import Side
from snapshots.frames.columns import Column, Mask, Rows, begins_of_runs
from snapshots.spack.names import ROOT_STACK

Numbers = npt.NDArray[np.int64]


class Candidates:
    """Rows of one side by rising hash; all columns are in this order.

    Each column holds a 64-bit hash of a fact, so that those of both sides can be compared. A key of
    several facts is mixed of them: two that differ are taken for equal by chance in one of 10^19.
    """

    def __init__(self, side: Side, rows: Rows) -> None:
        self.side = side
        by_hash = np.empty(len(side.frame), np.int32)
        by_hash[side.frame.hashes.order] = np.arange(len(side.frame), dtype=np.int32)
        self.rows = rows[np.argsort(by_hash[rows], kind="stable")]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def package(self) -> Fingerprints:
        """The name of the package."""
        return self._column("name")

    @cached_property
    def architecture(self) -> Fingerprints:
        """The platform, the operating system and the target."""
        return mixed(*map(self._column, ("platform", "operating_system", "target")))

    @cached_property
    def variants(self) -> Fingerprints:
        """All variants."""
        return self._column("variants")

    @cached_property
    def version(self) -> Fingerprints:
        """The version."""
        return self._column("version")

    @cached_property
    def stacks(self) -> Fingerprints:
        """All stacks but root."""
        frame = self.side.frame
        return frame.stacks_without_root[frame.stacks.codes[self.rows]].astype(np.uint64)

    @cached_property
    def has_stack(self) -> Mask:
        """Whether there is any stack but root."""
        column = self.side.frame.stacks
        has = column.where(lambda stacks: not {*stacks} <= {ROOT_STACK})
        return has[column.codes[self.rows]]

    def keys(self, facts: Sequence[str]) -> Fingerprints:
        """Return one hash of several facts, which are named as these columns are."""
        return mixed(*(getattr(self, fact) for fact in facts))

    @cached_property
    def names(self) -> Fingerprints:
        """The names of the direct dependencies, each once, whatever the types of the edges.

        A compiler that is no dependency counts as one.
        """
        distinct, owners, codes = self._named()
        pairs = np.sort(owners * len(distinct) + codes)
        pairs = pairs[begins_of_runs(pairs)]
        sums = np.zeros(len(self), np.uint64)
        if len(pairs):
            np.add.at(sums, pairs // len(distinct), distinct[pairs % len(distinct)])
        return sums

    def _named(self) -> tuple[Fingerprints, Numbers, Numbers]:
        """Return hashes of names, and for each dependency whose it is and which name it has."""
        side, graph = self.side, self.side.graph
        stating = np.flatnonzero(stating_compilers(side)[self.rows])
        of_compilers = compilers(side)[0][self.rows[stating]]
        of_packages = node_fingerprints(side, "package")
        distinct = np.unique(np.concatenate([of_packages, of_compilers]))
        edges = graph.down.edges_of(self.rows.astype(np.int64))
        place_of = np.empty(graph.num_nodes, np.int64)
        place_of[self.rows] = np.arange(len(self))
        of_nodes = np.searchsorted(distinct, of_packages)[node_codes(side, "package")]
        owners = [place_of[graph.sources[edges]], stating]
        codes = [of_nodes[graph.targets[edges]], np.searchsorted(distinct, of_compilers)]
        return distinct, np.concatenate(owners), np.concatenate(codes)

    def _column(self, name: str) -> Fingerprints:
        column: Column[Any] = getattr(self.side.frame, name)
        return column.fingerprints[column.codes[self.rows]].astype(np.uint64)

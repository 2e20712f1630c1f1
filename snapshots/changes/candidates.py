"""The removed and the added specs as what they are paired by: hashes of their facts, in columns."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from snapshots.changes.hashed_facts import (
    mixed,
    of_compilers,
    of_nodes,
    stating_compilers,
)
from snapshots.changes.node_columns import Fingerprints
from snapshots.changes.sides import Side
from snapshots.frames.columns import Column, Mask, Rows, begins_of_runs
from snapshots.spack.names import ROOT_STACK


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
        graph = self.side.graph
        edges = graph.down.edges_of(self.rows.astype(np.int64))
        place_of = np.empty(graph.num_nodes, np.int64)
        place_of[self.rows] = np.arange(len(self))
        stating = np.flatnonzero(stating_compilers(self.side)[self.rows])
        names_of_compilers, _ = of_compilers(self.side)
        owners = np.concatenate([place_of[graph.sources[edges]], stating])
        names = np.concatenate(
            [
                of_nodes(self.side, "package")[graph.targets[edges]],
                names_of_compilers[self.rows[stating]],
            ]
        )
        distinct, codes = np.unique(names, return_inverse=True)
        pairs = np.sort(owners * len(distinct) + codes)
        pairs = pairs[begins_of_runs(pairs)]
        sums = np.zeros(len(self), np.uint64)
        if len(pairs):
            np.add.at(sums, pairs // len(distinct), distinct[pairs % len(distinct)])
        return sums

    def _column(self, name: str) -> Fingerprints:
        column: Column[Any] = getattr(self.side.frame, name)
        return column.fingerprints[column.codes[self.rows]].astype(np.uint64)

"""The explanation of two states in the model's terms: hashes instead of rows and numbers."""

from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import pairwise

import numpy as np

from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import explain
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from tests.model.changes import Cause, Kind, Pair
from tests.model.states import State
from tests.snapshots.changes.causes import CauseRecord, records
from tests.snapshots.changes.graphs import side_of


def frame_and_graph(state: State) -> tuple[Frame, DependencyGraph]:
    """Return a state as a catalog would load it."""
    outside = [spec for digest, spec in state.nodes.items() if digest not in state.specs]
    side = side_of(state.specs.values(), outside)
    return side.frame, side.graph


def compared(base: State, head: State) -> Comparison:
    """Return the comparison of two states."""
    return Comparison(frame_and_graph(base)[0], frame_and_graph(head)[0])


def named(records: Iterable[CauseRecord]) -> list[Cause]:
    """Return the names of causes."""
    return [Cause(Kind[record.kind.name], *record[1:4]) for record in records]


_REASONS = tuple(SpecChangeReason)


class Explained:
    """The explanation of a comparison; ``returned`` are hashes of earlier revisions."""

    def __init__(self, base: State, head: State, returned: frozenset[str] = frozenset()) -> None:
        self._base, self._head = frame_and_graph(base), frame_and_graph(head)
        comparison = Comparison(self._base[0], self._head[0])
        self._explanation = explain(comparison, self._base[1], self._head[1])
        self._changes = comparison.specs
        texts = self._head[0].hashes.texts
        self._rows = {digest: row for row, digest in enumerate(texts)}
        self._returned = np.array([digest in returned for digest in texts], np.bool_)

    def reasons(self, kind: SpecChangeKind) -> dict[str, str]:
        """Return the reasons of the added, removed or changed specs."""
        codes = self._explanation.reasons(self._changes, self._returned).tolist()
        return {
            change.hash: _REASONS[code].value
            for change, code in zip(self._changes, codes, strict=True)
            if change.kind is kind
        }

    def counterparts(self, kind: SpecChangeKind) -> dict[str, str]:
        """Return the hashes of the counterparts of the added, or removed, specs."""
        others = self._base[0] if kind is SpecChangeKind.ADDED else self._head[0]
        rows = self._explanation.counterpart_rows(self._changes).tolist()
        return {
            change.hash: others.hashes.at(row)
            for change, row in zip(self._changes, rows, strict=True)
            if change.kind is kind and row >= 0
        }

    # -- causes

    @cached_property
    def causes(self) -> list[Cause]:
        """All causes, those that explain most specs first."""
        return named(self.records)

    @cached_property
    def records(self) -> list[CauseRecord]:
        """The records of all causes."""
        return records(self._explanation.causes)

    @property
    def num_specs(self) -> dict[Cause, int]:
        """The number of specs that each cause is the main one of."""
        return dict(zip(self.causes, (record.num_specs for record in self.records), strict=True))

    @property
    def num_involved(self) -> dict[Cause, int]:
        """The number of specs that each cause is involved in."""
        return dict(zip(self.causes, (record.num_involved for record in self.records), strict=True))

    def specs(self, number: int, *, involved: bool) -> set[str]:
        """Return the specs of head that a cause is the main one of, or is involved in."""
        rows = self._explanation.causes.rows_of(number, involved=involved).tolist()
        return {self._head[0].hashes.at(row) for row in rows}

    # -- of specs with counterparts

    @cached_property
    def main(self) -> dict[str, Cause]:
        """The main cause of each spec."""
        numbers = self._explanation.main_causes(self._changes).tolist()
        named = zip(self._changes, numbers, strict=True)
        return {change.hash: self.causes[number] for change, number in named if number >= 0}

    @cached_property
    def involved(self) -> dict[str, list[Cause]]:
        """The causes of each spec."""
        lists = self._explanation.involved(self._changes)
        bounds = pairwise(lists.offsets.tolist())
        return {
            change.hash: [self.causes[number] for number in lists.numbers[start:stop].tolist()]
            for change, (start, stop) in zip(self._changes, bounds, strict=True)
            if stop > start
        }

    def counted(self, digests: Collection[str]) -> dict[Cause, tuple[int, int]]:
        """Return for each cause of how many of some specs it is the main one, or involved."""
        rows = np.array([self._rows[digest] for digest in digests], np.int32)
        counts = self._explanation.causes.counted(rows)
        return {
            self.causes[count.number]: (count.num_specs, count.num_involved) for count in counts
        }

    @cached_property
    def paths(self) -> dict[str, list[Pair]]:
        """The path of nodes from each spec of head to its main cause."""
        return {digest: self.path(digest) for digest in self.counterparts(SpecChangeKind.ADDED)}

    def path(self, digest: str) -> list[Pair]:
        """Return the path of nodes from a spec to its main cause."""
        base, head = Side(*self._base), Side(*self._head)
        return [
            (hash_at(base, step.base_node), hash_at(head, step.head_node))
            for step in self._explanation.causes.path(self._rows[digest])
        ]


def hash_at(side: Side, node: int | None) -> str:
    """Return the hash of a node."""
    assert node is not None
    frame, row = side.at(node)
    return frame.hashes.at(row)

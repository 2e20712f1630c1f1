"""The explanation of two states in the model's terms: hashes instead of rows and numbers."""

from collections.abc import Collection
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import explain
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from tests.model.changes import Cause, Kind, Pair, Tie
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

    @property
    def ties(self) -> dict[str, Tie]:
        """The ties of all specs of either side."""
        pairs = self._explanation.counterparts
        sides = (self._base[0], pairs.base_ties), (self._head[0], pairs.head_ties)
        return {
            frame.hashes.at(row): Tie(tie.num_base, tie.num_head, tie.num_pairs)
            for frame, ties in sides
            for row, tie in ties.items()
        }

    # -- causes

    @cached_property
    def causes(self) -> list[Cause]:
        """All causes, those that explain most specs first."""
        return [
            Cause(Kind[record.kind.name], record.package, record.before, record.after)
            for record in self._records
        ]

    @cached_property
    def _records(self) -> list[CauseRecord]:
        return records(self._explanation.causes)

    @property
    def num_specs(self) -> dict[Cause, int]:
        """The number of specs that each cause is the main one of."""
        return self._by_cause("num_specs")

    @property
    def num_involved(self) -> dict[Cause, int]:
        """The number of specs that each cause is involved in."""
        return self._by_cause("num_involved")

    @property
    def packages(self) -> dict[Cause, set[str]]:
        """The packages of the specs that each cause is the main one of."""
        return {cause: set(names) for cause, names in self._by_cause("packages").items()}

    @property
    def together(self) -> dict[Cause, set[Cause]]:
        """The causes that are involved in the same specs as each."""
        numbers = self._by_cause("together")
        return {
            cause: {self.causes[other] for other in others} for cause, others in numbers.items()
        }

    @property
    def facts(self) -> dict[Cause, list[str]]:
        """The names of the facts that differ where each cause is found."""
        return {
            cause: [fact.path for fact in facts] for cause, facts in self._by_cause("facts").items()
        }

    def specs(self, *, involved: bool) -> dict[Cause, set[str]]:
        """Return the specs of head that each cause is the main one of, or is involved in."""
        rows = [
            self._explanation.causes.rows_of(number, involved=involved).tolist()
            for number in range(len(self.causes))
        ]
        texts = self._head[0].hashes.texts
        return {
            cause: {texts[row] for row in its} for cause, its in zip(self.causes, rows, strict=True)
        }

    def _by_cause(self, name: str) -> dict[Cause, Any]:
        values = [getattr(record, name) for record in self._records]
        return dict(zip(self.causes, values, strict=True))

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
        return [
            (_hash(*self._base, step.base_node), _hash(*self._head, step.head_node))
            for step in self._explanation.causes.path(self._rows[digest])
        ]


def _hash(frame: Frame, graph: DependencyGraph, node: int | None) -> str:
    assert node is not None
    frame, row = Side(frame, graph).at(node)
    return frame.hashes.at(row)

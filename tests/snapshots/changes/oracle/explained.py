"""What cachelog says of two states, in the oracle's terms: hashes in place of rows and numbers."""

from collections.abc import Sequence

import numpy as np

from snapshots.changes.causes import Cause as FoundCause
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.spec_changes import SpecChangeKind
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from tests.snapshots.changes.oracle.causes import Pair
from tests.snapshots.changes.oracle.columns import frame_and_graph
from tests.snapshots.changes.oracle.own import Cause, Kind
from tests.snapshots.changes.oracle.states import State

_REASONS = tuple(SpecChangeReason)


class Explained:
    """The explanation of a comparison; ``returned`` are hashes that had been there before."""

    def __init__(self, base: State, head: State, returned: frozenset[str] = frozenset()) -> None:
        self._base, self._head = frame_and_graph(base), frame_and_graph(head)
        comparison = Comparison(self._base[0], self._head[0])
        self.explanation: Explanation = explain(comparison, self._base[1], self._head[1])
        self._changes = comparison.specs
        self._returned = np.array([it in returned for it in self._head[0].hashes.texts], np.bool_)

    def reasons(self, kind: SpecChangeKind) -> dict[str, str]:
        """Return the reasons of the specs that came, went or changed."""
        codes = self.explanation.reasons(self._changes, self._returned).tolist()
        return {
            change.hash: _REASONS[code].value
            for change, code in zip(self._changes, codes, strict=True)
            if change.kind is kind
        }

    def counterparts(self, kind: SpecChangeKind) -> dict[str, str]:
        """Return the hashes of the counterparts of the specs that came, or went."""
        others = self._base[0] if kind is SpecChangeKind.ADDED else self._head[0]
        rows = self.explanation.counterpart_rows(self._changes).tolist()
        return {
            change.hash: others.hashes.at(row)
            for change, row in zip(self._changes, rows, strict=True)
            if change.kind is kind and row >= 0
        }

    @property
    def causes(self) -> list[Cause]:
        """All causes, those that explain most specs first."""
        return [_cause(it) for it in self.explanation.causes]

    def main(self) -> dict[str, Cause]:
        """Return the main causes of the specs that took the place of others."""
        numbers = self.explanation.main_causes(self._changes).tolist()
        causes = self.causes
        return {
            change.hash: causes[number]
            for change, number in zip(self._changes, numbers, strict=True)
            if change.kind is SpecChangeKind.ADDED and number >= 0
        }

    def path(self, digest: str) -> list[Pair]:
        """Return the chain of nodes that leads from a spec to its main cause."""
        row = self._head[0].hashes.texts.index(digest)
        steps = self.explanation.path(row)
        return [
            (_hash(*self._base, it.base_node), _hash(*self._head, it.head_node)) for it in steps
        ]


def _cause(cause: FoundCause) -> Cause:
    return Cause(Kind[cause.kind.name], cause.package, cause.before, cause.after)


def _hash(frame: Frame, graph: DependencyGraph, node: int | None) -> str:
    assert node is not None
    absent = graph.absent_at(node)
    return absent.hash if absent else frame.hashes.at(node)

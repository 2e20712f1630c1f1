"""A comparison as the commands report it: as far as it was asked for, with the reasons."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from snapshots.changes.diff import Comparison, SpecChange
from snapshots.changes.explanation import Explanation
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.frames.columns import Mask, Rows
from snapshots.models import RevisionInfo, Spec

PAIRED = frozenset({SpecChangeReason.REBUILT, SpecChangeReason.REPLACES})
"""The reasons of added specs that have a counterpart."""


class Told(NamedTuple):
    """A changed hash with all that is told of it.

    ``counterpart`` is what it took the place of, or what took its place, as a row of the other
    revision; ``head_row`` is that of the two which is in head, and ``cause`` the number of the main
    cause. All three are None where there is no counterpart.
    """

    change: SpecChange
    reason: SpecChangeReason
    counterpart: int | None
    head_row: int | None
    cause: int | None


class Report(NamedTuple):
    """What changed from base to head, and why.

    ``comparison`` may be narrowed to what was asked for; ``why`` explains the whole.
    """

    base: RevisionInfo
    head: RevisionInfo
    comparison: Comparison
    why: Explanation
    changes: tuple[Told, ...]

    @property
    def replacing_rows(self) -> Rows:
        """The rows in head of the added specs that took the place of others."""
        rows = [told.head_row for told in self.changes if told.reason in PAIRED]
        return np.array(rows, np.int32)

    def stories(self, changes: Sequence[Told]) -> list[Told]:
        """Return the changes; of two counterparts only the added one, where it is among them."""
        shown = {told.head_row for told in changes if told.reason in PAIRED}
        return [
            told
            for told in changes
            if told.reason is not SpecChangeReason.REPLACED or told.head_row not in shown
        ]

    def own(self, told: Told) -> Spec:
        """Return the spec of the hash itself, as it is in head where it is there."""
        change, comparison = told.change, self.comparison
        if change.after is not None:
            return comparison.head.spec(change.after)
        return comparison.base.spec(change.before or 0)

    def pair(self, told: Told) -> tuple[Spec, Spec]:
        """Return the specs before and after, of a change that has both."""
        before, after = self.before(told), self.after(told)
        if before is None or after is None:
            raise ValueError(f"{told.change.hash} has no counterpart")
        return before, after

    def before(self, told: Told) -> Spec | None:
        """Return the spec in base: the hash's own, or that of its counterpart."""
        row = told.counterpart if told.change.before is None else told.change.before
        return None if row is None else self.comparison.base.spec(row)

    def after(self, told: Told) -> Spec | None:
        """Return the spec in head: the hash's own, or that of its counterpart."""
        row = told.counterpart if told.change.after is None else told.change.after
        return None if row is None else self.comparison.head.spec(row)


def reported(
    base: RevisionInfo, head: RevisionInfo, comparison: Comparison, why: Explanation, returned: Mask
) -> Report:
    """Return the report of a comparison; ``returned`` as for ``Explanation.reasons``."""
    table = comparison.specs
    columns = (
        why.reasons(table, returned).tolist(),
        why.counterpart_rows(table).tolist(),
        why.head_rows(table).tolist(),
        why.main_causes(table).tolist(),
    )
    changes = tuple(
        Told(change, REASONS[reason], *map(_none_if_less, numbers))
        for change, reason, *numbers in zip(table, *columns, strict=True)
    )
    return Report(base, head, comparison, why, changes)


def _none_if_less(number: int) -> int | None:
    return None if number < 0 else number


def hash_at(side: Side, node: int) -> str:
    """Return the hash of a node of a side's graph."""
    absent = side.graph.absent_at(node)
    return side.frame.hashes.at(node) if absent is None else absent.hash

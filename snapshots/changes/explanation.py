"""The explanation of a comparison: counterparts, reasons and causes of all its specs.

All of it follows from the two contents alone, so an explanation is valid as long as its comparison,
and is computed once, with all columns.
"""

import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Mask, Rows, SmallCodes
from snapshots.changes.causes import CauseLists, Causes, CauseStep, what_is_unstated
from snapshots.changes.counterparts import Counterparts
from snapshots.changes.diff import Comparison, SpecChanges
from snapshots.changes.pairings import Pairing, RowPairs, code_of
from snapshots.changes.reasons import Reasoning, SpecChangeReason, find_reasons
from snapshots.changes.sides import Side, differing_facts, row_hashes
from snapshots.frames.columns import Arrays
from snapshots.frames.dependencies import DependencyGraph

__all__ = ["Explanation", "Side", "explain", "explain_pairs"]


class Explanation(Arrays):
    """Why the hashes of a comparison that is not narrowed were added and removed.

    ``counterparts`` are the replaced specs, ``causes`` the causes of the replacements;
    ``reasoning`` contains the results that do not need causes, and is computed unless it is passed.
    Tables of changes may be any part of the comparison's table: results refer to the entire
    comparison.
    """

    def __init__(
        self,
        comparison: Comparison,
        base: Side,
        head: Side,
        reasoning: Reasoning | None = None,
        *,
        are_twins: bool = False,
    ) -> None:
        self.comparison = comparison
        self.base = base
        self.head = head
        self.reasoning = reasoning or find_reasons(comparison.pairing, base, head)
        self.counterparts = self.reasoning.counterparts
        self.causes = Causes(base, head, self.reasoning, are_twins=are_twins)

    @property
    def why_unknown(self) -> str | None:
        """Why causes may be unknown: the facts that one of the two sources does not state.

        None if both state dependencies and package hashes.
        """
        sides = (self.base, self.head)
        has_edges = all(side.graph.is_known for side in sides)
        has_hashes = all(side.frame.package_hash.is_known for side in sides)
        return what_is_unstated(has_edges=has_edges, has_hashes=has_hashes)

    # -- columns for a table of changes

    def reasons(self, changes: SpecChanges, returned: Mask | None = None) -> SmallCodes:
        """Return the reason of each change, as the code of a SpecChangeReason.

        ``returned`` is a mask over the rows of head whose hash was in an earlier revision.
        """
        return self.reasoning.reasons_of(changes, returned)

    def count(self, reason: SpecChangeReason) -> int:
        """Return how many specs were added or removed for a reason; RETURNED is counted as new."""
        columns = self.reasoning.of_base, self.reasoning.of_head
        return sum(int(np.count_nonzero(codes == code_of(reason))) for codes in columns)

    def without_counterpart(self) -> Rows:
        """Return the rows of head that were added and replaced no spec, ascending."""
        added = self.comparison.pairing.added
        rows: Rows = added[self.counterparts.base_of[added] == NO_ROW]
        return rows

    def counterpart_rows(self, changes: SpecChanges) -> Rows:
        """Return the row of each change's counterpart: in base for an added spec, else in head.

        It is -1 if there is none, as for changed specs.
        """
        rows = np.full(len(changes), NO_ROW, np.int32)
        added, removed = changes.before == NO_ROW, changes.after == NO_ROW
        rows[added] = self.counterparts.base_of[changes.after[added]]
        rows[removed] = self.counterparts.head_of[changes.before[removed]]
        return rows

    def pairs_once(self, changes: SpecChanges) -> SpecChanges:
        """Return the changes without removed specs whose counterpart is also among the changes."""
        is_added, is_removed = changes.before == NO_ROW, changes.after == NO_ROW
        is_listed = np.zeros(len(self.head.frame), np.bool_)
        is_listed[changes.after[is_added]] = True
        partners = self.counterpart_rows(changes)
        is_second = np.zeros(len(changes), np.bool_)
        paired = is_removed & (partners != NO_ROW)
        is_second[paired] = is_listed[partners[paired]]
        return changes.take(~is_second)

    def head_rows(self, changes: SpecChanges) -> Rows:
        """Return the row in head by which the causes identify each change.

        For a removed spec, it is the row of its counterpart; -1 if there is none.
        """
        rows = self.counterpart_rows(changes)
        is_added = (changes.before == NO_ROW) & (rows != NO_ROW)
        rows[is_added] = changes.after[is_added]
        return rows

    def main_causes(self, changes: SpecChanges) -> npt.NDArray[np.int32]:
        """Return the number of each change's main cause; -1 if it has no counterpart."""
        return self.causes.main_of(self.head_rows(changes))

    def involved(self, changes: SpecChanges) -> CauseLists:
        """Return the numbers of all causes of each change, the main cause first."""
        return self.causes.involved_in(self.head_rows(changes))

    def specs_of(self, number: int, *, involved: bool = False) -> SpecChanges:
        """Return the added specs whose main cause a cause is, or in which it is involved."""
        is_caused = np.zeros(len(self.head.frame), np.bool_)
        is_caused[self.causes.rows_of(number, involved=involved)] = True
        table = self.comparison.specs
        return table.take((table.before == NO_ROW) & is_caused[table.after])

    def paths(self, changes: SpecChanges) -> list[list[CauseStep]]:
        """Return the path of each change to its main cause; empty without a counterpart."""
        return list(map(self.causes.path, self.head_rows(changes).tolist()))


def explain(
    comparison: Comparison, base_graph: DependencyGraph, head_graph: DependencyGraph
) -> Explanation:
    """Explain a comparison that is not narrowed; the graphs are those of its two contents."""
    base, head = Side(comparison.base, base_graph), Side(comparison.head, head_graph)
    return Explanation(comparison, base, head)


def explain_pairs(
    base: Side, head: Side, base_rows: Rows, head_rows: Rows, *, are_twins: bool = False
) -> Explanation:
    """Explain pairs of rows as counterparts; each row of head is in at most one pair.

    The causes of ``are_twins`` have no direction.

    The comparison contains only the rows of head, as added specs. If the two specs of a pair are of
    different packages, their own differing facts are not causes; those of their dependencies are.
    """
    base_of = np.full(len(head.frame), NO_ROW, np.int32)
    head_of = np.full(len(base.frame), NO_ROW, np.int32)
    base_of[head_rows], head_of[base_rows] = base_rows, head_rows
    pairs = Counterparts(base_of, head_of)
    own = differing_facts(base, head, pairs.base_rows, pairs.head_rows)
    names = (
        row_hashes(side.frame, rows, ("name",))
        for side, rows in ((base, pairs.base_rows), (head, pairs.head_rows))
    )
    own[np.not_equal(*names)] = 0
    nothing = np.empty(0, np.int32)
    none = RowPairs(base.frame, nothing, head.frame, nothing)
    pairing = Pairing(
        base=base.frame,
        head=head.frame,
        base_rows=nothing,
        head_rows=pairs.head_rows,
        removed=nothing,
        added=pairs.head_rows,
        persisting=none,
        changed=none,
    )
    of_base = np.full(len(base.frame), NO_ROW, np.int8)
    of_head = np.full(len(head.frame), NO_ROW, np.int8)
    codes = code_of(SpecChangeReason.REPLACES), code_of(SpecChangeReason.REBUILT)
    of_head[pairs.head_rows] = np.where(own != 0, *codes)
    comparison = Comparison(base.frame, head.frame, pairing)
    reasoning = Reasoning(pairs, own, of_base, of_head)
    return Explanation(comparison, base, head, reasoning, are_twins=are_twins)

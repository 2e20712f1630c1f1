"""What the specs that came and went took the place of, and their reasons; not yet the causes."""

from typing import NamedTuple

import numpy as np

from snapshots.changes.counterparts import Counterparts, find_counterparts
from snapshots.changes.own_facts import Facts, differing_facts
from snapshots.changes.pairing import Pairing
from snapshots.changes.reasons import Codes, Reasons, SpecChangeReason, code_of, find_reasons
from snapshots.changes.sides import Side
from snapshots.changes.spec_changes import SpecChanges

_NO_ROW = -1


class Reasoning(NamedTuple):
    """Counterparts, which of their own facts differ (in the order of the pairs), and reasons."""

    counterparts: Counterparts
    differing: Facts
    reasons: Reasons

    def reasons_of(self, changes: SpecChanges, of_head: Codes | None = None) -> Codes:
        """Return the reason of each change, as the code of a SpecChangeReason.

        ``of_head`` stands in the place of the own reasons of the rows of head.
        """
        codes = np.full(len(changes), code_of(SpecChangeReason.FACTS), np.int8)
        added, removed = changes.before == _NO_ROW, changes.after == _NO_ROW
        codes[added] = (self.reasons.of_head if of_head is None else of_head)[changes.after[added]]
        codes[removed] = self.reasons.of_base[changes.before[removed]]
        return codes


def reason(pairing: Pairing, base: Side, head: Side) -> Reasoning:
    """Find counterparts and reasons for a pairing that is not narrowed, of the two sides."""
    removed, added = pairing.removed, pairing.added
    pairs = find_counterparts(base, removed, head, added)
    nodes = (it.astype(np.int64) for it in (pairs.base_rows, pairs.head_rows))
    own = differing_facts(base, head, *nodes)
    reasons = find_reasons(base.frame, removed, head.frame, added, pairs, own != 0)
    return Reasoning(pairs, own, reasons)

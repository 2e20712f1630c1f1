"""The twins of a revision, specs that are built twice, and the causes of their different hashes.

Specs are *twins* if name, version, variants and architecture are equal and hashes are not. The
*first* of a group of twins is the one that most specs of the revision reach, then the one in most
stacks, then the one with the smallest hash. Each of the others is compared with the first as its
counterpart, so the numbers of specs by cause add up to the number of specs built again. Causes have
no direction, as neither of two twins comes first.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from snapshots.arrays import NO_ROW, Mask, Numbers, Rows
from snapshots.changes.explanation import explain_pairs
from snapshots.changes.involvement import BLOCK_BYTES, WORD, Involvement, ranks
from snapshots.changes.pairings import Records
from snapshots.changes.sides import Side, row_hashes
from snapshots.frames.columns import begins_of_runs, rows_where
from snapshots.frames.graphs import BottomUpGraph
from snapshots.models import ARCHITECTURE
from snapshots.spack.names import ROOT_STACK

ALIKE = ("name", "version", "variants", *ARCHITECTURE)
"""The facts that are equal for twins."""


class TwinGroup(msgspec.Struct, frozen=True):
    """Twins, as rows of the revision: the first, then the others by hash."""

    number: int
    rows: Rows


class Twins(Records[TwinGroup]):
    """The groups of twins among the rows of a revision, or among those that a mask marks.

    The groups are sorted by the number of specs that reach their other specs, in descending order,
    then by package, version and hash. ``explanation`` contains the causes of the others' hashes: it
    treats them as added specs, and the first of their group as the counterpart of each.
    """

    def __init__(self, side: Side, mask: Mask | None = None) -> None:
        self._side = side
        rows, keys = _with_twins(side, mask)
        reach = _count_dependents(side, rows)
        order = _order_by_group(side, rows, keys, reach)
        rows, reach = rows[order], reach[order]
        starts = np.flatnonzero(begins_of_runs(keys[order]))
        sizes = np.diff(np.append(starts, len(rows)))
        groups = np.repeat(np.arange(len(starts)), sizes)
        is_other = np.ones(len(rows), np.bool_)
        is_other[starts] = False
        weights = np.bincount(groups[is_other], reach[is_other], len(starts))
        by_weight = np.lexsort((rows[starts], -weights))
        self._starts, self._sizes, self._rows = starts[by_weight], sizes[by_weight], rows
        self._group_of = np.full(len(side.frame), NO_ROW, np.int64)
        self._group_of[rows] = ranks(by_weight)[groups]
        firsts = np.repeat(rows[starts], sizes)
        self.explanation = explain_pairs(
            side, side, firsts[is_other], rows[is_other], are_twins=True
        )

    def __len__(self) -> int:
        return len(self._starts)

    def _record(self, place: int) -> TwinGroup:
        start = int(self._starts[place])
        return TwinGroup(place, self._rows[start : start + int(self._sizes[place])])

    @property
    def others(self) -> Rows:
        """The rows of all twins except the first of each group, ascending."""
        return self.explanation.counterparts.head_rows

    def find(self, digest: str) -> int | None:
        """Return the index of the group whose first spec has a hash; None if there is none."""
        row = self._side.frame.hashes.find(digest)
        place = NO_ROW if row is None else int(self._group_of[row])
        is_first = place != NO_ROW and int(self._rows[self._starts[place]]) == row
        return place if is_first else None

    def causes_of(self, group: TwinGroup) -> list[int]:
        """Return the numbers of the causes of a group's other specs, in order."""
        numbers = self.explanation.causes.involved_in(group.rows[1:]).numbers
        return sorted(set(numbers.tolist()))

    def saved(self, groups: Sequence[TwinGroup]) -> list[Rows]:
        """Return for each group the specs that would not be built if its twins were one spec.

        These are the twins of the group except the first, and those dependents of them that are
        twins and differ from the first of their own group in nothing else.
        """
        causes = self.explanation.causes
        numbers = causes.pairs_of(self._group_of)
        size = WORD * max(1, BLOCK_BYTES // (8 * max(1, len(numbers))))
        return [
            rows
            for start in range(0, len(groups), size)
            for rows in self._saved(groups[start : start + size], numbers)
        ]

    def _saved(self, groups: Sequence[TwinGroup], numbers: Numbers) -> list[Rows]:
        causes = self.explanation.causes
        items = np.full(len(self) + 1, NO_ROW, np.int64)
        items[[group.number for group in groups]] = np.arange(len(groups))
        places, columns = np.nonzero(causes.joined(items[numbers], len(groups)))
        by_group = np.argsort(columns, kind="stable")
        bounds = np.cumsum(np.bincount(columns, minlength=len(groups)))[:-1]
        return np.split(causes.head_rows[places[by_group]], bounds)


def _with_twins(side: Side, mask: Mask | None) -> tuple[Rows, Numbers]:
    """Return the marked rows that have twins, ascending, and a group number for each."""
    frame = side.frame
    rows = np.arange(len(frame), dtype=np.int32) if mask is None else rows_where(mask)
    _, keys, counts = np.unique(
        row_hashes(frame, rows, ALIKE), return_inverse=True, return_counts=True
    )
    has_twins = counts[keys] > 1
    return rows[has_twins], keys[has_twins].astype(np.int64)


def _count_dependents(side: Side, rows: Rows) -> Numbers:
    """Return how many other specs of the revision reach each row over any edge."""
    graph = side.graph
    is_needed = np.zeros(graph.num_nodes, np.bool_)
    is_needed[graph.targets] = True
    needed = np.flatnonzero(is_needed[rows])
    counts = np.zeros(len(rows), np.int64)
    if len(needed):
        order = BottomUpGraph(graph.sources, graph.targets, graph.num_nodes)
        nodes = rows[needed].astype(np.int64)
        items = np.arange(len(needed))
        involvement = Involvement(len(needed), nodes, items, order, graph.num_rows)
        counts[needed] = involvement.totals()[0] - 1
    return counts


def _order_by_group(side: Side, rows: Rows, keys: Numbers, reach: Numbers) -> Numbers:
    """Return the order of twins by group: the first of each, then the others by hash."""
    frame = side.frame
    stacks = frame.stacks
    num_stacks = np.fromiter(
        (len({*names} - {ROOT_STACK}) for names in stacks.values), np.int64, len(stacks.values)
    )[stacks.codes[rows]]
    by_hash = ranks(frame.hashes.order)[rows]
    best_first = np.lexsort((by_hash, -num_stacks, -reach, keys))
    is_first = np.zeros(len(rows), np.bool_)
    is_first[best_first[begins_of_runs(keys[best_first])]] = True
    return np.lexsort((by_hash, ~is_first, keys))

"""Votes of dependents on which candidates are counterparts.

Two counterparts vote for two candidates that they depend on by the same name. If one of the two
depends on several specs of a name, it does not vote on them.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from snapshots.changes.candidates import Candidates, Places
from snapshots.changes.sides import Fingerprints, node_codes, node_fingerprints
from snapshots.frames.columns import Mask, Rows, begins_of_runs, mixed

_NONE = -1


class Votes(msgspec.Struct, frozen=True):
    """The pairs of candidates that have votes, sorted by index, and the number of votes of each."""

    base: Places
    head: Places
    counts: Places

    def is_same_as(self, other: "Votes") -> bool:
        """Return whether the same pairs have the same numbers of votes."""
        both = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return all(np.array_equal(ours, theirs) for ours, theirs in both)


def count_votes(
    candidates: Sequence[Candidates], free: Sequence[Mask], rows: Sequence[Rows]
) -> Votes:
    """Return the votes of pairs of rows for free candidates.

    Each argument contains that of base and that of head; the rows are counterparts in the same
    order.
    """
    base, head = map(_Uses, candidates, free, rows)
    _, ours, theirs = np.intersect1d(base.keys, head.keys, assume_unique=True, return_indices=True)
    size = 1 + len(candidates[1])
    pairs = np.sort(base.places[ours] * size + head.places[theirs])
    begins = np.flatnonzero(begins_of_runs(pairs))
    return Votes(*np.divmod(pairs[begins], size), np.diff(np.append(begins, len(pairs))))


class _Uses:
    """The free candidates on which rows of one side depend by a name that is unique in the row.

    ``keys`` are hashes of the row number and the name, ``places`` the indices of the candidates.
    """

    def __init__(self, candidates: Candidates, free: Mask, rows: Rows) -> None:
        side, nodes = candidates.side, rows.astype(np.int64)
        graph = side.graph
        place_of = np.full(graph.num_nodes, _NONE, np.int64)
        place_of[candidates.rows[free]] = np.flatnonzero(free)
        counts = graph.down.starts[nodes + 1] - graph.down.starts[nodes]
        owners = np.repeat(np.arange(len(nodes)), counts)
        targets = graph.targets[graph.down.edges_of(nodes)]
        is_user = np.zeros(len(nodes), np.bool_)
        is_user[owners[place_of[targets] != _NONE]] = True
        owners, targets = owners[is_user[owners]], targets[is_user[owners]]
        names = node_fingerprints(side, "package")[node_codes(side, "package")[targets]]
        keys = mixed(owners.astype(np.uint64), names)
        order = np.argsort(keys, kind="stable")
        bounds = np.append(np.flatnonzero(begins_of_runs(keys[order])), len(order))
        chosen = order[bounds[:-1][np.diff(bounds) == 1]]
        chosen = chosen[place_of[targets[chosen]] != _NONE]
        self.keys: Fingerprints = keys[chosen]
        self.places: Places = place_of[targets[chosen]]

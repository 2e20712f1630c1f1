"""Which cause of each spec is the main one, and the order of causes: what explains most first."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.cause import KINDS, CauseKind
from snapshots.changes.cause_walk import PairGraph
from snapshots.changes.involvement import Involvement, Totals
from snapshots.changes.own_causes import Numbers, OwnCauses
from snapshots.changes.own_facts import Facts
from snapshots.changes.pair_order import PairOrder


class Found(NamedTuple):
    """All that is found of the causes of some counterparts, which are the first pairs of the graph.

    ``facts`` are the own facts of each pair that differ. ``best`` is for each pair the cause, out
    of those that it has and leads to, that is involved in most counterparts, one of kind FORMAT
    where there is no other; ``main`` the main one
    of each counterpart. ``totals`` are those over all counterparts.
    """

    graph: PairGraph
    facts: Facts
    own: OwnCauses
    involvement: Involvement
    best: npt.NDArray[np.int32]
    main: Numbers
    totals: Totals


def main_causes(graph: PairGraph, facts: Facts, order: PairOrder, own: OwnCauses) -> Found:
    """Find the main causes, and number the causes: what explains most comes first."""
    size = len(own.names)
    involvement = Involvement(own, order, graph.num_starts)
    totals = involvement.totals()
    by_name = sorted(range(size), key=lambda number: own.names[number].order)
    names = np.empty(size, np.int64)
    names[by_name] = np.arange(size)
    # A format explains what nothing else does, of however many specs.
    is_format = np.array([name.kind is CauseKind.FORMAT for name in own.names], np.bool_)
    best = _best_causes(graph, order, own, np.lexsort((names, -totals.num_involved, is_format)))
    main = _main_causes(graph, facts, own, names, best)
    num_specs = np.bincount(main, minlength=size)
    numbers = np.lexsort((names, -totals.num_involved, -num_specs))
    places = np.empty(size, np.int64)
    places[numbers] = np.arange(size)
    named = OwnCauses([own.names[number] for number in numbers], own.pairs, places[own.numbers])
    involvement.renumber(numbers)
    totals = Totals(*(column[numbers] for column in totals))
    return Found(
        graph, facts, named, involvement, places[best].astype(np.int32), places[main], totals
    )


def _best_causes(graph: PairGraph, order: PairOrder, own: OwnCauses, by_most: Numbers) -> Numbers:
    """Return for each pair the first of some causes that it has or leads to."""
    ranks = np.empty(len(by_most), np.int64)
    ranks[by_most] = np.arange(len(by_most))
    best = np.full(graph.num_pairs, len(by_most), np.int64)
    np.minimum.at(best, own.pairs, ranks[own.numbers])
    order.spread(best, np.minimum)
    return by_most[best]


def _main_causes(
    graph: PairGraph, facts: Facts, own: OwnCauses, names: Numbers, best: Numbers
) -> Numbers:
    """Return the main cause of each counterpart; ``names`` are the places of causes by name."""
    main = best[: graph.num_starts].copy()
    is_own = own.pairs < graph.num_starts
    is_own[is_own] = facts[own.pairs[is_own]] != 0
    pairs, numbers = own.pairs[is_own], own.numbers[is_own]
    kinds = np.array([KINDS.index(name.kind) for name in own.names], np.int64)
    # Of several causes of one pair the first must stay, and numpy keeps what is assigned last.
    last_first = np.lexsort((names[numbers], kinds[numbers]))[::-1]
    main[pairs[last_first]] = numbers[last_first]
    return main

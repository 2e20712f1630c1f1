"""Why hashes differ: the causes of all pairs of counterparts, and which of them explain which.

``causes(b, h)`` of two nodes of one package are those of their own (``own_causes``) and, for each
dependency that both have with another hash on each side, the causes of that pair. A pair of which
one side states nothing (it is outside the cache) is a cause of kind EXTERNAL itself. Where nothing
at all is found at a pair and below it, it is one of kind UNKNOWN; where pairs lead to each other in
a circle, all of them are.
"""

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.node_columns import hash_keys
from snapshots.changes.cause import MOST_TOGETHER, CauseKind, CauseName
from snapshots.changes.cause_facts import own_changes, why_unknown
from snapshots.changes.cause_walk import walk
from snapshots.changes.facts import FieldChange
from snapshots.changes.main_causes import Found, main_causes
from snapshots.changes.own_causes import Numbers, own_causes
from snapshots.changes.own_facts import Facts, differing_facts
from snapshots.changes.pair_order import PairOrder
from snapshots.changes.paths import CauseStep, Paths
from snapshots.changes.sides import Side
from snapshots.frames.columns import Rows

__all__ = ["CauseCount", "CauseKind", "CauseLists", "CauseStep", "Causes", "find_causes"]

_NAME_BYTES = 600


class CauseCount(NamedTuple):
    """How many among some specs a cause is the main one of, and how many it is involved in."""

    number: int
    num_specs: int
    num_involved: int


class CauseLists(NamedTuple):
    """The causes of each of some specs: of number n, ``numbers`` from offset n to offset n + 1."""

    offsets: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]


def find_causes(base: Side, head: Side, base_rows: Rows, head_rows: Rows, own: Facts) -> "Causes":
    """Return the causes of pairs of counterparts.

    ``own`` are the own facts of each pair that differ, as ``own_facts`` tells them.
    """
    graph = walk(base, head, base_rows, head_rows)
    below = slice(graph.num_starts, None)
    of_rest = differing_facts(base, head, graph.base_nodes[below], graph.head_nodes[below])
    facts = np.concatenate((own.astype(np.uint16), of_rest))
    order = PairOrder(graph)
    found = own_causes(base, head, graph, facts, order.ends((facts != 0) | graph.is_external))
    return Causes(base, head, main_causes(graph, facts, order, found))


class Causes:
    """The causes of pairs of counterparts, what explains most first.

    They are sorted by ``num_specs``, ``num_involved``, both falling, package, kind, before and
    after, and numbered in this order. Each counterpart has one main cause: the sum of ``num_specs``
    is the number of counterparts. Specs are asked for by their row in head.
    """

    def __init__(self, base: Side, head: Side, found: Found) -> None:
        self._base, self._head = base, head
        self._graph, self._facts, self._own, self._involvement = found[:4]
        self._best, self._main, self._totals = found[4:]
        self._names = self._own.names
        num_specs = self._graph.num_starts
        self.head_rows: Rows = self._graph.head_nodes[:num_specs].astype(np.int32)
        self._specs = np.full(len(head.frame), -1, np.int32)
        self._specs[self.head_rows] = np.arange(num_specs)
        self._num_specs = np.bincount(self._main, minlength=len(self._names))
        has_best = self._best[self._own.pairs] == self._own.numbers
        ends = np.unique(self._own.pairs[has_best])
        self._paths = Paths(base, head, self._graph, self._best, ends)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def num_bytes(self) -> int:
        """About how much memory the causes take, without the two sides."""
        own = self._own.pairs, self._own.numbers
        arrays = *own, *self._totals, self._facts, self._best, self._main, self._specs
        own_bytes = sum(it.nbytes for it in arrays) + _NAME_BYTES * len(self)
        # The paths keep the graph of pairs once more, in both directions.
        return own_bytes + self._involvement.num_bytes + 3 * self._graph.num_bytes

    # -- causes

    def find(self, key: str) -> int | None:
        """Return the number of the cause with a key; None where there is none."""
        return self._keys.get(key)

    def select(
        self, kinds: Collection[CauseKind] | None = None, package: str | None = None
    ) -> list[int]:
        """Return the numbers of the causes of these kinds and this package."""
        return [
            number
            for number, name in enumerate(self._names)
            if (kinds is None or name.kind in kinds) and package in (None, name.package)
        ]

    @cached_property
    def _keys(self) -> dict[str, int]:
        return {name.key: number for number, name in enumerate(self._names)}

    @cached_property
    def _examples(self) -> Numbers:
        """The pair of each cause with the least hashes."""
        pairs = self._own.pairs
        nodes = self._graph.base_nodes[pairs], self._graph.head_nodes[pairs]
        keys = [
            hash_keys(side)[of_side]
            for side, of_side in zip((self._base, self._head), nodes, strict=True)
        ]
        last_first = np.lexsort(keys[::-1])[::-1]
        examples = np.empty(len(self), np.int64)
        examples[self._own.numbers[last_first]] = pairs[last_first]
        return examples

    def name_of(self, number: int) -> CauseName:
        """Return what a cause is."""
        name: CauseName = self._names[number]
        return name

    def together_with(self, number: int) -> list[int]:
        """Return the numbers of the causes that are involved in exactly the same specs.

        Of more than MOST_TOGETHER it is those that explain most.
        """
        alike = self._alike[self.set_of(number)][: MOST_TOGETHER + 1]
        return [other for other in alike if other != number][:MOST_TOGETHER]

    def num_together(self, number: int) -> int:
        """Return how many causes there are that are involved in exactly the same specs."""
        return len(self._alike[self.set_of(number)]) - 1

    def set_of(self, number: int) -> int:
        """Return the number of the set of specs that a cause is involved in."""
        return int(self._totals.sets[number])

    def facts_of(self, number: int) -> list[FieldChange]:
        """Return everything of the node itself that differs; the first of it gave the kind.

        Where several nodes have the cause, it is that of the one with the least hashes.
        """
        pair, nodes = self._example(number)
        return own_changes(self._base, self._head, nodes, int(self._facts[pair]))

    @cached_property
    def _alike(self) -> dict[int, list[int]]:
        """The numbers of the causes that share each set of specs."""
        alike: dict[int, list[int]] = {}
        for number, of_specs in enumerate(self._totals.sets.tolist()):
            alike.setdefault(of_specs, []).append(number)
        return alike

    def why_unknown(self, number: int) -> str | None:
        """Return why a cause of kind UNKNOWN is not known; None for the others."""
        if self.name_of(number).kind is not CauseKind.UNKNOWN:
            return None
        pair, nodes = self._example(number)
        is_cut = bool(self._graph.is_cut[pair])
        return why_unknown(self._base, self._head, nodes, is_cut=is_cut)

    def _example(self, number: int) -> tuple[int, tuple[int, int]]:
        pair = int(self._examples[number])
        return pair, (int(self._graph.base_nodes[pair]), int(self._graph.head_nodes[pair]))

    # -- specs

    def num_specs(self, number: int) -> int:
        """Return how many specs a cause is the main one of."""
        return int(self._num_specs[number])

    def num_involved(self, number: int) -> int:
        """Return how many specs a cause is involved in."""
        return int(self._totals.num_involved[number])

    def packages_of(self, number: int) -> tuple[str, ...]:
        """Return the packages of the specs that a cause is the main one of."""
        return tuple(self._head.frame.package.present(self.rows_of(number)))

    def rows_of(self, number: int, *, involved: bool = False) -> Rows:
        """Return the rows in head that a cause is the main one of, or that it is involved in."""
        if involved:
            return np.sort(self.head_rows[self._involvement.specs_of(number)])
        specs, offsets = self._by_main
        return np.sort(self.head_rows[specs[offsets[number] : offsets[number + 1]]])

    @cached_property
    def _by_main(self) -> tuple[Numbers, Numbers]:
        """The specs by their main causes, and where those of each cause begin among them."""
        offsets = np.concatenate(([0], np.cumsum(self._num_specs)))
        return np.argsort(self._main, kind="stable"), offsets

    def counted(self, head_rows: Rows | None = None) -> list[CauseCount]:
        """Return the causes of some rows, or of all, what explains most of them first.

        Main causes are those that the whole comparison found; causes of no row are left out.
        """
        if head_rows is None:
            involved = self._totals.num_involved.tolist()
            columns = (range(len(self)), self._num_specs.tolist(), involved)
            return list(map(CauseCount, *columns))
        specs = self._specs[head_rows].astype(np.int64)
        specs = specs[specs >= 0]
        num_specs = np.bincount(self._main[specs], minlength=len(self))
        num_involved = self._involvement.num_involved(specs)
        numbers = np.flatnonzero(num_involved)
        found = (numbers, num_specs[numbers], num_involved[numbers])
        counts = map(CauseCount, *(column.tolist() for column in found))
        return sorted(counts, key=lambda it: (-it.num_specs, -it.num_involved, it.number))

    def main_of(self, head_rows: Rows) -> npt.NDArray[np.int32]:
        """Return the main cause of each row; -1 where it has no counterpart."""
        specs = self._specs[head_rows]
        found = np.full(len(specs), -1, np.int32)
        found[specs >= 0] = self._main[specs[specs >= 0]]
        return found

    def involved_in(self, head_rows: Rows) -> CauseLists:
        """Return the causes that are involved in each row, the main one first, then in order."""
        specs = self._specs[head_rows].astype(np.int64)
        known = np.flatnonzero(specs >= 0)
        places, causes = self._involvement.causes_of(specs[known])
        is_other = causes != self._main[specs[known]][places]
        order = np.lexsort((causes, is_other, places))
        counts = np.zeros(len(specs), np.int64)
        counts[known] = np.bincount(places, minlength=len(known))
        return CauseLists(np.concatenate(([0], np.cumsum(counts))), causes[order].astype(np.int32))

    def path(self, head_row: int) -> list[CauseStep]:
        """Return a shortest chain of dependencies from a row to its main cause.

        Only itself where the cause is its own; nothing where it has no counterpart.
        """
        spec = int(self._specs[head_row])
        if spec < 0:
            return []
        if self._main[spec] != self._best[spec]:
            return [self._paths.step(spec)]
        return self._paths.of(spec)

    def paths(self, head_rows: Rows) -> list[list[CauseStep]]:
        """Return the path of each row."""
        return list(map(self.path, head_rows.tolist()))

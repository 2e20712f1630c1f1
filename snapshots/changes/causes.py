"""Causes of differing hashes: the causes of all pairs of counterparts, and which explain which.

``causes(b, h)`` of two nodes of one package are their own causes (``CauseNaming``) and, for each
dependency that both have with different hashes, the causes of that pair. If the source of one side
states nothing about a node of a pair (it is outside the cache), the pair itself is a cause of kind
EXTERNAL. A pair without any cause that leads to no other pair is a cause of kind UNKNOWN. If pairs
lead only to each other in a cycle, all of them are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.cause_graph import PairGraph, walk
from snapshots.changes.cause_names import (
    MAX_TOGETHER,
    OF_NO_PACKAGE,
    CauseName,
    CauseNaming,
    Numbers,
    OwnCauses,
    own_changes,
    why_unknown,
)
from snapshots.changes.involvement import WORD, Involvement, ranks
from snapshots.changes.pairings import FieldChange, code_of
from snapshots.changes.reasons import Reasoning
from snapshots.changes.sides import Facts, Side, differing_facts
from snapshots.frames.columns import Arrays, Mask, Rows
from snapshots.frames.graphs import Adjacency, BottomUpGraph, Nodes
from snapshots.models import CauseKind


def _best_of_pairs(
    graph: PairGraph, order: BottomUpGraph, own: OwnCauses, by_most: Numbers
) -> Numbers:
    """Return for each pair the first cause in ``by_most`` that it has or leads to."""
    places = ranks(by_most)
    best = np.full(graph.num_pairs, len(by_most), np.int64)
    np.minimum.at(best, own.pairs, places[own.numbers])
    order.spread(best, np.minimum)
    return by_most[best]


def _main_of_specs(
    graph: PairGraph, facts: Facts, own: OwnCauses, names: Numbers, best: Numbers
) -> Numbers:
    """Return the main cause of each counterpart; ``names`` are the ranks of the causes by name."""
    main = best[: graph.num_starts].copy()
    is_own = own.pairs < graph.num_starts
    is_own[is_own] = facts[own.pairs[is_own]] != 0
    pairs, numbers = own.pairs[is_own], own.numbers[is_own]
    kinds = np.array([code_of(name.kind) for name in own.names], np.int64)
    # The first of several causes of a pair must win, and numpy keeps the last assigned value.
    last_first = np.lexsort((names[numbers], kinds[numbers]))[::-1]
    main[pairs[last_first]] = numbers[last_first]
    return main


class CauseStep(msgspec.Struct, frozen=True):
    """A package on the path from a spec to a cause, and its nodes in the graphs of both sides."""

    name: str
    base_node: int | None
    head_node: int | None


class Paths(Arrays):
    """Finds shortest chains from pairs to the most frequent of the causes below them.

    ``best`` is the number of that cause for each pair; ``ends`` are the pairs that have it
    themselves. All pairs on a path to an end have the same best cause, so a single search covers
    all pairs.
    """

    def __init__(
        self, base: Side, head: Side, graph: PairGraph, best: npt.NDArray[np.int32], ends: Nodes
    ) -> None:
        self._sides = base, head
        self._graph = graph
        self._best = best
        self._ends = ends
        self._down = Adjacency(graph.sources, None, graph.targets, graph.num_pairs)

    def of(self, pair: int) -> list[CauseStep]:
        """Return a shortest chain from a pair to an end, including both.

        Among equally short chains, return the alphabetically first; among pairs of the same name,
        the one with the smaller hashes.
        """
        steps = [self.step(pair)]
        for distance in range(int(self._distances[pair]) - 1, -1, -1):
            targets = self._targets(pair)
            is_next = self._distances[targets] == distance
            is_next &= self._best[targets] == self._best[pair]
            pair = self._in_order(targets[is_next].tolist())[0]
            steps.append(self.step(pair))
        return steps

    @cached_property
    def _distances(self) -> npt.NDArray[np.int32]:
        """Number of steps from each pair to its nearest end; -1 if it has no path to one."""
        graph = self._graph
        edges = np.flatnonzero(self._best[graph.sources] == self._best[graph.targets])
        edges = edges[np.argsort(graph.targets[edges], kind="stable")]
        up = Adjacency(graph.targets[edges], None, graph.sources[edges], graph.num_pairs)
        distances = np.full(graph.num_pairs, -1, np.int32)
        distance, level = 0, self._ends
        while len(level):
            distances[level] = distance
            above = up.ends[up.edges_of(level)]
            level = np.unique(above[distances[above] < 0]).astype(np.int64)
            distance += 1
        return distances

    def to_all(self, pair: int, own: Mapping[int, Collection[int]]) -> dict[int, list[CauseStep]]:
        """Return a shortest chain from a pair to each cause that it has or leads to, by number.

        ``own`` maps pairs to their own causes. Among equally short chains, the one that ``of``
        would choose is returned.
        """
        chains: dict[int, list[CauseStep]] = {}
        above: dict[int, int | None] = {pair: None}
        level = [pair]
        while level:
            below: list[int] = []
            for end in level:
                if new := [number for number in own.get(end, ()) if number not in chains]:
                    chains |= dict.fromkeys(new, self._chain(end, above))
                targets = self._targets(end).tolist()
                nearest = self._in_order(target for target in targets if target not in above)
                above |= dict.fromkeys(nearest, end)
                below += nearest
            level = below
        return chains

    def _chain(self, end: int, above: Mapping[int, int | None]) -> list[CauseStep]:
        steps: list[CauseStep] = []
        pair: int | None = end
        while pair is not None:
            steps.append(self.step(pair))
            pair = above[pair]
        return steps[::-1]

    def _targets(self, pair: int) -> npt.NDArray[np.int32]:
        """Return the pairs that a pair leads to; a pair may occur twice."""
        start, stop = self._down.starts[pair : pair + 2]
        return self._down.ends[start:stop]

    def _in_order(self, pairs: Iterable[int]) -> list[int]:
        """Return each distinct pair once, ordered by name and hashes."""
        distinct = {*pairs}
        return sorted(distinct, key=self._order) if len(distinct) > 1 else [*distinct]

    def step(self, pair: int) -> CauseStep:
        """Return the step for a pair."""
        base_node, head_node = self._nodes(pair)
        frame, row = self._sides[0].at(base_node)
        return CauseStep(frame.package.at(row), base_node, head_node)

    def _order(self, pair: int) -> tuple[str, str, str]:
        rows = map(Side.at, self._sides, self._nodes(pair))
        before, after = (frame.hashes.at(row) for frame, row in rows)
        return self.step(pair).name, before, after

    def _nodes(self, pair: int) -> tuple[int, int]:
        return int(self._graph.base_nodes[pair]), int(self._graph.head_nodes[pair])


class CauseCount(msgspec.Struct, frozen=True):
    """The number of selected specs whose main cause a cause is, and in which it is involved."""

    number: int
    num_specs: int
    num_involved: int


class CauseLists(msgspec.Struct, frozen=True):
    """The causes of several specs: those of spec n are ``numbers[offsets[n] : offsets[n + 1]]``."""

    offsets: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]


class Causes(Arrays):
    """The causes of pairs of counterparts, most frequent first.

    They are sorted by ``num_specs`` and ``num_involved``, both descending, then by package, kind,
    before and after, and numbered in this order. Each counterpart has one main cause: the sum of
    ``num_specs`` is the number of counterparts. Specs are identified by their row in head; -1 is no
    spec.

    The counterparts and their differing own facts are those of ``reasoning``. For nodes that are
    apart, the architecture explains what no other cause explains.
    """

    def __init__(self, base: Side, head: Side, reasoning: Reasoning) -> None:
        pairs, apart = reasoning.counterparts, reasoning.apart
        # The counterparts are the first pairs of the graph.
        graph = walk(base, head, pairs.base_rows, pairs.head_rows)
        nodes = (of_side[graph.num_starts :] for of_side in (graph.base_nodes, graph.head_nodes))
        of_rest = differing_facts(base, head, *nodes, apart=apart)
        facts = np.concatenate((reasoning.differing, of_rest))
        self._base, self._head, self._graph, self._facts = base, head, graph, facts
        self._order = order = BottomUpGraph(graph.sources, graph.targets, graph.num_pairs)
        ends = order.ends((facts != 0) | graph.is_external)
        own = CauseNaming(base, head, graph).run(facts, ends, apart)
        size = len(own.names)
        self._involvement = Involvement(size, own.pairs, own.numbers, order, graph.num_starts)
        num_involved, sets = self._involvement.totals()
        by_name = ranks(sorted(range(size), key=lambda number: own.names[number].order))
        # An architecture or a format explains only what no other cause does, however many specs.
        is_last = np.array([name.kind in OF_NO_PACKAGE for name in own.names], np.bool_)
        by_most = np.lexsort((by_name, -num_involved, is_last))
        best = _best_of_pairs(graph, order, own, by_most)
        main = _main_of_specs(graph, facts, own, by_name, best)
        num_specs = np.bincount(main, minlength=size)
        numbers = np.lexsort((by_name, -num_involved, -num_specs))
        self._num_specs = num_specs[numbers]
        self._num_involved, self._sets = num_involved[numbers], sets[numbers]
        self._involvement.renumber(numbers)
        places = ranks(numbers)
        self._own = OwnCauses(
            [own.names[number] for number in numbers], own.pairs, places[own.numbers]
        )
        # The best of all causes that each pair has or leads to, and the main cause of each spec.
        self._best, self._main = places[best].astype(np.int32), places[main]
        self._names = self._own.names
        self.head_rows: Rows = graph.head_nodes[: graph.num_starts].astype(np.int32)
        # The last item is that of the row -1, for no row.
        self._specs = np.full(len(head.frame) + 1, -1, np.int32)
        self._specs[self.head_rows] = np.arange(graph.num_starts)
        has_best = self._best[own.pairs] == self._own.numbers
        self._paths = Paths(base, head, graph, self._best, np.unique(own.pairs[has_best]))

    def __len__(self) -> int:
        return len(self._names)

    # -- causes

    def find(self, key: str) -> int | None:
        """Return the number of the cause with a key; None if there is none."""
        return self._keys.get(key)

    def select(
        self, kinds: Collection[CauseKind] | None = None, package: str | None = None
    ) -> list[int]:
        """Return the numbers of the causes of the given kinds and package."""
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
        """For each cause, the pair with the smallest hashes."""
        pairs = self._own.pairs
        nodes = self._graph.base_nodes[pairs], self._graph.head_nodes[pairs]
        keys = (*map(Side.hash_keys, (self._base, self._head), nodes),)
        last_first = np.lexsort(keys[::-1])[::-1]
        examples = np.empty(len(self), np.int64)
        examples[self._own.numbers[last_first]] = pairs[last_first]
        return examples

    def name_of(self, number: int) -> CauseName:
        """Return the name of a cause."""
        return self._names[number]

    def together_with(self, number: int) -> list[int]:
        """Return the numbers of the causes that are involved in exactly the same specs.

        If there are more than MAX_TOGETHER, return the most frequent ones.
        """
        alike = self._alike[self.set_of(number)][: MAX_TOGETHER + 1]
        return [other for other in alike if other != number][:MAX_TOGETHER]

    def num_together(self, number: int) -> int:
        """Return the number of other causes that are involved in exactly the same specs."""
        return len(self._alike[self.set_of(number)]) - 1

    def set_of(self, number: int) -> int:
        """Return the number of the set of specs that a cause is involved in."""
        return int(self._sets[number])

    def facts_of(self, number: int) -> list[FieldChange]:
        """Return all differing own facts of the node of a cause; the first determined its kind.

        If several nodes have the cause, return those of the node with the smallest hashes.
        """
        pair, nodes = self._example(number)
        return own_changes(self._base, self._head, nodes, int(self._facts[pair]))

    @cached_property
    def _alike(self) -> dict[int, list[int]]:
        """The numbers of the causes that share each set of specs."""
        alike: dict[int, list[int]] = {}
        for number, of_specs in enumerate(self._sets.tolist()):
            alike.setdefault(of_specs, []).append(number)
        return alike

    def why_unknown(self, number: int) -> str | None:
        """Return why a cause of kind UNKNOWN is not known; None for other kinds."""
        if self.name_of(number).kind is not CauseKind.UNKNOWN:
            return None
        pair, nodes = self._example(number)
        is_cut = bool(self._graph.is_cut[pair])
        return why_unknown(self._base, self._head, nodes, is_cut=is_cut)

    def _example(self, number: int) -> tuple[int, tuple[int, int]]:
        pair = int(self._examples[number])
        return pair, (int(self._graph.base_nodes[pair]), int(self._graph.head_nodes[pair]))

    # -- shared nodes

    def pairs_of(self, groups: Numbers) -> Numbers:
        """Return for each pair the number that both of its nodes have in ``groups``, else -1.

        ``groups`` contains a number for each row, common to both sides; -1 for rows without one.
        """
        base, head = (
            np.where(nodes < len(groups), groups[np.minimum(nodes, len(groups) - 1)], -1)
            for nodes in (self._graph.base_nodes, self._graph.head_nodes)
        )
        return np.where(base == head, base, -1)

    def joined(self, items: Numbers, size: int) -> Mask:
        """Return which counterparts would become one spec if the pairs of an item became one.

        ``items`` contains the item of each pair, -1 for none; there are ``size`` items. The result
        has one row per counterpart and one column per item. A counterpart becomes one spec if it is
        a pair of the item, or if each path from it down to a cause passes through such a pair.
        """
        marked = np.flatnonzero(items >= 0)
        words, places = np.divmod(items[marked], WORD)
        bits = np.zeros((self._graph.num_pairs, -(-size // WORD)), np.uint64)
        bits[self._own.pairs] = ~np.uint64(0)
        masks = np.full_like(bits, ~np.uint64(0))
        masks[marked, words] = ~(np.uint64(1) << places.astype(np.uint64))

        def pass_over(pairs: Nodes) -> None:
            bits[pairs] &= masks[pairs]

        self._order.spread(bits, np.bitwise_or, pass_over)
        of_starts = np.ascontiguousarray(bits[: self._graph.num_starts]).view(np.uint8)
        mask: Mask = np.unpackbits(of_starts, axis=1, bitorder="little", count=size) == 0
        return mask

    # -- specs

    def num_specs(self, number: int) -> int:
        """Return the number of specs whose main cause a cause is."""
        return int(self._num_specs[number])

    def num_involved(self, number: int) -> int:
        """Return the number of specs in which a cause is involved."""
        return int(self._num_involved[number])

    def packages_of(self, number: int) -> tuple[str, ...]:
        """Return the packages of the specs whose main cause a cause is."""
        return tuple(self._head.frame.package.present(self.rows_of(number)))

    def rows_of(self, number: int, *, involved: bool = False) -> Rows:
        """Return the rows of head whose main cause a cause is, or in which it is involved."""
        if involved:
            return np.sort(self.head_rows[self._involvement.specs_of(number)])
        specs, offsets = self._by_main
        return np.sort(self.head_rows[specs[offsets[number] : offsets[number + 1]]])

    @cached_property
    def _by_main(self) -> tuple[Numbers, Numbers]:
        """The specs sorted by main cause, and the offset of each cause's first spec among them."""
        offsets = np.concatenate(([0], np.cumsum(self._num_specs)))
        return np.argsort(self._main, kind="stable"), offsets

    def counted(self, head_rows: Rows | None = None) -> list[CauseCount]:
        """Return the causes of some or all rows, most frequent among these rows first.

        Main causes are those of the entire comparison; causes that are involved in none of the rows
        are omitted.
        """
        if head_rows is None:
            involved = self._num_involved.tolist()
            return list(map(CauseCount, range(len(self)), self._num_specs.tolist(), involved))
        specs = self._specs[head_rows].astype(np.int64)
        specs = specs[specs >= 0]
        num_specs = np.bincount(self._main[specs], minlength=len(self))
        num_involved = self._involvement.num_involved(specs)
        numbers = np.flatnonzero(num_involved)
        columns = numbers.tolist(), num_specs[numbers].tolist(), num_involved[numbers].tolist()
        counts = map(CauseCount, *columns)
        return sorted(counts, key=lambda of: (-of.num_specs, -of.num_involved, of.number))

    def main_of(self, head_rows: Rows) -> npt.NDArray[np.int32]:
        """Return the main cause of each row; -1 if it has no counterpart."""
        specs = self._specs[head_rows]
        numbers = np.full(len(specs), -1, np.int32)
        numbers[specs >= 0] = self._main[specs[specs >= 0]]
        return numbers

    def involved_in(self, head_rows: Rows) -> CauseLists:
        """Return the causes that are involved in each row, the main cause first, then by number."""
        specs = self._specs[head_rows].astype(np.int64)
        paired = np.flatnonzero(specs >= 0)
        places, causes = self._involvement.items_of(specs[paired])
        is_other = causes != self._main[specs[paired]][places]
        order = np.lexsort((causes, is_other, places))
        counts = np.zeros(len(specs), np.int64)
        counts[paired] = np.bincount(places, minlength=len(paired))
        return CauseLists(np.concatenate(([0], np.cumsum(counts))), causes[order].astype(np.int32))

    def path(self, head_row: int) -> list[CauseStep]:
        """Return a shortest chain of dependencies from a row to its main cause.

        The chain is only the row itself if the cause is its own, and empty if it has no
        counterpart.
        """
        spec = int(self._specs[head_row])
        return [] if spec < 0 else self._path_from(spec)

    def path_between(self, base_node: int, head_node: int) -> list[CauseStep]:
        """Return the path from a pair of nodes to its main cause; empty if it is not reached."""
        graph = self._graph
        pairs = np.flatnonzero((graph.base_nodes == base_node) & (graph.head_nodes == head_node))
        return self._path_from(int(pairs[0])) if len(pairs) else []

    def _path_from(self, pair: int) -> list[CauseStep]:
        # If own facts of a node differ, they are its main cause.
        return [self._paths.step(pair)] if self._facts[pair] else self._paths.of(pair)

    def paths_to_all(self, head_row: int) -> dict[int, list[CauseStep]]:
        """Return a shortest chain from a row to each cause that is involved in it, by cause number.

        Among equally short chains, return the one that ``path`` would choose. Without a
        counterpart, the result is empty.
        """
        spec = int(self._specs[head_row])
        if spec < 0:
            return {}
        own: defaultdict[int, list[int]] = defaultdict(list)
        for pair, number in zip(self._own.pairs.tolist(), self._own.numbers.tolist(), strict=True):
            own[pair].append(number)
        return self._paths.to_all(spec, own)

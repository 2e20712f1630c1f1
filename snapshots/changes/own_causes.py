"""The causes that pairs of nodes have of their own: which pair has which, and how they are named.

What differs of a node itself is one cause, named by the first fact that differs; a new version
nearly always comes with a new recipe and other dependencies, and that is no second cause. Where the
dependencies are the first that differs, each that only one side has is a cause of the node. Where
nothing else explains a pair and its nodes were written in two formats of specs, which have other
hashes for the same content, that is its cause: one for all packages.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.node_columns import node_codes, node_fingerprints, known_values
from snapshots.changes.cause import CauseKind, CauseName
from snapshots.changes.cause_walk import PairGraph
from snapshots.changes.dependency_causes import dependency_causes
from snapshots.changes.edge_pairs import edges_of
from snapshots.changes.node_columns import frame_row
from snapshots.changes.own_facts import Facts, OwnFact, shapes
from snapshots.changes.sides import Side
from snapshots.frames.columns import Mask
from snapshots.frames.frame import Frame

Numbers = npt.NDArray[np.int64]

_ARCHITECTURE = (OwnFact.PLATFORM, OwnFact.OPERATING_SYSTEM, OwnFact.TARGET)
_COLUMNS = {
    CauseKind.VERSION: ("version",),
    CauseKind.RECIPE: (),
    CauseKind.VARIANTS: ("variants",),
    CauseKind.COMPILER: ("compiler",),
    CauseKind.TARGET: ("platform", "operating_system", "target"),
    CauseKind.EXTERNAL: ("version",),
    CauseKind.FORMAT: ("spec_format",),
    CauseKind.UNKNOWN: (),
}
"""The columns that before and after are told by."""

_KINDS = {
    OwnFact.VERSION: CauseKind.VERSION,
    OwnFact.PACKAGE_HASH: CauseKind.RECIPE,
    OwnFact.NAMESPACE: CauseKind.RECIPE,
    OwnFact.VARIANTS: CauseKind.VARIANTS,
    OwnFact.COMPILER: CauseKind.COMPILER,
    **dict.fromkeys(_ARCHITECTURE, CauseKind.TARGET),
}


class OwnCauses(NamedTuple):
    """The names of all causes, and which pair has which: ``pairs[n]`` has ``numbers[n]``."""

    names: Sequence[CauseName]
    pairs: Numbers
    numbers: Numbers


def own_causes(
    base: Side, head: Side, graph: PairGraph, facts: Facts, is_unknown: Mask
) -> OwnCauses:
    """Return the causes that pairs have of their own.

    ``facts`` are the own facts of each pair that differ, ``is_unknown`` marks those that are causes
    although none does.
    """
    return _Naming(base, head, graph).run(facts, is_unknown)


class _Naming:
    def __init__(self, base: Side, head: Side, graph: PairGraph) -> None:
        self._sides = base, head
        self._graph = graph
        self._nodes = graph.base_nodes, graph.head_nodes
        self._numbers: dict[CauseName, int] = {}
        self._found: list[tuple[Numbers, Numbers]] = []

    def run(self, facts: Facts, is_unknown: Mask) -> OwnCauses:
        first = facts & -facts
        are_of_other_formats = self._are_of_other_formats()
        for kind in _COLUMNS:
            named = [fact.value for fact, of_kind in _KINDS.items() if of_kind is kind]
            pairs: Mask = np.isin(first, named)
            if kind is CauseKind.EXTERNAL:
                pairs = self._graph.is_external
            elif kind is CauseKind.FORMAT:
                pairs = is_unknown & are_of_other_formats
            elif kind is CauseKind.UNKNOWN:
                pairs = is_unknown & ~are_of_other_formats
            self._add_simple(kind, np.flatnonzero(pairs))
        self._add_dependencies(np.flatnonzero(first == OwnFact.DEPENDENCIES.value))
        nothing = np.empty(0, np.int64)
        return OwnCauses(
            list(self._numbers),
            np.concatenate([nothing, *(pairs for pairs, _ in self._found)]),
            np.concatenate([nothing, *(numbers for _, numbers in self._found)]),
        )

    def _are_of_other_formats(self) -> Mask:
        """Return which pairs have nodes of two formats of specs, where both are known."""
        name = _COLUMNS[CauseKind.FORMAT][0]
        codes = [
            node_codes(side, name)[nodes]
            for side, nodes in zip(self._sides, self._nodes, strict=True)
        ]
        values = [node_fingerprints(side, name) for side in self._sides]
        are_known = [known_values(side, name) for side in self._sides]
        mask: Mask = values[0][codes[0]] != values[1][codes[1]]
        return mask & are_known[0][codes[0]] & are_known[1][codes[1]]

    def _add_simple(self, kind: CauseKind, pairs: Numbers) -> None:
        columns = [node_codes(self._sides[0], "package")[self._nodes[0][pairs]]]
        for side, nodes in zip(self._sides, self._nodes, strict=True):
            columns += [node_codes(side, it)[nodes[pairs]] for it in _COLUMNS[kind]]
        first, group = _grouped(columns)
        names = [self._named(kind, pair) for pair in pairs[first].tolist()]
        self._add(names, pairs, group)

    def _add_dependencies(self, pairs: Numbers) -> None:
        """Name what differs in the dependencies, once for each pair of shapes.

        Where a name stands twice, which of its edges is left over is no matter of the shape alone.
        """
        twice = self._graph.has_twice[pairs]
        columns: list[Any] = [np.where(twice, pairs, -1)]
        columns.append(node_codes(self._sides[0], "package")[self._nodes[0][pairs]])
        for side, nodes in zip(self._sides, self._nodes, strict=True):
            columns.append(shapes(side, nodes[pairs]))
        first, group = _grouped(columns)
        lists = [self._of_dependencies(pair) for pair in pairs[first].tolist()]
        for place in range(max(map(len, lists), default=0)):
            has_one = np.array([len(names) > place for names in lists])
            names = [names[place] for names in lists if len(names) > place]
            kept = has_one[group]
            self._add(names, pairs[kept], (np.cumsum(has_one) - 1)[group[kept]])

    def _add(self, names: Iterable[CauseName], pairs: Numbers, group: Numbers) -> None:
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        self._found.append((pairs, np.array(numbers, np.int64)[group]))

    def _named(self, kind: CauseKind, pair: int) -> CauseName:
        base, head = self._rows(pair)
        values = [
            [frame.columns[name].at(row) for name in _COLUMNS[kind]] for frame, row in (base, head)
        ]
        package = None if kind is CauseKind.FORMAT else base[0].package.at(base[1])
        return CauseName(kind, package, *_texts(kind, *values))

    def _of_dependencies(self, pair: int) -> list[CauseName]:
        (frame, row), _ = self._rows(pair)
        edges = [
            edges_of(side, int(nodes[pair]))
            for side, nodes in zip(self._sides, self._nodes, strict=True)
        ]
        return dependency_causes(frame.package.at(row), *edges)

    def _rows(self, pair: int) -> list[tuple[Frame, int]]:
        """Return for both nodes of a pair the frame and row that have their facts."""
        return [
            frame_row(side, int(nodes[pair]))
            for side, nodes in zip(self._sides, self._nodes, strict=True)
        ]


def _texts(
    kind: CauseKind, before: Sequence[Any], after: Sequence[Any]
) -> tuple[str | None, str | None]:
    """Return how both sides are told, of the values that they have in the kind's columns."""
    match kind:
        case CauseKind.RECIPE | CauseKind.UNKNOWN:
            return None, None
        case CauseKind.VARIANTS:
            return _only(before[0], after[0]), _only(after[0], before[0])
        case CauseKind.TARGET:
            return "-".join(before), "-".join(after)
        case CauseKind.FORMAT:
            return str(before[0]), str(after[0])
    return before[0], after[0]


def _only(variants: Sequence[str], others: Sequence[str]) -> str | None:
    return " ".join(sorted(set(variants).difference(others))) or None


def _grouped(columns: Sequence[npt.NDArray[Any]]) -> tuple[Numbers, Numbers]:
    """Return the first place of each distinct row of some columns, and which each place has."""
    group = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        distinct, codes = np.unique(column, return_inverse=True)
        _, group = np.unique(group * len(distinct) + codes, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    return first, group

"""What differs of the nodes themselves at a cause, and why nothing does where that is not known."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from snapshots.changes.edge_pairs import texts_of
from snapshots.changes.facts import FieldChange
from snapshots.changes.node_columns import frame_row
from snapshots.changes.own_facts import OwnFact, column_name
from snapshots.changes.sides import Side

CUT = "the dependencies differ in more ways than are followed"
NEITHER = "the source tells neither dependencies nor package hashes"
NO_DEPENDENCIES = "the source tells no dependencies"
NO_PACKAGE_HASHES = "the source tells no package hashes"
NOTHING = "nothing that the source tells of it differs"

# As plain numbers: an IntFlag makes an object of each ``&``.
_BITS = [(fact, int(fact)) for fact in OwnFact]


def own_changes(base: Side, head: Side, nodes: tuple[int, int], facts: int) -> list[FieldChange]:
    """Return the own facts of two nodes that differ, in the order of OwnFact.

    Of variants and dependencies only those are told that stand on one side; a dependency as its
    name, types and virtuals.
    """
    changes: list[FieldChange] = []
    for fact, bit in _BITS:
        if not facts & bit:
            continue
        before, after = (
            _value(side, node, fact) for side, node in zip((base, head), nodes, strict=True)
        )
        if fact is OwnFact.VARIANTS or fact is OwnFact.DEPENDENCIES:
            before, after = _only(before, after), _only(after, before)
        changes.append(FieldChange(column_name(fact), before, after))
    return changes


def why_unknown(base: Side, head: Side, nodes: tuple[int, int], *, is_cut: bool) -> str:
    """Return why nothing is found that two nodes differ in."""
    if is_cut:
        return CUT
    sides = list(zip((base, head), nodes, strict=True))
    has_edges = all(side.graph.known_nodes[node] for side, node in sides)
    has_hashes = all(_value(side, node, OwnFact.PACKAGE_HASH) is not None for side, node in sides)
    if has_edges:
        return NOTHING if has_hashes else NO_PACKAGE_HASHES
    return NO_DEPENDENCIES if has_hashes else NEITHER


def _value(side: Side, node: int, fact: OwnFact) -> Any:
    if fact is OwnFact.DEPENDENCIES:
        return texts_of(side, node)
    frame, row = frame_row(side, node)
    return frame.columns[column_name(fact)].at(row)


def _only(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted((Counter(texts) - Counter(others)).elements())

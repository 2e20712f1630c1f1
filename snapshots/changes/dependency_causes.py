"""What differs in the shape of the dependencies of two nodes, as causes of their package."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from snapshots.changes.cause import CauseKind, CauseName
from snapshots.changes.edge_pairs import Edge, pair_edges


def dependency_causes(package: str, base: Sequence[Edge], head: Sequence[Edge]) -> list[CauseName]:
    """Return the causes of a package in the dependencies of its two nodes, in their order.

    A dependency that only one side has is one, unless the other side gets a virtual package that it
    provides from a dependency of another name: then the provider changed, and both are told by
    that. Where both have the same dependencies, those with other types or virtuals are causes.
    """
    _, only_base, only_head = pair_edges(base, head)
    if not only_base and not only_head:
        return _with_other_edges(package, base, head)
    changed = _changed_providers(only_base, head)
    changed |= {(before, after) for after, before in _changed_providers(only_head, base)}
    old, new = ({pair[side] for pair in changed} for side in (0, 1))
    names = [CauseName(CauseKind.PROVIDER, package, *pair) for pair in changed]
    names += [
        CauseName(CauseKind.DEPENDENCY_ADDED, package, None, name)
        for name in {edge.name for edge in only_head} - new
    ]
    names += [
        CauseName(CauseKind.DEPENDENCY_REMOVED, package, name, None)
        for name in {edge.name for edge in only_base} - old
    ]
    return sorted(names, key=lambda name: name.order)


def _changed_providers(only: Sequence[Edge], others: Sequence[Edge]) -> set[tuple[str, str]]:
    """Return the names of what only one side has and of what provides for it on the other."""
    return {
        (edge.name, other.name)
        for edge in only
        for other in others
        if edge.name != other.name and not set(edge.virtuals).isdisjoint(other.virtuals)
    }


def _with_other_edges(package: str, base: Sequence[Edge], head: Sequence[Edge]) -> list[CauseName]:
    before, after = _by_name(base), _by_name(head)
    return [
        CauseName(_kind(before[name], after[name]), package, name, name)
        for name in sorted(before)
        if _properties(before[name]) != _properties(after[name])
    ]


def _kind(before: Sequence[Edge], after: Sequence[Edge]) -> CauseKind:
    """Return whether an edge of head has a type or a virtual that none of base has."""
    is_more = _types(after) & ~_types(before) or _virtuals(after) - _virtuals(before)
    return CauseKind.DEPENDENCY_ADDED if is_more else CauseKind.DEPENDENCY_REMOVED


def _types(edges: Sequence[Edge]) -> int:
    types = 0
    for edge in edges:
        types |= edge.types
    return types


def _virtuals(edges: Sequence[Edge]) -> set[str]:
    return {virtual for edge in edges for virtual in edge.virtuals}


def _properties(edges: Sequence[Edge]) -> list[tuple[int, tuple[str, ...]]]:
    return sorted((edge.types, edge.virtuals) for edge in edges)


def _by_name(edges: Sequence[Edge]) -> Mapping[str, list[Edge]]:
    found: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        found[edge.name].append(edge)
    return found

"""Names of causes: the kinds of causes, and which pairs of nodes have which causes of their own.

The differing own facts of a node are one cause, named by the first fact that differs: a new version
nearly always has a new recipe and other dependencies, which are not further causes. If the
dependencies are the first fact that differs, each dependency that only one side has is a cause. If
nothing else explains a pair of nodes that are apart, their architectures are the cause. If nothing
else explains a pair whose nodes were written in different formats of specs, which give the same
content different hashes, the formats are the cause. An architecture or format is one cause for all
packages.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.cause_graph import (
    EdgeEnd,
    PairGraph,
    edge_texts,
    edges_by_name,
    edges_of_each,
    pair_edges,
)
from snapshots.changes.pairings import FieldChange, code_of
from snapshots.changes.sides import (
    Apart,
    Facts,
    Side,
    are_unmatched,
    bits_of,
    differ_in,
    names_of,
    shapes,
)
from snapshots.frames.columns import Arrays, Mask
from snapshots.frames.dependencies import DependencyType
from snapshots.frames.frame import Frame
from snapshots.models import ARCHITECTURE, OWN_FACTS, CauseKind

OF_NO_PACKAGE = frozenset({CauseKind.ARCHITECTURE, CauseKind.FORMAT})
"""The kinds that explain only what no other cause does: one cause for all packages."""

MAX_TOGETHER = 50
"""Maximum number of causes that are listed together with another.

If everything changed, thousands may occur together, and each would list all others.
"""


class CauseName(msgspec.Struct, frozen=True):
    """The name of a cause, which identifies it.

    ``before`` and ``after`` are None if there was nothing, or if it is not known. They are

    - for VERSION and EXTERNAL the versions;
    - for VARIANTS those that only one side has, separated by spaces;
    - for COMPILER name@version, for TARGET and ARCHITECTURE platform-os-target;
    - for DEPENDENCY_ADDED and DEPENDENCY_REMOVED the dependency, on both sides if only the types or
      virtual packages of its edge differ, for PROVIDER the old and the new provider;
    - for FORMAT the versions of Spack's format of specs, which determines what a hash covers;
    - for RECIPE None, so that an edit is one cause for all versions and variants of the package,
      and for UNKNOWN None.

    ``package`` is None for the kinds in ``OF_NO_PACKAGE``.
    """

    kind: CauseKind
    package: str | None
    before: str | None = None
    after: str | None = None

    @property
    def order(self) -> tuple[str, int, str, str]:
        """A sort key: package, kind, before and after."""
        return self.package or "", code_of(self.kind), self.before or "", self.after or ""

    @property
    def key(self) -> str:
        """The name as one text, which never changes."""
        parts = (self.kind.value, self.package or "", self.before or "", self.after or "")
        return "|".join(part.replace("%", "%25").replace("|", "%7C") for part in parts)


def dependency_causes(
    package: str, base: Sequence[EdgeEnd], head: Sequence[EdgeEnd]
) -> list[CauseName]:
    """Return the sorted causes in the dependencies of the two nodes of a package.

    A dependency that only one side has is a cause. If a dependency of another name provides one of
    its virtual packages on the other side, the provider changed, which is one cause for both. If
    both sides have the same dependencies, those with other types or virtual packages are causes.
    """
    pairs = pair_edges(base, head)
    only_base, only_head = pairs.only_base, pairs.only_head
    if not only_base and not only_head:
        return _with_other_edges(package, base, head)
    changed = _changed_providers(only_base, head)
    changed |= {(before, after) for after, before in _changed_providers(only_head, base)}
    added = {edge.name for edge in only_head} - {after for _, after in changed}
    removed = {edge.name for edge in only_base} - {before for before, _ in changed}
    names = [CauseName(CauseKind.PROVIDER, package, *pair) for pair in changed]
    names += [CauseName(CauseKind.DEPENDENCY_ADDED, package, None, name) for name in added]
    names += [CauseName(CauseKind.DEPENDENCY_REMOVED, package, name, None) for name in removed]
    return sorted(names, key=lambda name: name.order)


def _changed_providers(only: Sequence[EdgeEnd], others: Sequence[EdgeEnd]) -> set[tuple[str, str]]:
    """Return pairs of names: dependencies of one side only, and their providers on the other."""
    return {
        (edge.name, other.name)
        for edge in only
        if edge.virtuals
        for other in others
        if edge.name != other.name and not set(edge.virtuals).isdisjoint(other.virtuals)
    }


def _with_other_edges(
    package: str, base: Sequence[EdgeEnd], head: Sequence[EdgeEnd]
) -> list[CauseName]:
    """Return the dependencies whose edges have other types or virtual packages.

    A dependency counts as added if an edge of head has a type or virtual package that no edge of
    base has.
    """
    names = []
    for before, after in edges_by_name(base, head):
        if sorted(map(_properties, before)) != sorted(map(_properties, after)):
            is_more = _features(after) - _features(before)
            kind = CauseKind.DEPENDENCY_ADDED if is_more else CauseKind.DEPENDENCY_REMOVED
            names.append(CauseName(kind, package, before[0].name, before[0].name))
    return sorted(names, key=lambda name: name.before or "")


def _properties(edge: EdgeEnd) -> tuple[int, tuple[str, ...]]:
    return edge.types, edge.virtuals


def _features(edges: Sequence[EdgeEnd]) -> set[DependencyType | str]:
    """Return the types and the virtual packages that any of the edges has."""
    types = {kind for edge in edges for kind in DependencyType if kind & edge.types}
    return types.union(*(edge.virtuals for edge in edges))


Numbers = npt.NDArray[np.int64]

_COLUMNS = {fact.cause: (name,) for name, fact in OWN_FACTS.items() if fact.cause} | {
    CauseKind.RECIPE: (),
    CauseKind.TARGET: ARCHITECTURE,
    CauseKind.EXTERNAL: ("version",),
    CauseKind.ARCHITECTURE: ARCHITECTURE,
    CauseKind.FORMAT: ("spec_format",),
    CauseKind.UNKNOWN: (),
}
"""The columns from which before and after are composed."""


class OwnCauses(Arrays, msgspec.Struct, frozen=True):
    """The names of all causes, and which pair has which: ``pairs[n]`` has ``numbers[n]``."""

    names: Sequence[CauseName]
    pairs: Numbers
    numbers: Numbers


class CauseNaming:
    """Names the causes that pairs of a graph have of their own."""

    def __init__(self, base: Side, head: Side, graph: PairGraph) -> None:
        self._graph = graph
        self._packages = base.column("package").codes[graph.base_nodes]
        self._sides = (base, graph.base_nodes), (head, graph.head_nodes)
        self._numbers: dict[CauseName, int] = {}
        self._pairs: list[tuple[Numbers, Numbers]] = []

    def run(self, facts: Facts, is_unknown: Mask, apart: Apart | None) -> OwnCauses:
        """Return the causes.

        ``facts`` are the differing own facts of each pair; ``is_unknown`` marks pairs that are
        causes although no own fact differs. For nodes that are ``apart``, their architectures are
        such a cause.
        """
        first = facts & -facts
        # The first applicable kind of those that explain only what no other cause does.
        unexplained = dict.fromkeys((*sorted(OF_NO_PACKAGE, key=code_of), CauseKind.UNKNOWN))
        for kind in unexplained:
            of_kind = is_unknown
            if kind is not CauseKind.UNKNOWN:
                pairs_of_nodes = *self._sides[0], *self._sides[1]
                differ = [differ_in(name, *pairs_of_nodes) for name in _COLUMNS[kind]]
                of_kind = is_unknown & np.logical_or.reduce(differ)
            if kind is CauseKind.ARCHITECTURE:
                of_kind &= are_unmatched(apart, self._graph.base_nodes, self._graph.head_nodes)
            unexplained[kind] = of_kind
            is_unknown = is_unknown & ~of_kind
        for kind in _COLUMNS:
            bits = bits_of(name for name, fact in OWN_FACTS.items() if fact.cause is kind)
            pairs: Mask = first & bits != 0
            if kind is CauseKind.EXTERNAL:
                pairs = self._graph.is_external
            elif (remaining := unexplained.get(kind)) is not None:
                pairs = remaining
            self._add_simple(kind, np.flatnonzero(pairs))
        self._add_dependencies(np.flatnonzero(first == bits_of(["dependencies"])))
        return OwnCauses(list(self._numbers), *map(np.concatenate, zip(*self._pairs, strict=True)))

    def _add_simple(self, kind: CauseKind, pairs: Numbers) -> None:
        columns = [self._packages[pairs]]
        for side, nodes in self._sides:
            columns += [side.column(name).codes[nodes[pairs]] for name in _COLUMNS[kind]]
        first, group = _grouped(columns)
        names = [self._named(kind, pair) for pair in pairs[first].tolist()]
        self._add(names, pairs, group)

    def _add_dependencies(self, pairs: Numbers) -> None:
        """Name the differing dependencies, once for each pair of shapes.

        If a name occurs twice, the shape does not determine which of its edges remain unpaired.
        """
        twice = self._graph.has_twice[pairs]
        shapes_of_sides = [shapes(side, nodes[pairs]) for side, nodes in self._sides]
        columns = [np.where(twice, pairs, -1), self._packages[pairs], *shapes_of_sides]
        first, group = _grouped(columns)
        chosen = pairs[first]
        edges = (edges_of_each(side, nodes[chosen]) for side, nodes in self._sides)
        side, nodes = self._sides[0]
        packages = side.column("package").values_at(nodes[chosen])
        lists = list(map(dependency_causes, packages, *edges))
        for place in range(max(map(len, lists), default=0)):
            has_one = np.array([len(names) > place for names in lists])
            names = [names[place] for names in lists if len(names) > place]
            is_named = has_one[group]
            self._add(names, pairs[is_named], (np.cumsum(has_one) - 1)[group[is_named]])

    def _add(self, names: Iterable[CauseName], pairs: Numbers, group: Numbers) -> None:
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        self._pairs.append((pairs, np.array(numbers, np.int64)[group]))

    def _named(self, kind: CauseKind, pair: int) -> CauseName:
        rows, names = self._rows(pair), _COLUMNS[kind]
        values = [[frame.columns[name].at(row) for name in names] for frame, row in rows]
        frame, row = rows[0]
        package = None if kind in OF_NO_PACKAGE else frame.package.at(row)
        return CauseName(kind, package, *_before_and_after(kind, *values))

    def _rows(self, pair: int) -> list[tuple[Frame, int]]:
        """Return for both nodes of a pair the frame and row that contain their facts."""
        return [side.at(int(nodes[pair])) for side, nodes in self._sides]


def _before_and_after(
    kind: CauseKind, before: Sequence[Any], after: Sequence[Any]
) -> tuple[str | None, str | None]:
    """Return before and after as texts, from the values in the kind's columns."""
    match kind:
        case CauseKind.RECIPE | CauseKind.UNKNOWN:
            return None, None
        case CauseKind.VARIANTS:
            return _only_variants(before[0], after[0]), _only_variants(after[0], before[0])
        case CauseKind.TARGET | CauseKind.ARCHITECTURE:
            return "-".join(before), "-".join(after)
        case CauseKind.FORMAT:
            return str(before[0]), str(after[0])
    return before[0], after[0]


def _only_variants(variants: Sequence[str], others: Sequence[str]) -> str | None:
    return " ".join(sorted(set(variants).difference(others))) or None


def _grouped(columns: Sequence[npt.NDArray[Any]]) -> tuple[Numbers, Numbers]:
    """Return the first index of each distinct row of some columns, and the group of each row."""
    group = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        distinct, codes = np.unique(column, return_inverse=True)
        _, group = np.unique(group * len(distinct) + codes, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    return first, group


CUT = "the dependencies differ in more ways than are followed"
NEITHER = "the source lists neither dependencies nor package hashes"
NO_DEPENDENCIES = "the source does not list dependencies"
NO_PACKAGE_HASHES = "the source does not list package hashes"
NOTHING = "nothing that the source reports of it differs"


def own_changes(base: Side, head: Side, nodes: tuple[int, int], facts: int) -> list[FieldChange]:
    """Return the differing own facts of two nodes, in the order of their ranks.

    For variants and dependencies, they contain the items that only one side has; a dependency is
    represented by its name, types and virtual packages.
    """
    changes: list[FieldChange] = []
    for name in names_of(facts):
        before, after = (
            fact_value(side, node, name) for side, node in zip((base, head), nodes, strict=True)
        )
        if isinstance(before, list | tuple):
            before, after = _only_texts(before, after), _only_texts(after, before)
        changes.append(FieldChange(name, before, after))
    return changes


def why_unknown(base: Side, head: Side, nodes: tuple[int, int], *, is_cut: bool) -> str:
    """Return why no difference between two nodes is found."""
    if is_cut:
        return CUT
    sides = list(zip((base, head), nodes, strict=True))
    has_edges = all(side.graph.known_nodes[node] for side, node in sides)
    has_hashes = all(fact_value(side, node, "package_hash") is not None for side, node in sides)
    return what_is_unstated(has_edges=has_edges, has_hashes=has_hashes) or NOTHING


def what_is_unstated(*, has_edges: bool, has_hashes: bool) -> str | None:
    """Return a phrase for unstated dependencies and package hashes; None if both are stated."""
    if has_edges:
        return None if has_hashes else NO_PACKAGE_HASHES
    return NO_DEPENDENCIES if has_hashes else NEITHER


def fact_value(side: Side, node: int, name: str) -> Any:
    """Return an own fact of a node; for dependencies, name, types and virtual packages of each."""
    if name == "dependencies":
        return edge_texts(side, node)
    frame, row = side.at(node)
    return frame.columns[name].at(row)


def _only_texts(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted((Counter(texts) - Counter(others)).elements())

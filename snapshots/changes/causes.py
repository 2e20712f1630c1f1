"""Causes of differing hashes: the causes of all pairs of counterparts, and which explain which.

``causes(b, h)`` of two nodes of one package are their own causes (``CauseNaming``) and, for each
dependency that both have with different hashes, the causes of that pair. If the source of one side
states nothing about a node of a pair (it is outside the cache), the pair itself is a cause of kind
EXTERNAL. A pair without any cause that leads to no other pair is a cause of kind UNKNOWN.

The differing own facts of a node are one cause, named by the first fact that differs: a new version
nearly always has a new recipe and other dependencies, which are not further causes. If the
dependencies are the first fact that differs, each dependency that only one side has is a cause. If
no own fact differs, but something else that the hash covers (``documents``), that is the cause.

The architectures of nodes that are apart, and differences in how Spack writes all specs, are causes
of all pairs that have them. They are one cause for all packages, and main causes only of specs
without any other.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import FactBits, Mask, Numbers, Rows
from snapshots.changes.cause_graph import (
    EdgeEnd,
    PairGraph,
    edge_texts,
    edges_by_name,
    edges_of_each,
    pair_edges,
    walk,
)
from snapshots.changes.documents import (
    COMPILER_DEPENDENCIES,
    COMPILER_FACTS,
    EQUAL,
    Documents,
    Named,
    Values,
    compare_documents,
    document_changes,
    external_name,
    groups_of,
    other_name,
    target_name,
)
from snapshots.changes.involvement import WORD, Involvement, ranks
from snapshots.changes.pairings import FieldChange, code_of
from snapshots.changes.reasons import Reasoning
from snapshots.changes.sides import (
    Side,
    are_unmatched,
    became_dependencies,
    bits_of,
    differ_in,
    differing_facts,
    has_compiler,
    is_tool,
    names_of,
    shapes,
    shapes_without_tools,
)
from snapshots.frames.columns import Arrays, distinct_codes
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import Adjacency, BottomUpGraph, bottom_up_levels
from snapshots.models import ARCHITECTURE, OWN_FACTS, CauseKind
from snapshots.spack.names import natural_key

# -- names


LAST = frozenset({CauseKind.ARCHITECTURE, CauseKind.FORMAT})
"""The kinds that are main causes only of specs without any other cause."""

MAX_TOGETHER = 50
"""Maximum number of causes that are listed together with another.

If everything changed, thousands may occur together, and each would list all others.
"""


class CauseName(msgspec.Struct, frozen=True):
    """The name of a cause, which identifies it.

    ``before`` and ``after`` are None if there was nothing, or if it is not known. They are

    - for VERSION the versions;
    - for EXTERNAL the paths, modules and attributes that differ, or the versions if one side states
      only the hash;
    - for REPOSITORY the namespaces;
    - for VARIANTS those that only one side has, separated by spaces;
    - for COMPILER name@version, for TARGET and ARCHITECTURE platform-os-target;
    - for DEPENDENCY_ADDED and DEPENDENCY_REMOVED the dependency, on both sides if only the types or
      virtual packages of its edge differ, for PROVIDER the old and the new provider;
    - for FORMAT the versions of Spack's format of specs, which determines what a hash covers; the
      target, with what only that side says of it; or how both sides write a part of a document;
    - for RECIPE None, so that an edit is one cause for all versions and variants of the package,
      and for UNKNOWN None.

    ``package`` is None for COMPILER and ARCHITECTURE, and for FORMAT unless one package has it.
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


def without_direction(cause: CauseName) -> CauseName:
    """Return a cause of twins, neither of which comes first: one name for both directions."""
    if cause.kind in (CauseKind.DEPENDENCY_ADDED, CauseKind.DEPENDENCY_REMOVED):
        name = cause.after if cause.before is None else cause.before
        both = name if cause.before == cause.after else None
        return CauseName(CauseKind.DEPENDENCY_ADDED, cause.package, both, name)
    sides = sorted(
        (cause.before, cause.after), key=lambda side: (side is None, natural_key(side or ""))
    )
    return CauseName(cause.kind, cause.package, *sides)


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


_COLUMNS = {fact.cause: (name,) for name, fact in OWN_FACTS.items() if fact.cause} | {
    CauseKind.RECIPE: (),
    CauseKind.TARGET: ARCHITECTURE,
    CauseKind.EXTERNAL: ("version",),  # of a side that states only the hash
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


_OF_NO_PACKAGE = LAST | {CauseKind.COMPILER}


class CauseNaming:
    """Names the causes that pairs of a graph have of their own."""

    def __init__(self, base: Side, head: Side, graph: PairGraph) -> None:
        self._graph = graph
        self._packages = base.column("package").codes[graph.base_nodes]
        self._sides = (base, graph.base_nodes), (head, graph.head_nodes)
        self._numbers: dict[CauseName, int] = {}
        self._pairs: list[tuple[Numbers, Numbers]] = []

    def run(self, facts: FactBits, documents: Documents, apart: Mask, ends: Mask) -> OwnCauses:
        """Return the causes.

        ``facts`` are the differing own facts of each pair, ``apart`` marks pairs of nodes that are
        apart and have different architectures, and ``ends`` pairs without any of these causes that
        lead to none.
        """
        first = facts & -facts
        is_equal = ends & documents.are_whole & ~self._graph.is_cut
        others = {
            CauseKind.EXTERNAL: self._graph.is_external,
            CauseKind.ARCHITECTURE: apart,
            CauseKind.FORMAT: documents.formats,
            CauseKind.UNKNOWN: ends & ~is_equal,
        }
        for kind in _COLUMNS:
            bits = bits_of(name for name, fact in OWN_FACTS.items() if fact.cause is kind)
            pairs: Mask = others.get(kind, first & bits != 0)
            self._add_simple(kind, np.flatnonzero(pairs))
        self._add_dependencies(np.flatnonzero(first == bits_of(["dependencies"])))
        self._add_of_documents("targets", np.flatnonzero(documents.targets), target_name)
        self._add_of_documents("external", np.flatnonzero(documents.external), external_name)
        self._add_of_documents("other", np.flatnonzero(documents.other), other_name)
        self._add_compilers(np.flatnonzero(documents.compilers))
        equal = np.flatnonzero(is_equal)
        self._add([CauseName(*EQUAL)][: len(equal)], equal, np.zeros(len(equal), np.int64))
        return OwnCauses(list(self._numbers), *map(np.concatenate, zip(*self._pairs, strict=True)))

    def _add_of_documents(
        self, what: str, pairs: Numbers, name: Callable[[Values, Values], Named]
    ) -> None:
        """Name the differences of documents, once for each group of equal ones."""
        sides = self._sides
        columns = groups_of(what, sides[0][0], sides[1][0], [nodes[pairs] for _, nodes in sides])
        first, group = _grouped(columns)
        named = [name(*map(_values, self._rows(pair))) for pair in pairs[first].tolist()]
        self._add([CauseName(*parts) for parts in named], pairs, group)

    def _add_compilers(self, pairs: Numbers) -> None:
        """Name compilers that became dependencies, or the reverse."""
        head, nodes = self._sides[1]
        group = has_compiler(head, nodes[pairs]).astype(np.int64)
        sides = COMPILER_DEPENDENCIES, COMPILER_FACTS
        names = [
            CauseName(CauseKind.FORMAT, None, *sides),
            CauseName(CauseKind.FORMAT, None, *sides[::-1]),
        ]
        for number, cause in enumerate(names):
            chosen = pairs[group == number]
            self._add([cause][: len(chosen)], chosen, np.zeros(len(chosen), np.int64))

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
        became = became_dependencies(*self._sides[0], *self._sides[1])[pairs]
        shapes_of_sides = [shapes(side, nodes[pairs]) for side, nodes in self._sides]
        if became.any():
            # Compilers that became dependencies are a cause of their own, with what they bring.
            for shape, (side, nodes) in zip(shapes_of_sides, self._sides, strict=True):
                shape[became] = shapes_without_tools(side, nodes[pairs[became]])
        columns = [np.where(twice, pairs, -1), self._packages[pairs], became, *shapes_of_sides]
        first, group = _grouped(columns)
        chosen = pairs[first]
        edges = [edges_of_each(side, nodes[chosen]) for side, nodes in self._sides]
        for place in np.flatnonzero(became[first]).tolist():
            for of_side in edges:
                of_side[place] = [
                    edge
                    for edge in of_side[place]
                    if not is_tool(edge.name, edge.types, edge.virtuals)
                ]
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
        package = None if kind in _OF_NO_PACKAGE else frame.package.at(row)
        return CauseName(kind, package, *_before_and_after(kind, *values))

    def _rows(self, pair: int) -> list[tuple[Frame, int]]:
        """Return for both nodes of a pair the frame and row that contain their facts."""
        return [side.at(int(nodes[pair])) for side, nodes in self._sides]


def _values(at: tuple[Frame, int]) -> Values:
    frame, row = at
    return {name: column.at(row) for name, column in frame.columns.items()}


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
    first, group = distinct_codes(columns[0].astype(np.uint64))
    for column in columns[1:]:
        of_column, codes = distinct_codes(column.astype(np.uint64))
        first, group = distinct_codes(group * len(of_column) + codes)
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


# -- which causes explain which pairs


def _undirected(own: OwnCauses) -> OwnCauses:
    """Return the causes with one name for both directions."""
    numbers: dict[CauseName, int] = {}
    places = [numbers.setdefault(without_direction(name), len(numbers)) for name in own.names]
    merged = np.unique(np.stack([own.pairs, np.array(places, np.int64)[own.numbers]]), axis=1)
    return OwnCauses(list(numbers), *merged)


def _bottom_up(graph: PairGraph, base: DependencyGraph) -> BottomUpGraph:
    """Return the bottom-up order of a graph of pairs, by that of their nodes if it is smaller."""
    levels = None
    if len(graph.sources) > len(base.sources):
        nodes = list(bottom_up_levels(base.sources, base.targets, base.num_nodes))
        # The smallest type: numpy sorts numbers of 16 bits in linear time.
        level_of = np.zeros(base.num_nodes, np.min_scalar_type(len(nodes)))
        for number, level in enumerate(nodes):
            level_of[level] = number
        of_pairs = level_of[graph.base_nodes]
        stops = np.cumsum(np.bincount(of_pairs))
        levels = np.split(np.argsort(of_pairs, kind="stable"), stops[:-1])
    return BottomUpGraph(graph.sources, graph.targets, graph.num_pairs, levels)


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
    graph: PairGraph, facts: FactBits, own: OwnCauses, names: Numbers, best: Numbers
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
    """Finds shortest chains from pairs to the causes below them.

    ``best`` is the number of the most frequent cause below each pair. ``ends`` marks the pairs that
    have this cause themselves.
    """

    def __init__(
        self, base: Side, head: Side, graph: PairGraph, best: npt.NDArray[np.int32], ends: Mask
    ) -> None:
        self._sides = base, head
        self._graph = graph
        self._best = best
        self._ends = ends
        self._down = Adjacency(graph.sources, None, graph.targets, graph.num_pairs)

    def to_best(self, pair: int) -> list[CauseStep]:
        """Return a shortest chain from a pair to its most frequent cause, including both.

        Among equally short chains, return the alphabetically first; among pairs of the same name,
        the one with the smaller hashes.
        """
        # All pairs on the path have the same best cause.
        walk = self._walk(pair, lambda targets: targets[self._best[targets] == self._best[pair]])
        return next(self._chain(end, above) for end, above in walk if self._ends[end])

    def to_all(self, pair: int, own: Mapping[int, Collection[int]]) -> dict[int, list[CauseStep]]:
        """Return a shortest chain from a pair to each cause that it has or leads to, by number.

        ``own`` maps pairs to their own causes. Among equally short chains, the one that ``to_best``
        would choose is returned.
        """
        chains: dict[int, list[CauseStep]] = {}
        for end, above in self._walk(pair, lambda targets: targets):
            if new := [number for number in own.get(end, ()) if number not in chains]:
                chains |= dict.fromkeys(new, self._chain(end, above))
        return chains

    def _walk(
        self, pair: int, chosen: Callable[[Rows], Rows]
    ) -> Iterator[tuple[int, Mapping[int, int | None]]]:
        """Yield the pairs that a pair leads to, nearest first, with the pair above each so far.

        ``chosen`` returns those of some targets that are followed.
        """
        above: dict[int, int | None] = {pair: None}
        level = [pair]
        while level:
            below: list[int] = []
            for end in level:
                yield end, above
                targets = chosen(self._targets(end)).tolist()
                nearest = self._in_order(target for target in targets if target not in above)
                above |= dict.fromkeys(nearest, end)
                below += nearest
            level = below

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

    The counterparts and their differing own facts are those of ``reasoning``. With
    ``are_twins``, neither side comes first, and a cause is the same in both directions.
    """

    def __init__(
        self, base: Side, head: Side, reasoning: Reasoning, *, are_twins: bool = False
    ) -> None:
        pairs, apart = reasoning.counterparts, reasoning.apart
        # The counterparts are the first pairs of the graph.
        graph = walk(base, head, pairs.base_rows, pairs.head_rows)
        nodes = (of_side[graph.num_starts :] for of_side in (graph.base_nodes, graph.head_nodes))
        of_rest = differing_facts(base, head, *nodes, apart=apart)
        facts = np.concatenate((reasoning.differing, of_rest))
        self._base, self._head, self._graph, self._facts = base, head, graph, facts
        self._order = order = _bottom_up(graph, base.graph)
        documents = compare_documents(base, head, graph, facts)
        of_base, of_head = graph.base_nodes, graph.head_nodes
        is_apart = are_unmatched(apart, of_base, of_head)
        if apart is not None:
            pairs_of_nodes = base, of_base, head, of_head
            is_apart &= np.logical_or.reduce(
                [differ_in(name, *pairs_of_nodes) for name in ARCHITECTURE]
            )
        ends = order.ends & (facts == 0) & ~(graph.is_external | documents.differ | is_apart)
        own = CauseNaming(base, head, graph).run(facts, documents, is_apart, ends)
        if are_twins:
            own = _undirected(own)
        size = len(own.names)
        self._involvement = Involvement(size, own.pairs, own.numbers, order, graph.num_starts)
        num_involved, sets = self._involvement.totals()
        by_name = ranks(sorted(range(size), key=lambda number: own.names[number].order))
        # An architecture or a format explains only what no other cause does, however many specs.
        is_last = np.array([name.kind in LAST for name in own.names], np.bool_)
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
        has_best = np.zeros(graph.num_pairs, np.bool_)
        has_best[own.pairs[self._best[own.pairs] == self._own.numbers]] = True
        self._paths = Paths(base, head, graph, self._best, has_best)

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

        If none differs, return what else differs in the documents of its node.

        If several nodes have the cause, return those of the node with the smallest hashes.
        """
        pair, nodes = self._example(number)
        if self._facts[pair]:
            return own_changes(self._base, self._head, nodes, int(self._facts[pair]))
        if self._graph.is_external[pair] or self.name_of(number).kind is CauseKind.UNKNOWN:
            return []
        sides = zip((self._base, self._head), nodes, strict=True)
        return document_changes(*(_values(side.at(node)) for side, node in sides))

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

        def pass_over(pairs: Numbers) -> None:
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
        return [self._paths.step(pair)] if self._facts[pair] else self._paths.to_best(pair)

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

"""Comparison of two specs of any two contents: differences, causes, and shared dependencies.

Differing own facts, and the causes below, are those of counterparts. Among the dependencies, nodes
with the same hash are shared; the others are paired by name like the edges of two nodes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from snapshots.arrays import Numbers
from snapshots.changes.cause_graph import EdgeEnd, PairedEdges, edges_of_each, pair_edges
from snapshots.changes.causes import CauseStep, fact_value, own_changes
from snapshots.changes.explanation import Explanation, explain_pairs
from snapshots.changes.pairings import FieldChange
from snapshots.changes.sides import Side, differing_facts, equal_nodes
from snapshots.frames.dependencies import EachLevel
from snapshots.frames.hashes import texts_of
from snapshots.models import OWN_FACTS
from snapshots.spack.notation import variant_parts

if TYPE_CHECKING:
    from deepdiff import DeepDiff

Document = dict[str, Any]

VARIANTS, DEPENDENCIES = "variants", "dependencies"

BELOW, HASHES = "below", "hashes"
"""Keys of a document: differing own facts of dependencies, and the hashes of all dependencies."""

PATH_SEPARATOR = "/"
"""The separator of the names of a path in a document; none of the names contains it."""


MAX_NESTED = 5_000
"""Maximum number of dependencies, nearest first, in a document; real specs reach about 400."""


class ChangedDependency(msgspec.Struct, frozen=True):
    """A direct dependency with another hash, type or virtual package, or of only one spec.

    ``path`` leads from it down to its main cause. It is empty if both specs depend on the same
    hash, or if one of them does not have the dependency.
    """

    name: str
    before: EdgeEnd | None
    after: EdgeEnd | None
    path: Sequence[CauseStep] = ()


class SharedDependencies(msgspec.Struct, frozen=True):
    """All nodes that two specs reach over any edge, without themselves.

    ``shared`` are the nodes of base whose hash both reach. ``differing`` are pairs of nodes of one
    package with different hashes, ``only_base`` and ``only_head`` the remaining nodes of each.
    """

    shared: Numbers
    differing: Sequence[tuple[EdgeEnd, EdgeEnd]]
    only_base: Sequence[EdgeEnd]
    only_head: Sequence[EdgeEnd]


class SpecPair:
    """Two specs, as rows of two contents, which may be the same content.

    ``names`` are the names of their packages; all pairs are of base and head. ``each_level`` passes
    on the levels of walks through the graphs, and may end a walk with an error.
    """

    def __init__(
        self, base: Side, base_row: int, head: Side, head_row: int, *, each_level: EachLevel = iter
    ) -> None:
        self._each_level = each_level
        self.sides = base, head
        self.rows = base_row, head_row
        self.names = base.frame.package.at(base_row), head.frame.package.at(head_row)
        self.hashes = base.frame.hashes.at(base_row), head.frame.hashes.at(head_row)

    @property
    def are_known(self) -> bool:
        """Whether the sources of both specs state their dependencies."""
        sides = zip(self.sides, self.rows, strict=True)
        return all(side.graph.known_nodes[row] for side, row in sides)

    # -- own facts

    @cached_property
    def _own_changes(self) -> list[FieldChange]:
        nodes = [np.array([row]) for row in self.rows]
        facts = differing_facts(*self.sides, *nodes)
        return own_changes(*self.sides, self.rows, int(facts[0]))

    @property
    def facts(self) -> list[FieldChange]:
        """The differing own facts without variants and dependencies; the package name first.

        A fact that either source does not state does not differ.
        """
        name = [FieldChange("name", *self.names)] if self.names[0] != self.names[1] else []
        lists = (VARIANTS, DEPENDENCIES)
        return name + [change for change in self._own_changes if change.path not in lists]

    @property
    def variants(self) -> FieldChange:
        """The variants that only base has, and those that only head has."""
        changes = (change for change in self._own_changes if change.path == VARIANTS)
        return next(changes, FieldChange(VARIANTS, [], []))

    # -- dependencies and causes

    @cached_property
    def _edges(self) -> PairedEdges:
        rows = (np.array([row]) for row in self.rows)
        (base,), (head,) = map(edges_of_each, self.sides, rows)
        return pair_edges(base, head)

    @cached_property
    def explanation(self) -> Explanation:
        """The causes of the different hashes.

        For two packages, these are the causes of the different hashes of their common dependencies.
        Two specs with the same hash have no causes.
        """
        before, after = self.names
        is_led = before == after or any(old.hash != new.hash for old, new in self._edges.both)
        is_pair = is_led and self.hashes[0] != self.hashes[1]
        rows = (np.array([row] if is_pair else [], np.int32) for row in self.rows)
        return explain_pairs(*self.sides, *rows)

    @cached_property
    def dependencies(self) -> list[ChangedDependency]:
        """The direct dependencies that differ, by name; none if those of a spec are unknown."""
        if not self.are_known:
            return []
        edges, causes = self._edges, self.explanation.causes
        changed = [ChangedDependency(edge.name, edge, None) for edge in edges.only_base]
        changed += [ChangedDependency(edge.name, None, edge) for edge in edges.only_head]
        for old, new in edges.both:
            if old.hash != new.hash:
                path = causes.path_between(old.node, new.node)
                changed.append(ChangedDependency(old.name, old, new, path))
            elif (old.types, old.virtuals) != (new.types, new.virtuals):
                changed.append(ChangedDependency(old.name, old, new))
        return sorted(changed, key=lambda change: change.name)

    @cached_property
    def paths(self) -> list[Sequence[CauseStep]]:
        """A shortest path from the two specs to each cause, in the order of the causes."""
        causes = self.explanation.causes
        by_cause = causes.paths_to_all(self.rows[1])
        return [by_cause[number] for number in range(len(causes))]

    # -- below

    @cached_property
    def below(self) -> SharedDependencies:
        """The nodes that both specs reach: shared ones, pairs that differ, and the others."""
        base, head = (
            side.graph.reached_from(row, transitive=True, each_level=self._each_level).nodes
            for side, row in zip(self.sides, self.rows, strict=True)
        )
        partners = equal_nodes(*self.sides)[base]
        is_shared = np.isin(partners, head)
        others = base[~is_shared], head[~np.isin(head, partners)]
        pairs = pair_edges(*map(_ends, self.sides, others))
        return SharedDependencies(base[is_shared], pairs.both, pairs.only_base, pairs.only_head)

    @property
    def _nearest_below(self) -> SharedDependencies:
        below = self.below
        return SharedDependencies(
            below.shared,
            below.differing[:MAX_NESTED],
            below.only_base[:MAX_NESTED],
            below.only_head[:MAX_NESTED],
        )

    @cached_property
    def documents(self) -> tuple[Document, Document]:
        """The two specs as documents, without values that are equal or that only one source states.

        A document contains the facts of the spec by name, ``variants`` by name, and
        ``dependencies``, their types and virtual packages, by package. ``below`` contains the same
        for each package that the spec reaches, and ``hashes`` the hash of each. The second node of
        a package is named ``NAME#2``.
        """
        base, head = _documents([FieldChange("name", *self.names), *self._own_changes])
        below = self._nearest_below
        names = [*_distinct(old.name for old, _ in below.differing)]
        base[HASHES] = dict(zip(names, (old.hash for old, _ in below.differing), strict=True))
        head[HASHES] = dict(zip(names, (new.hash for _, new in below.differing), strict=True))
        base[BELOW], head[BELOW] = self._own_facts_below(names)
        for side, document, ends in zip(
            self.sides, (base, head), (below.only_base, below.only_head), strict=True
        ):
            for name, end in zip(_distinct((end.name for end in ends), names), ends, strict=True):
                document[HASHES][name] = end.hash
                document[BELOW][name] = _facts_at(side, end.node)
        base["hash"], head["hash"] = self.hashes
        return base, head

    def _own_facts_below(self, names: Sequence[str]) -> tuple[Document, Document]:
        """Return the differing own facts of each pair of dependencies, by name."""
        pairs = self._nearest_below.differing
        nodes = np.array([(old.node, new.node) for old, new in pairs], np.int64).reshape(-1, 2)
        facts = differing_facts(*self.sides, *nodes.T).tolist()
        base, head = {}, {}
        for name, (old, new), of_pair in zip(names, pairs, facts, strict=True):
            if of_pair:
                changes = own_changes(*self.sides, (old.node, new.node), of_pair)
                base[name], head[name] = _documents(changes)
        return base, head

    @cached_property
    def _deepdiff(self) -> "DeepDiff":
        # Deferred: importing it takes longer than comparing.
        from deepdiff import DeepDiff

        # Hundreds of hashes, one per name, would take longer than everything else.
        base, head = (
            {name: value for name, value in document.items() if name != HASHES}
            for document in self.documents
        )
        return DeepDiff(base, head, verbose_level=2, threshold_to_diff_deeper=0)

    @cached_property
    def _changed_hashes(self) -> list[FieldChange]:
        before, after = (document[HASHES] for document in self.documents)
        return [
            FieldChange(name, before.get(name), after.get(name))
            for name in sorted({*before, *after})
        ]

    @property
    def nested_changes(self) -> list[FieldChange]:
        """The nested difference as a list sorted by path, for example ``below/zlib-ng/version``.

        A value that only one document has is None in the other.
        """
        # Deferred: importing it takes longer than comparing.
        from deepdiff.helper import notpresent

        changes = [
            FieldChange(
                PATH_SEPARATOR.join(change.path(output_format="list")),
                *(None if value is notpresent else value for value in (change.t1, change.t2)),
            )
            for changes in self._deepdiff.tree.values()
            for change in changes
        ]
        hashes = [
            FieldChange(PATH_SEPARATOR.join((HASHES, change.path)), change.before, change.after)
            for change in self._changed_hashes
        ]
        return sorted([*changes, *hashes], key=lambda change: change.path)


def variant_changes(variants: FieldChange) -> list[FieldChange]:
    """Return one change per differing variant, by name; the paths are those of a document."""
    before, after = (dict(map(variant_parts, side)) for side in (variants.before, variants.after))
    return [
        FieldChange(PATH_SEPARATOR.join((VARIANTS, name)), before.get(name), after.get(name))
        for name in sorted({*before, *after})
    ]


def dependency_changes(
    changes: Iterable[FieldChange],
) -> Iterator[tuple[str, list[tuple[Sequence[str], FieldChange]]]]:
    """Yield the nested changes of each dependency, with the rest of their paths."""
    split = ((change.path.split(PATH_SEPARATOR), change) for change in changes)
    below = [(names[1], (names[2:], change)) for names, change in split if names[0] == BELOW]
    for name, inside in groupby(below, key=itemgetter(0)):
        yield name, sorted((change for _, change in inside), key=_order)


def _order(changed: tuple[Sequence[str], FieldChange]) -> tuple[int, Sequence[str]]:
    names, _ = changed
    return OWN_FACTS[names[0]].rank if names else 0, names


def _ends(side: Side, nodes: Numbers) -> list[EdgeEnd]:
    """Return nodes as the ends of edges without types and virtual packages."""
    names, versions = (side.column(name).values_at(nodes) for name in ("package", "version"))
    texts = texts_of(side.hash_words(nodes))
    numbered = zip(names, texts, versions, nodes.tolist(), strict=True)
    return [EdgeEnd(name, 0, (), text, version, node) for name, text, version, node in numbered]


def _documents(changes: Iterable[FieldChange]) -> tuple[Document, Document]:
    """Return both sides of changes as documents, without equal values."""
    base: Document = {}
    head: Document = {}
    for change in changes:
        if change.before != change.after:
            for document, value in ((base, change.before), (head, change.after)):
                document[change.path] = _nested(change.path, value)
    return base, head


def _facts_at(side: Side, node: int) -> Document:
    """Return all known own facts of a node."""
    facts = ((name, fact_value(side, node, name)) for name in OWN_FACTS)
    return {name: _nested(name, value) for name, value in facts if value is not None}


def _nested(name: str, value: Any) -> Any:
    """Return the value of a fact in a document: variants and dependencies are keyed by name."""
    if name == VARIANTS:
        return dict(map(variant_parts, value))
    if name == DEPENDENCIES:
        ends = [text.partition(" ")[::2] for text in value]
        names = _distinct(package for package, _ in ends)
        return dict(zip(names, (edge for _, edge in ends), strict=True))
    return value


def _distinct(names: Iterable[str], others: Iterable[str] = ()) -> Iterator[str]:
    """Yield distinct names: a second occurrence, including ``others``, is ``NAME#2``, and so on."""
    counts = Counter(name.partition("#")[0] for name in others)
    for name in names:
        counts[name] += 1
        yield name if counts[name] == 1 else f"{name}#{counts[name]}"

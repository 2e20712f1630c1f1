"""The changes between two states, and their causes, decided spec by spec as docs/causes.md says."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Set
from enum import Enum, auto
from functools import cached_property, lru_cache
from itertools import pairwise, product
from json import loads
from typing import Any, NamedTuple

from msgspec.structs import replace

from snapshots.models import Dependency, Spec
from snapshots.spack.versions import version_key
from tests.model.states import (
    State,
    architecture_of,
    depends_on_compiler,
    direct_names,
    has_own_compiler,
    is_to_compiler,
    stacks_of,
)

# -- the dependencies of two specs


class PairedEdges(NamedTuple):
    """The dependencies of two specs: of both, of the first alone, of the second alone."""

    common: list[tuple[Dependency, Dependency]]
    lost: list[Dependency]
    gained: list[Dependency]


def pair_edges(base: State, head: State, before: Spec, after: Spec) -> PairedEdges:
    """Pair the dependencies of two specs; none is lost or gained if a side states none."""
    paired = PairedEdges([], [], [])
    if before.dependencies is None or after.dependencies is None:
        return paired
    counts = [Counter(edge.name for edge in edges) for edges in _dependencies(before, after)]
    twice = {name for count in counts for name, number in count.items() if number > 1}

    def key(edge: Dependency) -> Hashable:
        return (edge.name, edge.types) if edge.name in twice else edge.name

    for common in {key(edge) for edge in (*before.dependencies, *after.dependencies)}:
        olds = [edge for edge in before.dependencies if key(edge) == common]
        news = [edge for edge in after.dependencies if key(edge) == common]
        for edge in list(olds):
            same = next((new for new in news if new.hash == edge.hash), None)
            if same is not None:
                olds.remove(edge)
                news.remove(same)
                paired.common.append((edge, same))
        olds.sort(key=lambda edge: _place(base, edge))
        news.sort(key=lambda edge: _place(head, edge))
        number = min(len(olds), len(news))
        paired.common.extend(zip(olds[:number], news[:number], strict=True))
        paired.lost.extend(olds[number:])
        paired.gained.extend(news[number:])
    return paired


def _dependencies(*specs: Spec) -> list[tuple[Dependency, ...]]:
    return [spec.dependencies or () for spec in specs]


def _place(state: State, edge: Dependency) -> tuple[object, ...]:
    """Return the sort key of dependencies with one name and one set of types."""
    node = state.nodes.get(edge.hash)
    version = (version_key(node.version), node.version) if node else ()
    return version, edge.hash, edge.virtuals


# -- own facts


class Kind(Enum):
    """Why a spec changed, in the order that determines the main one of several causes."""

    VERSION = auto()
    RECIPE = auto()
    REPOSITORY = auto()
    VARIANTS = auto()
    COMPILER = auto()
    TARGET = auto()
    DEPENDENCY_ADDED = auto()
    DEPENDENCY_REMOVED = auto()
    PROVIDER = auto()
    EXTERNAL = auto()
    ARCHITECTURE = auto()
    FORMAT = auto()
    UNKNOWN = auto()


LAST = (Kind.ARCHITECTURE, Kind.FORMAT)
"""Kinds that are main causes only of specs without another cause."""


class Cause(NamedTuple):
    """Why specs changed: one event in one package."""

    kind: Kind
    package: str | None
    before: str | None = None
    after: str | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """The sort key of causes by name."""
        return self.package or "", f"{self.kind.value:02}", self.before or "", self.after or ""


class Apart:
    """Decides which nodes belong to an architecture of one state alone, without a common stack."""

    def __init__(self, base: State, head: State) -> None:
        self._base, self._head = (
            set(map(architecture_of, state.specs.values())) for state in (base, head)
        )
        self._is_any = not base.stacks & head.stacks

    def __call__(self, before: Spec | None, after: Spec | None) -> bool:
        """Return whether both nodes do."""
        return (
            self._is_any
            and before is not None
            and after is not None
            and architecture_of(before) not in self._head
            and architecture_of(after) not in self._base
        )


ARCHITECTURE = ("platform", "operating_system", "target")


def own_differences(before: Spec, after: Spec, *, apart: bool = False) -> list[str]:
    """Return the own facts that both state and that differ, in the order of causes."""
    has_compiler = depends_on_compiler(before) or depends_on_compiler(after)
    compilers: list[object] = [
        None if has_compiler else str(spec.compiler) for spec in (before, after)
    ]
    if became_dependency(before, after):
        compilers = [before.compiler, after.compiler]
        before, after = without_tools(before), without_tools(after)
    facts: dict[str, list[object]] = {
        "version": [before.version, after.version],
        "package_hash": [before.package_hash, after.package_hash],
        "namespace": [before.namespace, after.namespace],
        "variants": [set(before.variants), set(after.variants)],
        "dependencies": [_shape(before), _shape(after)],
        "compiler": compilers,
        "platform": [before.platform, after.platform],
        "operating_system": [before.operating_system, after.operating_system],
        "target": [before.target, after.target],
    }
    left_out = ARCHITECTURE if apart else ()
    return [
        name
        for name, (old, new) in facts.items()
        if None not in (old, new) and old != new and name not in left_out
    ]


def _shape(spec: Spec) -> Counter[tuple[object, ...]] | None:
    if spec.dependencies is None:
        return None
    return Counter((edge.name, edge.types, edge.virtuals) for edge in spec.dependencies)


def became_dependency(before: Spec, after: Spec) -> bool:
    """Return whether the compiler is a fact of one spec and a dependency of the other."""
    return (has_own_compiler(before) and depends_on_compiler(after)) or (
        depends_on_compiler(before) and has_own_compiler(after)
    )


def without_tools(spec: Spec) -> Spec:
    """Return a spec without dependencies on compilers, and on what comes with them."""
    if spec.dependencies is None:
        return spec
    tools = ("compiler-wrapper", "gcc-runtime", "intel-oneapi-runtime")
    edges = [
        edge
        for edge in spec.dependencies
        if edge.name not in tools and "libc" not in edge.virtuals and not is_to_compiler(edge)
    ]
    return replace(spec, dependencies=tuple(edges))


def cause_of_writer(before: Spec, after: Spec) -> Iterator[Cause]:
    """Yield the causes in how Spack writes all specs: each is one for all packages."""
    old, new = before.spec_format, after.spec_format
    if old is not None and new is not None and old != new:
        yield Cause(Kind.FORMAT, None, str(old), str(new))
    if became_dependency(before, after):
        sides = ["compilers as facts", "compilers as dependencies"]
        yield Cause(Kind.FORMAT, None, *(sides if has_own_compiler(before) else sides[::-1]))
    if before.target == after.target and are_whole(before, after):
        descriptions = [set(words_of_target(spec)) for spec in (before, after)]
        if descriptions[0] != descriptions[1]:
            texts = [
                " features=".join(filter(None, (f"target={before.target}", ",".join(only))))
                for only in (
                    sorted(descriptions[0] - descriptions[1]),
                    sorted(descriptions[1] - descriptions[0]),
                )
            ]
            yield Cause(Kind.FORMAT, None, *texts)


def are_whole(*specs: Spec) -> bool:
    """Return whether the sources of specs have their whole documents."""
    return all(spec.spelling is not None for spec in specs)


def words_of_target(spec: Spec) -> list[str]:
    """Return the features that a document lists of its target."""
    texts = [part for part in spec.spelling or () if part.startswith("target=")]
    return [word for text in texts for word in loads(text.removeprefix("target="))["features"]]


def cause_of_document(before: Spec, after: Spec) -> Cause | None:
    """Return the cause in what differs besides own facts and the ways of a writer, if any."""
    if before.external_path != after.external_path:
        return Cause(Kind.EXTERNAL, after.name, before.external_path, after.external_path)
    if not are_whole(before, after):
        return None
    if before.patches != after.patches:
        sides = (
            f"patches={','.join(spec.patches)}" if spec.patches else None
            for spec in (before, after)
        )
        is_order = sorted(before.patches or ()) == sorted(after.patches or ())
        return Cause(Kind.FORMAT if is_order else Kind.VARIANTS, after.name, *sides)
    if before.build_spec != after.build_spec:
        sides = (
            f"build_spec={spec.build_spec}" if spec.build_spec else None for spec in (before, after)
        )
        return Cause(Kind.VARIANTS, after.name, *sides)
    if became_dependency(before, after) or (
        None not in (before.spec_format, after.spec_format)
        and (before.spec_format != after.spec_format)
    ):
        return None
    for name in ("package_hash", "namespace", "spec_format"):
        stated = [getattr(spec, name) is not None for spec in (before, after)]
        if stated[0] != stated[1]:
            return Cause(
                Kind.FORMAT, None, *(f"{'with' if known else 'without'} {name}" for known in stated)
            )
    return None


def architecture_cause(before: Spec | None, after: Spec | None) -> Cause | None:
    """Return the cause of two specs for two architectures; None for others."""
    if before is None or after is None or architecture_of(before) == architecture_of(after):
        return None
    sides = ("-".join(architecture_of(spec)) for spec in (before, after))
    return Cause(Kind.ARCHITECTURE, None, *sides)


def own_causes(
    before: Spec, after: Spec, edges: PairedEdges, *, apart: bool = False
) -> list[Cause]:
    """Return the causes of the first fact that differs between two specs, sorted by kind."""
    first = next(iter(own_differences(before, after, apart=apart)), None)
    package = after.name
    match first:
        case None:
            return []
        case "version":
            return [Cause(Kind.VERSION, package, before.version, after.version)]
        case "package_hash":
            return [Cause(Kind.RECIPE, package)]
        case "namespace":
            return [Cause(Kind.REPOSITORY, package, before.namespace, after.namespace)]
        case "variants":
            lost, gained = (
                " ".join(sorted(set(some.variants) - set(others.variants))) or None
                for some, others in ((before, after), (after, before))
            )
            return [Cause(Kind.VARIANTS, package, lost, gained)]
        case "compiler":
            return [Cause(Kind.COMPILER, None, before.compiler, after.compiler)]
        case "platform" | "operating_system" | "target":
            sides = ("-".join(architecture_of(spec)) for spec in (before, after))
            return [Cause(Kind.TARGET, package, *sides)]
    if became_dependency(before, after):
        before, after = without_tools(before), without_tools(after)
    causes = set(_dependency_causes(before, after, edges))
    return sorted(causes, key=lambda cause: (cause.kind.value, cause.order))


def _dependency_causes(before: Spec, after: Spec, edges: PairedEdges) -> Iterator[Cause]:
    package = after.name
    if not edges.lost and not edges.gained:
        yield from _edge_causes(before, after)
    switched = {(old.name, name) for old in edges.lost for name in _other_providers(old, after)}
    switched |= {(name, new.name) for new in edges.gained for name in _other_providers(new, before)}
    for names in switched:
        yield Cause(Kind.PROVIDER, package, *names)
    for name in {edge.name for edge in edges.gained} - {new for _, new in switched}:
        yield Cause(Kind.DEPENDENCY_ADDED, package, None, name)
    for name in {edge.name for edge in edges.lost} - {old for old, _ in switched}:
        yield Cause(Kind.DEPENDENCY_REMOVED, package, name, None)


def _other_providers(edge: Dependency, spec: Spec) -> set[str]:
    """Return the names of the other providers of a virtual that this edge provides."""
    return {
        other.name
        for other in spec.dependencies or ()
        if other.name != edge.name and set(other.virtuals) & set(edge.virtuals)
    }


def _edge_causes(before: Spec, after: Spec) -> Iterator[Cause]:
    """Yield the causes of edges to the same specs with other types or virtuals."""
    for name in {edge.name for edge in after.dependencies or ()}:
        olds, news = (
            [(edge.types, edge.virtuals) for edge in edges if edge.name == name]
            for edges in _dependencies(before, after)
        )
        if sorted(olds) != sorted(news):
            old_purposes, new_purposes = (
                {purpose for types, virtuals in edges for purpose in (*types, *virtuals)}
                for edges in (olds, news)
            )
            is_more = not new_purposes <= old_purposes
            kind = Kind.DEPENDENCY_ADDED if is_more else Kind.DEPENDENCY_REMOVED
            yield Cause(kind, after.name, name, name)


# -- counterparts

Fact = Callable[[Spec], Hashable]
Candidate = tuple[Spec, Spec]
Pair = tuple[str, str]
"""The hashes of two nodes, in base and in head."""


def _variants(spec: Spec) -> Hashable:
    return frozenset(spec.variants)


def _version(spec: Spec) -> Hashable:
    return spec.version


TIERS: tuple[tuple[Fact, ...], ...] = (
    (_variants, direct_names, _version),
    (_variants, direct_names),
    (_variants, _version),
    (_variants,),
    (direct_names, _version),
    (direct_names,),
    (_version,),
    (),
)
"""What counterparts have in common besides package and architecture, most first."""


MAX_ROUNDS = 10
"""Maximum number of times that counterparts are chosen again, with the votes of the last ones."""


@lru_cache(maxsize=64)
def counterparts(base: State, head: State) -> dict[str, str]:
    """Return the hash of the counterpart in base, by hash in head."""
    current = _chosen(base, head, Counter())
    for _ in range(MAX_ROUNDS):
        last, current = current, _chosen(base, head, votes(base, head, current))
        if current == last:
            break
    return current


def votes(base: State, head: State, pairs: Mapping[str, str]) -> Counter[Pair]:
    """Return the number of counterparts that depend on two specs, each by a unique name."""
    count: Counter[Pair] = Counter()
    for after, before in pairs.items():
        olds, news = map(_unique_dependencies, (base.specs[before], head.specs[after]))
        count.update((olds[name], news[name]) for name in olds.keys() & news.keys())
    return count


def _unique_dependencies(spec: Spec) -> dict[str, str]:
    """Return the hash of each dependency whose name is unique, by name."""
    names = Counter(edge.name for edge in spec.dependencies or ())
    return {edge.name: edge.hash for edge in spec.dependencies or () if names[edge.name] == 1}


def _chosen(base: State, head: State, votes: Counter[Pair]) -> dict[str, str]:
    """Return the counterparts if pairs have these votes."""
    removed = {digest: base.specs[digest] for digest in base.specs.keys() - head.specs.keys()}
    added = {digest: head.specs[digest] for digest in head.specs.keys() - base.specs.keys()}
    chosen: dict[str, str] = {}
    close = (_same_architecture, _common_stack, Apart(base, head))
    for is_close in close:
        for tier in TIERS:
            for olds, news in _by_common_key(removed.values(), added.values(), tier):
                candidates = [pair for pair in product(olds, news) if is_close(*pair)]
                for equals in _most_alike_first(base, head, candidates, votes):
                    free = [pair for pair in equals if pair[0] in removed and pair[1] in added]
                    for before, after in _smallest_first(free):
                        del removed[before], added[after]
                        chosen[after] = before
    return chosen


def _smallest_first(pairs: Iterable[Pair]) -> list[Pair]:
    """Return a one-to-one selection, by the smallest hash in base, then in head."""
    chosen: list[Pair] = []
    for before, after in sorted(pairs):
        if all(before != other and after != another for other, another in chosen):
            chosen.append((before, after))
    return chosen


def _same_architecture(before: Spec, after: Spec) -> bool:
    return architecture_of(before) == architecture_of(after)


def _common_stack(before: Spec, after: Spec) -> bool:
    return bool(stacks_of(before) & stacks_of(after))


def _by_common_key(
    olds: Iterable[Spec], news: Iterable[Spec], tier: Iterable[Fact]
) -> list[tuple[list[Spec], list[Spec]]]:
    groups: dict[Any, tuple[list[Spec], list[Spec]]] = {}
    for side, specs in enumerate((olds, news)):
        for spec in specs:
            key = spec.name, *(fact(spec) for fact in tier)
            groups.setdefault(key, ([], []))[side].append(spec)
    return [group for group in groups.values() if all(group)]


def _most_alike_first(
    base: State, head: State, candidates: list[Candidate], votes: Counter[Pair]
) -> list[list[Pair]]:
    """Return the hashes of candidates of one key, best first, in lists that only hashes order."""
    pairs = [(before.hash, after.hash) for before, after in candidates]
    if len(candidates) < 2:
        return [pairs]
    order = _version_places(base, head, candidates[0][0].name)
    by_rank: dict[tuple[Any, ...], list[Pair]] = {}
    for candidate, pair in zip(candidates, pairs, strict=True):
        rank = -votes[pair], *_rank(base, head, candidate, order)
        by_rank.setdefault(rank, []).append(pair)
    return [by_rank[rank] for rank in sorted(by_rank)]


def _rank(base: State, head: State, pair: Candidate, order: dict[str, int]) -> tuple[Any, ...]:
    """Return the sort key of candidates with equal votes, the most similar ones first."""
    before, after = pair
    old, new = order[before.version], order[after.version]
    return (
        -share(base.below(before), head.below(after)),
        -share(base.below(before, with_variants=True), head.below(after, with_variants=True)),
        -share(stacks_of(before), stacks_of(after)),
        -share(set(before.variants), set(after.variants)),
        abs(old - new),
        -new,
        -old,
    )


def share(some: Set[Any], others: Set[Any]) -> float:
    """Return the proportion of two sets that is common; 1 if they are equal, even if empty."""
    union = some | others
    return len(some & others) / len(union) if union else 1.0


def _version_places(base: State, head: State, package: str) -> dict[str, int]:
    """Return the rank of each version of a package on either side, in Spack's order."""
    specs = [*base.of_package(package), *head.of_package(package)]
    keys = sorted({(version_key(spec.version), spec.version) for spec in specs})
    return {version: place for place, (_, version) in enumerate(keys)}


# -- reasons


def added_reasons(
    base: State, head: State, returned: Collection[str] = frozenset()
) -> dict[str, str]:
    """Return the reason of each added spec; ``returned`` are hashes of earlier revisions."""
    replaced = counterparts(base, head)
    apart = Apart(base, head)
    reasons: dict[str, str] = {}
    for digest in head.specs.keys() - base.specs.keys():
        spec = head.specs[digest]
        if digest in replaced:
            before = base.specs[replaced[digest]]
            differences = own_differences(before, spec, apart=apart(before, spec))
            reasons[digest] = "replaces" if differences else "rebuilt"
        elif digest in returned:
            reasons[digest] = "returned"
        else:
            reasons[digest] = f"new_{_missing_part(base, spec)}"
    return reasons


def removed_reasons(base: State, head: State) -> dict[str, str]:
    """Return the reason of each removed spec."""
    replaced = set(counterparts(base, head).values())
    return {
        digest: "replaced"
        if digest in replaced
        else f"{_missing_part(head, base.specs[digest])}_gone"
        for digest in base.specs.keys() - head.specs.keys()
    }


def _missing_part(other: State, spec: Spec) -> str:
    """Return the largest property of a spec that the other side lacks."""
    of_package = other.of_package(spec.name)
    stacks = stacks_of(spec)
    if not of_package:
        return "package"
    if stacks and other.states_stacks and not stacks & other.stacks:
        return "stack"
    if all(spec.version != build.version for build in of_package):
        return "version"
    if all(architecture_of(spec) != architecture_of(build) for build in of_package):
        return "target"
    return "build"


# -- causes


class Causes:
    """The causes of specs with counterparts (base by head), determined pair by pair of nodes."""

    def __init__(
        self,
        base: State,
        head: State,
        counterparts: Mapping[str, str],
        rename: Callable[[Cause], Cause] = lambda cause: cause,
    ) -> None:
        self._base = base
        self._head = head
        self._apart = Apart(base, head)
        self._packages: dict[Pair, str] = {}
        self._edges: dict[Pair, PairedEdges] = {}
        self.starts = {after: (before, after) for after, before in counterparts.items()}
        self.below: dict[Pair, list[Pair]] = {}
        waiting = list(self.starts.values())
        for before, after in waiting:
            self._packages[before, after] = head.specs[after].name
        while waiting:
            pair = waiting.pop()
            if pair not in self.below:
                self.below[pair] = self._pairs_below(pair)
                waiting += self.below[pair]
        self._own = {pair: self._causes_at(pair) for pair in self.below}
        for pair in [pair for pair in self.below if self._ends_without_cause(pair)]:
            nodes = [node for node in self._nodes(pair) if node is not None]
            is_whole = len(nodes) == 2 and are_whole(*nodes)
            unknown = Cause(Kind.UNKNOWN, self._packages[pair])
            self._own[pair] = [Cause(Kind.FORMAT, None) if is_whole else unknown]
        for pair, causes in self._own.items():
            self._own[pair] = sorted(
                map(rename, causes), key=lambda cause: (cause.kind.value, cause.order)
            )

    def _nodes(self, pair: Pair) -> tuple[Spec | None, Spec | None]:
        return self._base.nodes.get(pair[0]), self._head.nodes.get(pair[1])

    def _pairs_below(self, pair: Pair) -> list[Pair]:
        before, after = self._nodes(pair)
        if before is None or after is None:
            return []
        self._edges[pair] = pair_edges(self._base, self._head, before, after)
        pairs: list[Pair] = []
        for old, new in self._edges[pair].common:
            if old.hash != new.hash:
                pairs.append((old.hash, new.hash))
                self._packages[pairs[-1]] = new.name
        return pairs

    def _causes_at(self, pair: Pair) -> list[Cause]:
        before, after = self._nodes(pair)
        if before is not None and after is not None:
            is_apart = self._apart(before, after)
            if became_dependency(before, after):
                stripped = without_tools(before), without_tools(after)
                edges = pair_edges(self._base, self._head, *stripped)
                causes = own_causes(before, after, edges, apart=is_apart)
            else:
                causes = own_causes(before, after, self._edges[pair], apart=is_apart)
            if not causes:
                causes += filter(None, [cause_of_document(before, after)])
            causes += cause_of_writer(before, after)
            architecture = architecture_cause(before, after) if is_apart else None
            return [*causes, *filter(None, [architecture])]
        versions = (node.version if node else None for node in (before, after))
        return [Cause(Kind.EXTERNAL, self._packages[pair], *versions)]

    @cached_property
    def reached(self) -> dict[Pair, set[Pair]]:
        """The pairs below each pair."""
        return {pair: self._reach(pair) for pair in self.below}

    def _reach(self, start: Pair) -> set[Pair]:
        reached: set[Pair] = set()
        waiting = list(self.below[start])
        while waiting:
            pair = waiting.pop()
            if pair not in reached:
                reached.add(pair)
                waiting += self.below[pair]
        return reached

    def _ends_without_cause(self, pair: Pair) -> bool:
        """Return whether a pair has no cause and leads to no other pair."""
        return not self._own[pair] and not self.reached[pair]

    # -- of one spec

    def own(self, pair: Pair) -> list[Cause]:
        """Return the causes at a pair itself, the main one first."""
        return self._own[pair]

    @cached_property
    def involved(self) -> dict[str, set[Cause]]:
        """The causes of each spec of head that has a counterpart."""
        return {
            digest: {cause for at in {pair, *self.reached[pair]} for cause in self._own[at]}
            for digest, pair in self.starts.items()
        }

    @cached_property
    def num_involved(self) -> Counter[Cause]:
        """The number of specs that each cause is involved in."""
        return Counter(cause for causes in self.involved.values() for cause in causes)

    @cached_property
    def main(self) -> dict[str, Cause]:
        """The main cause of each spec of head that has a counterpart."""
        return {digest: self._main(digest, pair) for digest, pair in self.starts.items()}

    def _main(self, digest: str, pair: Pair) -> Cause:
        """Return the first cause of the spec's own facts, or the cause involved in most specs."""
        before, after = self._base.nodes[pair[0]], self._head.nodes[pair[1]]
        if own_differences(before, after, apart=self._apart(before, after)):
            return self._own[pair][0]
        return self._most_involved(digest)

    def _most_involved(self, digest: str) -> Cause:
        def key(cause: Cause) -> tuple[object, ...]:
            return cause.kind in LAST, -self.num_involved[cause], cause.order

        return min(self.involved[digest], key=key)

    # -- of one cause

    def specs(self, cause: Cause) -> set[str]:
        """Return the specs that a cause is the main one of."""
        return {digest for digest, main in self.main.items() if main == cause}

    def involved_in(self, cause: Cause) -> set[str]:
        """Return the specs that a cause is involved in."""
        return {digest for digest, causes in self.involved.items() if cause in causes}

    def together(self, cause: Cause) -> set[Cause]:
        """Return the other causes that are involved in the same specs."""
        specs = self.involved_in(cause)
        others = self.num_involved.keys() - {cause}
        return {other for other in others if self.involved_in(other) == specs}

    def ordered(self) -> list[Cause]:
        """Return all causes, those that explain most specs first."""
        num_specs = Counter(self.main.values())
        return sorted(
            self.num_involved,
            key=lambda cause: (-num_specs[cause], -self.num_involved[cause], cause.order),
        )

    def packages(self, cause: Cause) -> set[str]:
        """Return the packages of the specs that a cause is the main one of."""
        return {self._head.specs[digest].name for digest in self.specs(cause)}

    def counted(self, digests: Collection[str]) -> dict[Cause, tuple[int, int]]:
        """Return for each cause of some specs how many it is the main one of, and involved in."""
        num_specs = Counter(self.main[digest] for digest in digests if digest in self.main)
        lists = [self.involved[digest] for digest in digests if digest in self.involved]
        num_involved = Counter(cause for causes in lists for cause in causes)
        return {cause: (num_specs[cause], number) for cause, number in num_involved.items()}

    def facts(self, cause: Cause) -> list[str]:
        """Return the facts that differ at the pair of smallest hashes at which a cause is."""
        pair = min(pair for pair, causes in self._own.items() if cause in causes)
        before, after = self._nodes(pair)
        if not before or not after:
            return []
        own = own_differences(before, after, apart=self._apart(before, after))
        if own or cause.kind is Kind.UNKNOWN:
            return own
        names = (
            "external_path",
            "patches",
            "build_spec",
            "package_hash",
            "namespace",
            "spec_format",
            "spelling",
        )
        return [name for name in names if getattr(before, name) != getattr(after, name)]

    # -- paths

    def distance(self, digest: str) -> int:
        """Return the number of steps from a spec to the nearest pair with its main cause."""
        cause = self.main[digest]
        steps, level = 0, {self.starts[digest]}
        while not any(cause in self._own[pair] for pair in level):
            level = {below for pair in level for below in self.below[pair]}
            steps += 1
        return steps

    def is_shortest_path(self, digest: str, path: Iterable[Pair]) -> bool:
        """Return whether a path of pairs is a shortest one from a spec to its main cause."""
        chain = list(path)
        return (
            chain[:1] == [self.starts[digest]]
            and all(pair in self.below[last] for last, pair in pairwise(chain))
            and self.main[digest] in self._own[chain[-1]]
            and len(chain) == self.distance(digest) + 1
        )

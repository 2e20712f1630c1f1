"""Naive answers to queries of one state, over records, sets and dictionaries."""

from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache

from snapshots.models import Spec
from snapshots.spack.names import natural_key
from tests.model.changes import Cause, Causes, Kind
from tests.model.listings import own_order
from tests.model.states import State, architecture_of, stacks_of

INSTALLED = {"link", "run"}


def reached(state: State, digest: str, types: Collection[str] = ()) -> set[str]:
    """Return the hashes that a spec depends on, by edges of some types if given."""
    seen: set[str] = set()
    waiting = [digest]
    while waiting:
        node = state.nodes.get(waiting.pop())
        for edge in (node.dependencies if node else None) or ():
            if edge.hash not in seen and (not types or {*types} & {*edge.types}):
                seen.add(edge.hash)
                waiting.append(edge.hash)
    return seen - {digest}


def is_external(spec: Spec | None) -> bool:
    """Return whether a spec is external, according to its source."""
    if spec is None:
        return False
    return spec.external_path is not None or spec.external_modules is not None


def holes(state: State, digests: Collection[str] | None = None) -> dict[str, set[str]]:
    """Return the specs that each hole affects, of some or of all in the cache."""
    affected: dict[str, set[str]] = {}
    for digest in state.specs if digests is None else digests:
        below = reached(state, digest, INSTALLED)
        for node in below:
            if node not in state.specs and not is_external(state.nodes.get(node)):
                affected.setdefault(node, set()).add(digest)
        for node in {digest, *below} & state.specs.keys():
            # A spliced spec is installed from the binary of what it was built as.
            _, _, built_as = (state.specs[node].build_spec or "").partition("/")
            if built_as and built_as not in state.specs:
                affected.setdefault(built_as, set()).add(digest)
    return affected


def whole(state: State) -> set[str]:
    """Return the specs that can be installed from the cache alone."""
    affected = set().union(*holes(state).values())
    unknown = {digest for digest, spec in state.specs.items() if spec.dependencies is None}
    return {
        digest
        for digest in state.specs.keys() - affected
        if unknown.isdisjoint({digest, *reached(state, digest, INSTALLED)})
    }


def names(state: State) -> dict[str, str]:
    """Return the package of each hash, also of those that only edges name."""
    edges = [edge for spec in state.nodes.values() for edge in spec.dependencies or ()]
    of_edges = {edge.hash: edge.name for edge in edges}
    return of_edges | {digest: spec.name for digest, spec in state.nodes.items()}


def rebuilt(state: State, packages: Collection[str]) -> set[str]:
    """Return the specs in the cache that a change of the packages would rebuild."""
    package_of = names(state)
    return {
        digest
        for digest in state.specs
        if any(package_of[node] in packages for node in {digest, *reached(state, digest)})
    }


def impacts(state: State) -> Counter[str]:
    """Return the number of specs that a change of each package would rebuild, if any."""
    package_of = names(state)
    counts: Counter[str] = Counter()
    for digest in state.specs:
        counts.update({package_of[node] for node in {digest, *reached(state, digest)}})
    return counts


# -- twins


def twins(state: State, digests: Collection[str] | None = None) -> dict[str, list[str]]:
    """Return the other twins of each first of its group; those with most dependents first."""
    groups: dict[object, list[str]] = {}
    for digest in state.specs if digests is None else digests:
        spec = state.specs[digest]
        key = (spec.name, spec.version, spec.variants, architecture_of(spec))
        groups.setdefault(key, []).append(digest)
    above = Counter(node for digest in state.specs for node in reached(state, digest))
    order: dict[str, list[str]] = {}
    for group in groups.values():
        first, *others = sorted(
            group,
            key=lambda digest: (-above[digest], -len(stacks_of(state.specs[digest])), digest),
        )
        if others:
            order[first] = sorted(others)
    own = [spec.hash for spec in own_order(state.specs[first] for first in order)]
    own.sort(key=lambda first: -sum(above[other] for other in order[first]))
    return {first: order[first] for first in own}


def causes_of_twins(state: State, groups: Mapping[str, list[str]]) -> Causes:
    """Return the causes of the differences between twins and the first of their group."""
    pairs = {other: first for first, others in groups.items() for other in others}
    return Causes(state, state, pairs, _either_way)


def _either_way(cause: Cause) -> Cause:
    """Return the same cause for a difference and its reverse."""
    other = cause._replace(before=cause.after, after=cause.before)
    if cause.kind in (Kind.DEPENDENCY_ADDED, Kind.DEPENDENCY_REMOVED):
        added = [one._replace(kind=Kind.DEPENDENCY_ADDED) for one in (cause, other)]
        return min(added, key=lambda one: one.before is not None)
    return min(cause, other, key=lambda one: (one.before is None, natural_key(one.before or "")))


def joined(causes: Causes, group: Collection[str]) -> set[str]:
    """Return the twins that would equal their first if the twins of a group did."""

    @cache
    def is_one(pair: tuple[str, str]) -> bool:
        if {*pair} <= {*group}:
            return True
        return not causes.own(pair) and all(map(is_one, causes.below[pair]))

    return {other for other, pair in causes.starts.items() if is_one(pair)}

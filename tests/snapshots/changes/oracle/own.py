"""Which facts of their own differ between two specs, and the causes that they are."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from snapshots.models import Dependency, Spec
from tests.snapshots.changes.oracle.edges import PairedEdges
from tests.snapshots.changes.oracle.states import architecture_of, depends_on_compiler


class Kind(Enum):
    """Why a spec changed, in the order that decides which of several causes is the main one."""

    VERSION = auto()
    RECIPE = auto()
    VARIANTS = auto()
    COMPILER = auto()
    TARGET = auto()
    DEPENDENCY_ADDED = auto()
    DEPENDENCY_REMOVED = auto()
    PROVIDER = auto()
    EXTERNAL = auto()
    FORMAT = auto()
    UNKNOWN = auto()


class Cause(NamedTuple):
    """Why specs changed: one thing that happened to one package."""

    kind: Kind
    package: str | None
    before: str | None = None
    after: str | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """What puts causes in the order of their names."""
        return self.package or "", f"{self.kind.value:02}", self.before or "", self.after or ""


def own_facts_differ(before: Spec, after: Spec) -> bool:
    """Tell whether anything differs but hashes of dependencies."""
    return bool(own_differences(before, after))


def own_differences(before: Spec, after: Spec) -> list[str]:
    """Return which facts of their own differ, in the order that names the cause.

    What one of the two does not state does not differ.
    """
    compilers = (
        [None, None]
        if depends_on_compiler(before) or depends_on_compiler(after)
        else [str(before.compiler), str(after.compiler)]
    )
    facts: dict[str, list[object]] = {
        "version": [before.version, after.version],
        "package_hash": [before.package_hash, after.package_hash],
        "namespace": [before.namespace, after.namespace],
        "variants": [set(before.variants), set(after.variants)],
        "dependencies": [_shape(before), _shape(after)],
        "compiler": [*compilers],
        "platform": [before.platform, after.platform],
        "operating_system": [before.operating_system, after.operating_system],
        "target": [before.target, after.target],
    }
    return [name for name, (old, new) in facts.items() if None not in (old, new) and old != new]


def format_cause(before: Spec | None, after: Spec | None) -> Cause | None:
    """Return the cause of two specs that were written in two formats; None for others."""
    formats = [it.spec_format if it else None for it in (before, after)]
    if None in formats or formats[0] == formats[1]:
        return None
    return Cause(Kind.FORMAT, None, *map(str, formats))


def own_causes(before: Spec, after: Spec, edges: PairedEdges) -> list[Cause]:
    """Return the causes that two specs are by themselves: those of the first fact that differs.

    Only a change of dependencies can be several; they come in the order of their kinds.
    """
    first = next(iter(own_differences(before, after)), None)
    package = after.name
    match first:
        case None:
            return []
        case "version":
            return [Cause(Kind.VERSION, package, before.version, after.version)]
        case "package_hash" | "namespace":
            return [Cause(Kind.RECIPE, package)]
        case "variants":
            lost, gained = (
                " ".join(sorted(set(some.variants) - set(others.variants))) or None
                for some, others in ((before, after), (after, before))
            )
            return [Cause(Kind.VARIANTS, package, lost, gained)]
        case "compiler":
            return [Cause(Kind.COMPILER, package, before.compiler, after.compiler)]
        case "platform" | "operating_system" | "target":
            sides = ("-".join(architecture_of(it)) for it in (before, after))
            return [Cause(Kind.TARGET, package, *sides)]
    causes = set(_dependency_causes(before, after, edges))
    return sorted(causes, key=lambda it: (it.kind.value, it.order))


def _dependency_causes(before: Spec, after: Spec, edges: PairedEdges) -> Iterator[Cause]:
    package = after.name
    if not edges.lost and not edges.gained:
        yield from _edge_causes(before, after)
    switched = {(old.name, it) for old in edges.lost for it in _other_providers(old, after)}
    switched |= {(it, new.name) for new in edges.gained for it in _other_providers(new, before)}
    for names in switched:
        yield Cause(Kind.PROVIDER, package, *names)
    for name in {edge.name for edge in edges.gained} - {new for _, new in switched}:
        yield Cause(Kind.DEPENDENCY_ADDED, package, None, name)
    for name in {edge.name for edge in edges.lost} - {old for old, _ in switched}:
        yield Cause(Kind.DEPENDENCY_REMOVED, package, name, None)


def _other_providers(edge: Dependency, spec: Spec) -> set[str]:
    """Return the names of what else provides to a spec a virtual that this edge provides."""
    return {
        it.name
        for it in spec.dependencies or ()
        if it.name != edge.name and set(it.virtuals) & set(edge.virtuals)
    }


def _edge_causes(before: Spec, after: Spec) -> Iterator[Cause]:
    """Yield the causes of edges that lead to the same, but not for the same types or virtuals."""
    for name in {edge.name for edge in after.dependencies or ()}:
        olds, news = (
            [(it.types, it.virtuals) for it in spec.dependencies or () if it.name == name]
            for spec in (before, after)
        )
        if sorted(olds) != sorted(news):
            old_purposes, new_purposes = (
                {purpose for types, virtuals in edges for purpose in (*types, *virtuals)}
                for edges in (olds, news)
            )
            is_more = not new_purposes <= old_purposes
            kind = Kind.DEPENDENCY_ADDED if is_more else Kind.DEPENDENCY_REMOVED
            yield Cause(kind, after.name, name, name)


def _shape(spec: Spec) -> Counter[tuple[object, ...]] | None:
    if spec.dependencies is None:
        return None
    return Counter((edge.name, edge.types, edge.virtuals) for edge in spec.dependencies)

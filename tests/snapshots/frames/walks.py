"""A walk over records that answers a query as ``snapshots.frames.queries`` answers it by masks."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from snapshots.models import Dependency, Spec
from snapshots.spack.query import DependencyConstraint, SpecConstraint
from snapshots.spack.versions import parse_versions
from tests.snapshots.records import has_facts

LANGUAGES = {"c", "cxx", "fortran"}

SOME_VERSIONS = ("0", "1.2", "1.2.5", "1.10", "3.1", "3.1.4", "9", "develop")
"""Some of these are in any two sets of versions of a random query or spec that have any in common.
"""


class Walk:
    """The records of a revision, and those outside of it that its source states."""

    def __init__(self, specs: Sequence[Spec], outside: Sequence[Spec]) -> None:
        self.specs = specs
        self._nodes = {spec.hash: spec for spec in (*outside, *specs)}
        self._in_cache = {spec.hash for spec in specs}

    def selected(self, constraint: SpecConstraint) -> set[str]:
        """Return the hashes of the specs that meet a query."""
        return {
            spec.hash
            for spec in self.specs
            if self._meets(constraint, spec)
            and all(self._has_transitive(spec, it) for it in constraint.transitive)
        }

    def _meets(self, constraint: SpecConstraint, spec: Spec) -> bool:
        return (
            has_facts(constraint, spec)
            and all(self._has_direct(spec, it) for it in constraint.direct)
            and all(
                not variant.contradicts(node.variants)
                for variant in constraint.variants
                if variant.propagate
                for node in (spec, *self._stated_below(spec))
            )
        )

    def _has_direct(self, spec: Spec, constraint: DependencyConstraint) -> bool:
        if self._is_of_old(spec):
            # All that is known of the compiler is its name and version.
            return spec.compiler is not None and constraint.spec.is_compiler(spec.compiler)
        return any(
            self._leads_to(edge, constraint.spec)
            and set(constraint.types) <= set(edge.types)
            and (not constraint.virtuals or bool(set(constraint.virtuals) & set(edge.virtuals)))
            for edge in spec.dependencies or ()
        )

    def _is_of_old(self, spec: Spec) -> bool:
        if spec.dependencies is None:
            return spec.hash in self._in_cache or spec.compiler is not None
        return spec.compiler is not None and not any(map(_is_to_compiler, spec.dependencies))

    def _has_transitive(self, spec: Spec, constraint: DependencyConstraint) -> bool:
        edges = [edge for edge in spec.dependencies or () if "build" in edge.types]
        edges += self._edges_below(spec, {"link", "run"})
        return any(
            self._leads_to(edge, constraint.spec) and set(constraint.virtuals) <= set(edge.virtuals)
            for edge in edges
        )

    def _edges_below(self, spec: Spec, types: set[str]) -> Iterator[Dependency]:
        seen = {spec.hash}
        waiting = [spec]
        while waiting:
            for edge in waiting.pop().dependencies or ():
                if not types & set(edge.types):
                    continue
                yield edge
                if edge.hash in self._nodes and edge.hash not in seen:
                    seen.add(edge.hash)
                    waiting.append(self._nodes[edge.hash])

    def _stated_below(self, spec: Spec) -> list[Spec]:
        edges = self._edges_below(spec, {"build", "link", "run", "test"})
        return [self._nodes[edge.hash] for edge in edges if edge.hash in self._nodes]

    def _leads_to(self, edge: Dependency, constraint: SpecConstraint) -> bool:
        node = self._nodes.get(edge.hash)
        if (
            constraint.name is not None
            and constraint.name in edge.virtuals
            and self._provides(edge, constraint)
        ):
            direct = node is not None and all(
                self._has_direct(node, it) for it in constraint.direct
            )
            if direct or not constraint.direct:
                return True
        if node is not None:
            return self._meets(constraint, node)
        return self._is_bare(edge, constraint)

    def _provides(self, edge: Dependency, constraint: SpecConstraint) -> bool:
        """Tell whether versions of a virtual package are provided; all are if none are stated."""
        node = self._nodes.get(edge.hash)
        if constraint.versions is None or node is None or node.provided_virtuals is None:
            return True
        for text in node.provided_virtuals:
            name, at, versions = text.partition("@")
            limits = parse_versions(versions) if at else None
            if name == constraint.name and any(
                constraint.versions.includes(it) and (limits is None or limits.includes(it))
                for it in SOME_VERSIONS
            ):
                return True
        return False

    def refuses(self, constraint: SpecConstraint) -> bool:
        """Tell whether a query is about versions of mpi that a provider does not state."""
        below = [it.spec for it in (*constraint.direct, *constraint.transitive)]
        is_about = any(it.name == "mpi" and it.versions is not None for it in below)
        providers = [
            self._nodes.get(edge.hash)
            for spec in self._nodes.values()
            for edge in spec.dependencies or ()
            if "mpi" in edge.virtuals
        ]
        are_stated = all(it is not None and it.provided_virtuals is not None for it in providers)
        return (is_about and not are_stated) or any(map(self.refuses, below))

    def _is_bare(self, edge: Dependency, constraint: SpecConstraint) -> bool:
        """Tell whether a spec without a record meets a query."""
        bare = SpecConstraint(
            name=constraint.name, versions=constraint.versions, hash_prefix=constraint.hash_prefix
        )
        if constraint != bare or constraint.name not in (None, edge.name):
            return False
        if constraint.versions is not None and not any(
            map(
                constraint.versions.includes,
                self._compiler_versions.get((edge.name, edge.hash), ()),
            )
        ):
            return False
        return edge.hash.startswith(constraint.hash_prefix or "")

    @cached_property
    def _compiler_versions(self) -> dict[tuple[str, str], list[str]]:
        """The versions of compilers, by name and hash, as what they compiled states them."""
        versions: dict[tuple[str, str], list[str]] = {}
        for spec in self.specs:
            name, _, version = (spec.compiler or "").partition("@")
            for edge in spec.dependencies or ():
                if edge.name == name and _is_to_compiler(edge):
                    versions.setdefault((name, edge.hash), []).append(version)
        return versions


def _is_to_compiler(edge: Dependency) -> bool:
    return "build" in edge.types and bool(LANGUAGES & set(edge.virtuals))

"""One side of a comparison as plain records, and properties of one side alone."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from snapshots.models import Dependency, Spec
from snapshots.spack.names import ROOT_STACK

LANGUAGES = frozenset({"c", "cxx", "fortran"})

Item = tuple[str, str | None] | tuple[str, str | None, frozenset[str]]
"""A name and a version, and variants if they are compared."""


class State:
    """The specs of a revision by hash; ``nodes`` also has those outside that its source states."""

    def __init__(self, specs: Iterable[Spec], outside: Iterable[Spec] = ()) -> None:
        self.specs = {spec.hash: spec for spec in specs}
        self.nodes = {spec.hash: spec for spec in outside} | self.specs
        self._packages: dict[str, list[Spec]] = {}
        for spec in self.specs.values():
            self._packages.setdefault(spec.name, []).append(spec)
        self._below: dict[str, frozenset[Item]] = {}

    def __repr__(self) -> str:
        """Return the constructor call, for failing tests."""
        outside = [spec for digest, spec in self.nodes.items() if digest not in self.specs]
        return f"State({[*self.specs.values()]}, {outside})"

    def of_package(self, name: str) -> list[Spec]:
        """Return the specs of a package."""
        return self._packages.get(name, [])

    @cached_property
    def stacks(self) -> set[str]:
        """The stacks that any spec is in."""
        return {stack for spec in self.specs.values() for stack in stacks_of(spec)}

    @property
    def states_stacks(self) -> bool:
        """Whether its source states stacks: there is one, or there are no specs."""
        return bool(self.stacks) or not self.specs

    def below(self, spec: Spec, *, with_variants: bool = False) -> frozenset[Item]:
        """Return name, version, and perhaps variants, of all dependencies of a spec."""
        if spec.hash not in self._below:
            self._below[spec.hash] = frozenset(self._items_below(spec))
        items = self._below[spec.hash]
        return items if with_variants else frozenset(item[:2] for item in items)

    def _items_below(self, spec: Spec) -> Iterator[Item]:
        seen = {spec.hash}
        waiting = [spec]
        while waiting:
            node = waiting.pop()
            if has_own_compiler(node):
                name, _, version = str(node.compiler).partition("@")
                yield name, version
            for edge in node.dependencies or ():
                if edge.hash in seen:
                    continue
                seen.add(edge.hash)
                if edge.hash in self.nodes:
                    waiting.append(self.nodes[edge.hash])
                    below = self.nodes[edge.hash]
                    yield below.name, below.version, frozenset(below.variants)
                else:
                    yield edge.name, None, frozenset()


def stacks_of(spec: Spec) -> set[str]:
    """Return the stacks of a spec, root left out."""
    return set(spec.stacks) - {ROOT_STACK}


def architecture_of(spec: Spec) -> tuple[str, str, str]:
    """Return the architecture of a spec."""
    return spec.platform, spec.operating_system, spec.target


def depends_on_compiler(spec: Spec) -> bool:
    """Return whether a compiler is among the dependencies of a spec."""
    return any(map(is_to_compiler, spec.dependencies or ()))


def has_own_compiler(spec: Spec) -> bool:
    """Return whether a spec has a compiler that is not one of its dependencies."""
    return spec.compiler is not None and not depends_on_compiler(spec)


def is_to_compiler(edge: Dependency) -> bool:
    """Return whether an edge leads to the compiler of the spec."""
    return "build" in edge.types and not LANGUAGES.isdisjoint(edge.virtuals)


def direct_names(spec: Spec) -> frozenset[str]:
    """Return the names of the direct dependencies, and of a compiler that is none of them."""
    names = {edge.name for edge in spec.dependencies or ()}
    if has_own_compiler(spec):
        names.add(str(spec.compiler).partition("@")[0])
    return frozenset(names)

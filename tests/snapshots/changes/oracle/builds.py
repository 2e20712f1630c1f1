"""Made-up builds whose hashes cover their dependencies, as Spack's do."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from snapshots.models import Dependency, Spec
from tests.snapshots.changes.oracle.states import State, is_to_compiler
from tests.snapshots.factories import hash_of

_ROUNDS = 12
"""How often hashes are made anew, so that a change gets round any cycle of fewer builds."""


class Need(NamedTuple):
    """A dependency of a build, for some types and virtuals.

    It is met by a build that stands before the one that needs it; ``number`` chooses which one.
    """

    number: int
    types: tuple[str, ...] = ("build", "link")
    virtuals: tuple[str, ...] = ()


class Build(NamedTuple):
    """What a spec is made of: its hash follows from this and from what it needs.

    ``place`` is ``cache``; ``stated`` where its source tells of it though it is elsewhere;
    ``named`` where it stands in edges alone; ``gone`` where it is nowhere. Without ``is_told`` its
    dependencies are not known. ``compiler`` counts where no dependency is one.
    """

    name: str = "a"
    version: str = "1.0"
    recipe: str | None = "r1"
    namespace: str | None = "builtin"
    variants: tuple[str, ...] = ()
    machine: tuple[str, str] = ("ubuntu22.04", "zen4")
    stacks: tuple[str, ...] = ("e4s", "root")
    compiler: str | None = None
    place: str = "cache"
    is_told: bool = True
    needs: tuple[Need, ...] = ()
    spec_format: int | None = None

    @property
    def text(self) -> str:
        """What a hash covers of the build itself."""
        return repr(self[:6]) + str(self.compiler) + str(self.spec_format or "")


Builds = Sequence[Build]


def state_of(builds: Builds, *, cycles: bool = False) -> State:
    """Return what a source tells of builds, each known by its place in the list.

    With ``cycles`` a need can also be met by the build itself, or the one that follows it. Builds
    that have everything in common are one spec, in the stacks of all.
    """
    needs = [_met(number, builds, cycles=cycles) for number in range(len(builds))]
    hashes = _hashes(builds, needs)
    edges = [
        tuple(sorted({_edge(need, builds, hashes) for need in needs[number]}))
        for number in range(len(builds))
    ]
    inside: dict[str, Spec] = {}
    outside: dict[str, Spec] = {}
    for number, build in enumerate(builds):
        spec = _spec(number, builds, hashes, edges[number])
        if build.place == "cache":
            stacks = {*spec.stacks, *inside.get(spec.hash, spec).stacks}
            inside[spec.hash] = replace(spec, stacks=tuple(sorted(stacks)))
        elif build.place == "stated":
            outside[spec.hash] = replace(spec, stacks=())
    reached = _reached(inside, outside)
    return State(inside.values(), [it for it in outside.values() if it.hash in reached])


def _met(number: int, builds: Builds, *, cycles: bool) -> list[Need]:
    """Return the needs of a build, with the numbers of what meets them."""
    choice = number + 2 if cycles else number
    needs = [it._replace(number=it.number % choice) for it in builds[number].needs if choice]
    return [it for it in needs if it.number < len(builds) and builds[it.number].place != "gone"]


def _hashes(builds: Builds, needs: Sequence[list[Need]]) -> list[str]:
    hashes = [""] * len(builds)
    for _ in range(_ROUNDS):
        edges = [sorted((hashes[it.number], it[1:]) for it in met) for met in needs]
        hashes = [hash_of(f"{it.text}{met}") for it, met in zip(builds, edges, strict=True)]
    return hashes


def _edge(need: Need, builds: Builds, hashes: Sequence[str]) -> Dependency:
    return Dependency(builds[need.number].name, hashes[need.number], need.types, need.virtuals)


def _spec(
    number: int, builds: Builds, hashes: Sequence[str], edges: tuple[Dependency, ...]
) -> Spec:
    build = builds[number]
    return Spec(
        hash=hashes[number],
        name=build.name,
        version=build.version,
        compiler=_compiler(build, builds, hashes, edges),
        operating_system=build.machine[0],
        platform="linux",
        target=build.machine[1],
        variants=build.variants,
        stacks=build.stacks,
        namespace=build.namespace,
        package_hash=build.recipe,
        dependencies=edges if build.is_told else None,
        spec_format=build.spec_format,
    )


def _compiler(
    build: Build, builds: Builds, hashes: Sequence[str], edges: Sequence[Dependency]
) -> str | None:
    """Return the compiler as a reader finds it: among the dependencies, where they tell of one."""
    for edge in edges if build.is_told else ():
        if is_to_compiler(edge):
            compiler = builds[hashes.index(edge.hash)]
            is_stated = compiler.place in ("cache", "stated")
            return f"{compiler.name}@{compiler.version}" if is_stated else None
    return build.compiler


def _reached(inside: dict[str, Spec], outside: dict[str, Spec]) -> set[str]:
    """Return the hashes of all that specs in the cache depend on."""
    found: set[str] = set()
    waiting = list(inside.values())
    while waiting:
        for edge in waiting.pop().dependencies or ():
            if edge.hash not in found:
                found.add(edge.hash)
                waiting += [outside[edge.hash]] if edge.hash in outside else []
    return found


def as_pages_tell(state: State) -> State:
    """Return what is left of a state where no dependencies and no recipes are told."""
    return State(
        replace(spec, dependencies=None, package_hash=None, namespace=None, spec_format=None)
        for spec in state.specs.values()
    )

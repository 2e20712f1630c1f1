"""Generated builds whose hashes cover dependencies, as Spack's do, and strategies of states."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.models import Dependency, Spec
from tests.model.states import State, is_to_compiler
from tests.snapshots.factories import hash_of, seeded

_ROUNDS = 12
"""Number of times that hashes are computed: a change passes through chains of fewer builds."""


class Need(NamedTuple):
    """A dependency of a build on an earlier one, which ``number`` chooses."""

    number: int
    types: tuple[str, ...] = ("build", "link")
    virtuals: tuple[str, ...] = ()


class Build(NamedTuple):
    """What a spec is made of: its hash follows from this and from its needs.

    ``place`` is ``cache``; ``stated`` if the source states a spec that is elsewhere; ``named`` if
    only edges name it; ``gone`` if it is nowhere. Without ``is_told`` its dependencies are unknown.
    ``compiler`` is used if no dependency is a compiler. ``features`` are those that the document
    lists of the target; None if the source has no documents.
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
    features: tuple[str, ...] | None = None
    patches: tuple[str, ...] | None = None
    external: str | None = None
    built_as: str | None = None

    @property
    def text(self) -> str:
        """The part of the build itself that a hash covers."""
        return repr(self[:6]) + str(self.compiler) + str(self.spec_format or "") + repr(self[12:])


Builds = Sequence[Build]


def state_of(builds: Builds) -> State:
    """Return the state that a source states of builds, which needs refer to by position.

    Equal builds are one spec, in the stacks of all.
    """
    needs = [_met(number, builds) for number in range(len(builds))]
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
    return State(inside.values(), [spec for spec in outside.values() if spec.hash in reached])


def _met(number: int, builds: Builds) -> list[Need]:
    """Return the needs of a build, with the numbers of the builds that meet them."""
    needs = [need._replace(number=need.number % number) for need in builds[number].needs if number]
    return [need for need in needs if builds[need.number].place != "gone"]


def _hashes(builds: Builds, needs: Sequence[list[Need]]) -> list[str]:
    hashes = [""] * len(builds)
    for _ in range(_ROUNDS):
        edges = [sorted((hashes[need.number], need[1:]) for need in met) for met in needs]
        hashes = [hash_of(f"{build.text}{met}") for build, met in zip(builds, edges, strict=True)]
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
        patches=build.patches,
        external_path=build.external,
        build_spec=build.built_as,
        spelling=_spelling(build),
    )


def _spelling(build: Build) -> tuple[str, ...] | None:
    if build.features is None:
        return None
    description = {"name": build.machine[1], "features": list(build.features)}
    return (f"target={json.dumps(description)}",) if build.features else ()


def _compiler(
    build: Build, builds: Builds, hashes: Sequence[str], edges: Sequence[Dependency]
) -> str | None:
    """Return the compiler as a reader determines it: a dependency, if any is a compiler."""
    for edge in edges if build.is_told else ():
        if is_to_compiler(edge):
            compiler = builds[hashes.index(edge.hash)]
            is_stated = compiler.place in ("cache", "stated")
            return f"{compiler.name}@{compiler.version}" if is_stated else None
    return build.compiler


def _reached(inside: dict[str, Spec], outside: dict[str, Spec]) -> set[str]:
    """Return the hashes of all dependencies of specs in the cache."""
    reached: set[str] = set()
    waiting = list(inside.values())
    while waiting:
        for edge in waiting.pop().dependencies or ():
            if edge.hash not in reached:
                reached.add(edge.hash)
                waiting += [outside[edge.hash]] if edge.hash in outside else []
    return reached


def as_pages_tell(state: State) -> State:
    """Return the state that pages describe, without dependencies and recipes."""
    return State(
        replace(
            spec,
            dependencies=None,
            package_hash=None,
            namespace=None,
            spec_format=None,
            patches=None,
            external_path=None,
            build_spec=None,
            spelling=None,
        )
        for spec in state.specs.values()
    )


# -- draws

_VALUES: dict[str, Sequence[Any]] = {
    "name": ("a", "b", "c", "gcc", "mpich"),
    "version": ("1.0", "1.1", "1.10", "2rc1", "develop", "git.main"),
    "recipe": ("r1", "r1", "r2", "r2", None),
    "namespace": (*["builtin"] * 6, "mine", None),
    "variants": (
        (),
        ("+shared",),
        ("~shared",),
        ("+mpi", "+shared"),
        ("+shared", "build_type=Release"),
    ),
    "machine": (("ubuntu22.04", "zen4"), ("ubuntu22.04", "neoverse_v2"), ("rhel8", "zen4")),
    "stacks": (("e4s", "root"), ("hep", "root"), ("e4s", "hep", "root"), ("root",), ()),
    "compiler": (None, "gcc@12.3.0", "gcc@13.2.0", "clang@16.0.6"),
    "place": (*["cache"] * 6, "stated", "named"),
    "is_told": (*[True] * 7, False),
    "spec_format": (5, 5, 6, None),
    "features": (*[("avx",)] * 4, ("avx", "bmi"), (), None),
    "patches": (*[None] * 4, ("aa", "bb"), ("bb", "aa")),
    "external": (*[None] * 4, "/usr", "/opt"),
    "built_as": (*[None] * 7, f"a/{hash_of('gone')}"),
}
_TYPES = (("build", "link"), ("build",), ("run",))
_VIRTUALS: tuple[tuple[str, ...], ...] = ((), (), ("mpi",), ("c",), ("c", "mpi"))

_FACTS = {name: st.sampled_from(values) for name, values in _VALUES.items()}
_CROWDED = ("version", "variants", "machine", "stacks", "compiler")

_NUMBERS = st.integers(0, 7)
_NEEDS = st.lists(
    st.builds(Need, _NUMBERS, st.sampled_from(_TYPES), st.sampled_from(_VIRTUALS)), max_size=3
).map(tuple)
_BUILDS = st.builds(Build, **_FACTS, needs=_NEEDS)


class Edit(NamedTuple):
    """A new value of one fact, of one build (by its number, modulo their count) or of all."""

    fact: str
    value: Any
    number: int | None


_NEW_VALUES = st.one_of(
    *(st.tuples(st.just(name), values) for name, values in _FACTS.items()),
    st.tuples(st.just("needs"), _NEEDS),
    st.tuples(st.just("place"), st.just("gone")),
    st.tuples(st.just("provider"), _NUMBERS),
)
_EDITS = st.builds(
    lambda value, number: Edit(value[0], value[1], number),
    _NEW_VALUES,
    st.sampled_from((0, 0, *range(7), None)),
)


def edited(builds: list[Build], edit: Edit) -> list[Build]:
    """Return the builds after an edit; ``provider`` changes the build that meets the first need."""
    chosen = None if edit.number is None else edit.number % len(builds)
    return [
        _changed(build, edit) if chosen in (None, number) else build
        for number, build in enumerate(builds)
    ]


def _changed(build: Build, edit: Edit) -> Build:
    if edit.fact != "provider":
        return build._replace(**{edit.fact: edit.value})
    first = [need._replace(number=edit.value) for need in build.needs[:1]]
    return build._replace(needs=(*first, *build.needs[1:]))


@st.composite
def weeks(draw: st.DrawFn) -> tuple[State, State]:
    """Draw the states of a cache before and after a week."""
    builds = draw(st.lists(_BUILDS, min_size=1, max_size=7))
    later = builds
    for edit in draw(st.lists(_EDITS, max_size=4)):
        later = edited(later, edit)
    later = later + draw(st.lists(_BUILDS, max_size=1))
    base, head = map(state_of, (builds, later))
    of_pages = draw(st.sampled_from((*[""] * 7, "both", "base", "head")))
    if of_pages in ("both", "base"):
        base = as_pages_tell(base)
    if of_pages in ("both", "head"):
        head = as_pages_tell(head)
    return base, head


def _crowd(random: Random) -> tuple[State, State]:
    """Return two disjoint states with many specs of few packages that differ in few facts."""
    differing = random.sample(_CROWDED, random.randint(0, 4))
    names = random.choice(("a", "abc"))
    base, head = (
        state_of(
            [
                _alike(random, differing, number)._replace(name=random.choice(names), recipe=recipe)
                for number in range(random.randint(2, 12))
            ]
        )
        for recipe in ("r1", "r2")
    )
    return base, head


def _alike(random: Random, differing: Sequence[str], number: int) -> Build:
    facts = {name: random.choice(_VALUES[name]) for name in _CROWDED if name in differing}
    needs = tuple(_need(random, number) for _ in range(random.randrange(3)))
    return Build(**facts, needs=needs)


crowds = seeded(_crowd)
"""Two states in which counterparts have to be chosen among many specs, also by dependents."""


def _tower(random: Random) -> tuple[State, State]:
    """Return two states of dozens of builds that depend on earlier ones; a few are edited."""
    builds = []
    for number in range(random.randrange(10, 40)):
        facts = {name: random.choice(values) for name, values in _VALUES.items()}
        needs = tuple(_need(random, number) for _ in range(random.randrange(4)))
        builds.append(Build(**facts | {"name": f"p{random.randrange(30)}", "needs": needs}))
    later = builds
    for _ in range(random.randrange(1, 6)):
        number = random.randrange(len(builds))
        needs = tuple(need for need in later[number].needs if random.random() < 0.7)
        choices = {name: random.choice(values) for name, values in _VALUES.items()}
        choices["needs"] = (*needs, _need(random, number))
        fact = random.choice([*_VALUES, *["needs"] * 5])
        later = edited(later, Edit(fact, choices[fact], number))
    return state_of(builds), state_of(later)


def _need(random: Random, number: int) -> Need:
    """Return a need that one of the few builds before a number meets."""
    return Need(number - random.randint(1, 6), random.choice(_TYPES), random.choice(_VIRTUALS))


towers = seeded(_tower)
"""Two states with long chains of dependencies: changes affect specs far above."""

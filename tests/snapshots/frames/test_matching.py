"""Queries in Spack's language find what a walk over the records would find."""

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content
from snapshots.errors import ConstraintSyntaxError, DependenciesUnknown, InvalidArgument
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.matching import MAX_DEPENDENCIES, MAX_LENGTH, read, select
from snapshots.models import Dependency, Spec
from snapshots.spack.predicates import SpecConstraint
from tests.snapshots.factories import a_spec, hash_of, random_facts, seeded, some_of
from tests.snapshots.records import frame_of, matches

ABSENT = ("absent1", "absent2")
VIRTUALS = ("blas", "mpi")

PARTS = (
    ("@1.2", "@1.2:", "@:1.10", "@develop"),
    ("+mpi", "~mpi"),
    ("+shared",),
    ("build_type=Release",),
    ("patches=b231fcc",),
    ('cflags="-O2"',),
    ("%gcc", "%gcc@13"),
    ("platform=linux",),
    ("os=rhel8,ubuntu22.04",),
    ("target=m1",),
    ("namespace=builtin",),
)
"""Parts of a query; of those that stand together it can have one."""


def random_specs(random: Random) -> list[Spec]:
    """Return specs of few values each that depend on each other, and on two that are not there."""
    size = random.randrange(1, 9)
    specs = [
        Spec(hash=hash_of(str(number)), **random_facts(random) | {"dependencies": ()})
        for number in range(size)
    ]
    names = {spec.hash: spec.name for spec in specs} | {hash_of(name): name for name in ABSENT}

    def edges() -> Iterator[Dependency]:
        for digest in random.sample(sorted(names), k=random.randrange(3)):
            yield Dependency(names[digest], digest, ("link",), some_of(random, VIRTUALS))

    return [replace(spec, dependencies=tuple(edges())) for spec in specs]


def random_node(random: Random) -> str:
    """Return a query about one spec."""
    name = random.choice(("*", "*", "zlib", "hdf5", "lib2", "lib10", *ABSENT, "unknown"))
    parts = list(map(random.choice, random.sample(PARTS, k=random.choice((0, 0, 1, 1, 2)))))
    if random.random() < 0.1:
        label = random.choice((*map(str, range(8)), *ABSENT))
        parts.append(f"/{hash_of(label)[: random.choice((1, 7, 32))]}")
    return " ".join([name, *parts])


def random_query(random: Random) -> str:
    """Return a query with up to two dependencies, some of them virtual packages."""
    nodes = [random_node(random)]
    for _ in range(random.choice((0, 1, 1, 2))):
        virtual = random.choice(("mpi", "blas +shared", "mpi target=m1"))
        nodes.append(virtual if random.random() < 0.3 else random_node(random))
    return " ^".join(nodes)


def selected(specs: Sequence[Spec], query: str) -> set[str]:
    """Return the hashes of the specs that a query selects."""
    content = Content.of(specs)
    table = content.table()
    frame = Frame(table, content.digest)
    mask = select(frame, read(query), lambda: DependencyGraph(table, frame.hashes))
    return {digest for digest, chosen in zip(frame.hashes.texts, mask, strict=True) if chosen}


def expected(specs: Sequence[Spec], query: str) -> set[str]:
    """Return the same by asking each record, and walking from it."""
    wanted = read(query)
    by_hash = {spec.hash: spec for spec in specs}

    def edges_below(spec: Spec) -> list[Dependency]:
        found: list[Dependency] = []
        seen: set[str] = set()
        waiting = [spec]
        while waiting:
            for edge in waiting.pop().dependencies or ():
                found.append(edge)
                if edge.hash in by_hash and edge.hash not in seen:
                    seen.add(edge.hash)
                    waiting.append(by_hash[edge.hash])
        return found

    def is_such(edge: Dependency, dependency: SpecConstraint) -> bool:
        if edge.hash in by_hash:
            return matches(dependency, by_hash[edge.hash])
        plain = replace(dependency, name=None, hash_prefix=None) == SpecConstraint()
        named = dependency.name in (None, edge.name)
        return plain and named and edge.hash.startswith(dependency.hash_prefix or "")

    def meets(edge: Dependency, dependency: SpecConstraint) -> bool:
        if dependency.name in edge.virtuals:
            return is_such(edge, replace(dependency, name=None))
        return is_such(edge, dependency)

    return {
        spec.hash
        for spec in specs
        if matches(wanted, spec)
        and all(
            any(meets(edge, dependency) for edge in edges_below(spec))
            for dependency in wanted.dependencies
        )
    }


@given(seeded(random_specs), seeded(random_query))
def test_any_query(specs: list[Spec], query: str) -> None:
    """A query selects the specs whose records, and those below them, meet its conditions."""
    assert selected(specs, query) == expected(specs, query)


APP, LIB, MPI, GCC = (hash_of(name) for name in ("app", "lib", "openmpi", "gcc"))
WORLD = (
    a_spec(
        "app",
        name="app",
        version="2.0",
        variants=("+gui", "build_type=Release"),
        namespace="builtin",
        dependencies=(
            Dependency("gcc", GCC, ("build",), ("c", "cxx")),
            Dependency("lib", LIB, ("build", "link")),
        ),
    ),
    a_spec(
        "lib",
        name="lib",
        version="1.3.1",
        compiler=None,
        target="m1",
        dependencies=(Dependency("openmpi", MPI, ("link",), ("mpi",)),),
    ),
    a_spec(
        "openmpi",
        name="openmpi",
        version="5.0",
        # A cycle: Spack has none, but what is read is not always by Spack.
        dependencies=(Dependency("lib", LIB, ("test",)),),
    ),
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("*", "app lib openmpi"),
        ("app", "app"),
        ("App", ""),
        ("app@1:", "app"),
        ("app@:1", ""),
        ("+gui build_type=Release", "app"),
        ("~gui", ""),
        ("%gcc@13", "app openmpi"),
        ("target=m1,zen2", "lib"),
        ("os=ubuntu22.04 platform=linux target=x86_64_v3", "app openmpi"),
        ("namespace=builtin", "app"),
        ("builtin.lib", ""),
        (f"/{LIB[:7]}", "lib"),
        (f"app/{LIB[:7]}", ""),
        ("* ^lib", "app openmpi lib"),
        ("* ^openmpi", "app lib openmpi"),
        ("app ^openmpi@5: ^lib target=m1", "app"),
        ("app ^openmpi@:4", ""),
        ("* ^app", ""),
        ("* ^* target=m1", "app lib openmpi"),
        ("* ^gcc", "app"),
        (f"* ^/{GCC[:5]}", "app"),
        (f"* ^gcc/{LIB[:5]}", ""),
        ("* ^gcc@13", ""),
        ("* ^c", "app"),
        ("* ^c target=m1", ""),
        ("* ^mpi", "app lib openmpi"),
        ("* ^mpi +mpi", "app lib openmpi"),
        ("* ^mpi ~mpi", ""),
        ("* ^*", "app lib openmpi"),
        ("* ^*@1:", "app lib openmpi"),
    ],
)
def test_what_is_found(query: str, found: str) -> None:
    """Each kind of condition on a spec, and on what it depends on near or far."""
    assert selected(WORLD, query) == {hash_of(name) for name in found.split()}


def test_versions_of_a_virtual_package() -> None:
    """What versions of a virtual package are provided is in no record: the question is refused."""
    with pytest.raises(InvalidArgument, match=r"\^mpi@3: mpi is a virtual package"):
        selected(WORLD, "app ^mpi@3")


def test_a_package_called_as_a_virtual_one() -> None:
    """A real package with the name of a virtual one is asked for its own versions."""
    mpi = a_spec("mpi", name="mpi", version="3.1", dependencies=())
    edge = Dependency("mpi", mpi.hash, ("link",))
    specs = [*WORLD, mpi, a_spec("user", name="user", dependencies=(edge,))]
    assert selected(specs, "* ^mpi@3") == {hash_of("user")}
    assert selected(specs, "* ^mpi@4") == set()
    assert selected(specs, "* ^mpi") == {APP, LIB, MPI, hash_of("user")}


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        (1, "does not tell the dependencies of 1 of 3 specs"),
        (3, "does not tell the dependencies of any spec"),
    ],
)
def test_dependencies_that_are_not_known(unknown: int, message: str) -> None:
    """Where the answer could be wrong for want of facts there is an error instead."""
    specs = [replace(spec, dependencies=None) for spec in WORLD[:unknown]] + [*WORLD[unknown:]]
    with pytest.raises(DependenciesUnknown, match=message):
        selected(specs, "app ^lib")


def test_a_query_without_dependencies_needs_no_graph() -> None:
    """The graph is loaded only where a query is about it."""

    def refuse() -> DependencyGraph:
        raise AssertionError("the graph was loaded")

    frame = frame_of(WORLD)
    assert select(frame, read("app@2.0"), refuse).sum() == 1


def test_a_mistake_is_pointed_at() -> None:
    """A query that cannot be read is an error with its place."""
    with pytest.raises(ConstraintSyntaxError) as caught:
        read("hdf5@@")
    assert caught.value.position == 5


@given(st.integers(1, 100))
def test_too_long_a_query(excess: int) -> None:
    """A query may have so many characters and no more."""
    assert read("a" * MAX_LENGTH).name == "a" * MAX_LENGTH
    with pytest.raises(ConstraintSyntaxError, match="2,000 characters at the most"):
        read("a" * (MAX_LENGTH + excess))


def test_too_many_dependencies() -> None:
    """A query may have so many ``^`` and no more."""
    assert len(read("*" + " ^a" * MAX_DEPENDENCIES).dependencies) == MAX_DEPENDENCIES
    with pytest.raises(InvalidArgument, match="16 at the most, not 17"):
        read("*" + " ^a" * (MAX_DEPENDENCIES + 1))

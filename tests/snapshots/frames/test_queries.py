"""Queries in Spack's language, against the specs that they match."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.errors import (
    ConstraintSyntaxError,
    DependenciesUnknown,
    InvalidArgument,
    UnknownPackage,
)
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.queries import (
    MAX_DEPENDENCIES,
    MAX_LENGTH,
    near_misses,
    read,
    require_known,
    select,
    unknown_names,
)
from snapshots.models import Spec
from snapshots.spack.query import parse
from tests.snapshots.changes.graphs import edge, node, side_of
from tests.snapshots.factories import a_spec, hash_of


def selected(specs: Sequence[Spec], query: str, outside: Sequence[Spec] = ()) -> set[str]:
    """Return the hashes of the specs that a query selects."""
    side = side_of(specs, outside)
    mask = select(side.frame, read(query), lambda: side.graph)
    return {digest for digest, chosen in zip(side.frame.hashes.texts, mask, strict=True) if chosen}


APP, LIB, GCC = map(hash_of, ("app", "lib", "gcc"))
WORLD = (
    node(
        "app",
        edge("gcc", ("build",), ("c", "cxx")),
        edge("lib", ("build", "link")),
        edge("tool", ("build",)),
        compiler="gcc@13.2.0",
        version="2.0",
        variants=("+gui", "build_type=Release"),
    ),
    node(
        "lib",
        edge("llvm", ("build",), ("c",)),
        edge("openmpi", ("link",), ("mpi",)),
        edge("tool", ("build", "run")),
        version="1.3.1",
        compiler="llvm@18.1",
        target="m1",
        variants=("+pic", "~shared"),
        namespace=None,
    ),
    # Of an older format: its compiler is not a dependency.
    node("old", "lib", compiler="clang@15.0.7", namespace=None),
    node("openmpi", version="5.0", namespace=None),
    # A cycle: Spack has none, but what is read is not always by Spack.
    node("tool", edge("app", ("test",)), variants=("~pic",), namespace=None),
)
EXTERNAL = (node("gcc", version="13.2.0", target="x86_64", variants=("languages=c,c++",)),)


@pytest.mark.parametrize(
    ("names", "queries"),
    [
        # Own facts
        ("app lib old openmpi tool", "*"),
        ("app", "app | app@1: | +gui build_type=Release | namespace=builtin"),
        ("lib", f"target=m1,zen2 | /{LIB[:7]}"),
        ("app old openmpi tool", "os=ubuntu22.04 platform=linux target=x86_64_v2:"),
        ("", f"App | app@:1 | ~gui | builtin.lib | app/{LIB[:7]}"),
        # Direct dependencies, of any type
        ("app", "%gcc | %gcc@13 | %gcc target=x86_64 languages=c | %c=gcc | %cxx,fortran=gcc"),
        ("app", "%lib %tool %gcc | %lib target=m1"),
        ("app lib", "%tool | %c"),
        ("lib", "%[deptypes=run] tool | %[deptypes=build,run] tool"),
        ("", "%gcc@12 | %gcc target=x86_64_v3 | %fortran=gcc | %lib ~pic"),
        # The one compiler of an older format
        ("lib old", "%clang"),
        ("old", "%llvm@15 | %[virtuals=cxx] clang"),
        ("", "%clang +lld"),
        # Direct and transitive dependencies: what builds a library is no dependency of its users
        ("app old", "^lib | ^lib %llvm | ^* target=m1"),
        ("app lib old", "^openmpi | ^tool | ^"),
        ("app", f"^gcc | ^gcc@13 target=x86_64 | ^[deptypes=link] gcc | ^/{GCC[:5]}"),
        ("app", "app ^openmpi@5: ^lib target=m1"),
        ("lib", "^llvm"),
        ("", f"app ^openmpi@:4 | ^lib %gcc | ^app | ^gcc/{LIB[:5]}"),
        ("", "^ target=m1"),  # to Spack m1 provides the virtual package target
        # Virtual packages, which have no facts of their own
        ("app lib old", "^mpi | ^mpi=openmpi@5 | ^mpi +cuda target=zen2"),
        ("lib", "%mpi"),
        ("app", "^cxx@11:"),
        ("", "^mpi=openmpi@4 | ^[virtuals=c] openmpi | ^mpi %gcc"),
        # Variants of all dependencies
        ("openmpi", "++pic | ~~pic"),
        ("app", "app languages==c"),
        ("", "app languages==fortran"),
    ],
)
def test_conditions(names: str, queries: str) -> None:
    """Each kind of condition on a spec, and on its direct and transitive dependencies."""
    expected = {hash_of(name) for name in names.split()}
    for query in queries.split(" | "):
        assert selected(WORLD, query, EXTERNAL) == expected, query


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("%gcc", {APP}),
        (f"^gcc/{GCC}", {APP}),
        ("%gcc target=x86_64", set()),
        ("^gcc languages=c", set()),
        ("%gcc@13", set()),
        ("^llvm@18", set()),
    ],
)
def test_undescribed_dependencies(query: str, expected: set[str]) -> None:
    """A dependency that is only an edge has a name and a hash, and meets no other condition."""
    assert selected(WORLD, query) == expected


def test_languages_of_a_compiler() -> None:
    """Gcc provides fortran if it is built for it, or if its variants are not available."""
    specs = [node("user", edge("gcc", ("build",), ("fortran",)))]
    assert selected(specs, "%fortran", EXTERNAL) == set()
    assert selected(specs, "%fortran") == {hash_of("user")}


@pytest.mark.parametrize("sigil", ["%", "^"])
def test_unstated_versions_of_a_virtual_package(sigil: str) -> None:
    """A query for versions of mpi is refused if no provider states its versions."""
    with pytest.raises(InvalidArgument, match="versions of mpi: mpi is a virtual package"):
        selected(WORLD, f"lib {sigil}mpi@3")


@pytest.mark.parametrize("sigil", ["%", "^"])
@pytest.mark.parametrize(
    ("versions", "provided", "is_provided"),
    [
        ("3:", ("mpi@:3.1",), True),
        ("4:", ("mpi@:3.1",), False),
        ("3.1", ("mpi@:3.1",), True),
        ("=3.1.2", ("mpi@:3.1",), True),
        (":2", ("blas", "mpi@3.1"), False),
        (":2", ("mpi@2.1,3.1",), True),
        (":2", ("mpi@3.1", "mpi@=1"), True),
        ("4:", ("mpi",), True),
        ("4:", ("blas",), False),
        ("4:", (), False),
    ],
)
def test_stated_versions_of_a_virtual_package(
    sigil: str, versions: str, provided: tuple[str, ...], is_provided: bool
) -> None:
    """The versions of the query and those that the provider states have to intersect."""
    specs = [
        replace(spec, provided_virtuals=provided) if spec.name == "openmpi" else spec
        for spec in WORLD
    ]
    assert selected(specs, f"lib {sigil}mpi@{versions}") == ({LIB} if is_provided else set())


def test_compilers_without_dependencies() -> None:
    """``%`` is about the one compiler of a spec; only some compilers always provide C."""
    specs = [a_spec("a", compiler="gcc@13.2.0"), a_spec("b", compiler="apple-clang@16")]
    specs.append(a_spec("c", compiler=None))
    assert selected(specs, "%gcc@13") == {hash_of("a")}
    assert selected(specs, "%c") == {hash_of("b")}
    for query in ("%cmake", "%cxx=cmake", "%fortran"):
        assert selected(specs, query) == set()


@pytest.mark.parametrize("query", ["app ^lib", "app ++pic"])
@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        (1, "does not list the dependencies of 1 of 5 specs"),
        (5, "does not list the dependencies of any spec"),
    ],
)
def test_unlisted_dependencies(query: str, unknown: int, message: str) -> None:
    """A query that needs unlisted dependencies is an error, not a wrong answer."""
    specs = [replace(spec, dependencies=None) for spec in WORLD[:unknown]] + [*WORLD[unknown:]]
    with pytest.raises(DependenciesUnknown, match=message):
        selected(specs, query)


@given(st.integers(1, 100))
def test_long_query(excess: int) -> None:
    """A query has at most 2,000 characters."""
    assert read("a" * MAX_LENGTH).name == "a" * MAX_LENGTH
    with pytest.raises(ConstraintSyntaxError, match="at most 2,000 characters"):
        read("a" * (MAX_LENGTH + excess))


@pytest.mark.parametrize("more", [" ^a", " %a"])
def test_many_dependencies(more: str) -> None:
    """A query has at most 16 distinct ``%`` and ``^``."""
    names = [f"{more}{number}" for number in range(MAX_DEPENDENCIES + 1)]
    assert read("*" + "".join(names[1:])).num_dependencies == MAX_DEPENDENCIES
    with pytest.raises(InvalidArgument, match="at most 16, not 17"):
        read("*" + "".join(names))


# -- unknown names


SIDE = side_of(
    [
        node(
            "hdf5",
            edge("openmpi", virtuals=("mpi",)),
            edge("zlib-ng", virtuals=("zlib-api",)),
            edge("cuda"),
            compiler="own-one@25",
        ),
        node("zlib-ng"),
    ],
    [node("cuda")],
)
FRAME = SIDE.frame


def graph() -> DependencyGraph:
    """Return the graph of the frame."""
    return SIDE.graph


@pytest.mark.parametrize(
    "query",
    ["hdf5 ^zlib-api", "*", "hdf5 %clang ^mpi", "%own-one ^petsc", "%fortran", "petsc", "java"],
)
def test_known_names(query: str) -> None:
    """A name may be known here, in another tag, or to Spack as a compiler or language."""
    require_known(parse(query), FRAME, graph, lambda: ["petsc"])
    assert unknown_names(parse(query), FRAME, graph, lambda: ["petsc"]) == ()


@pytest.mark.parametrize(
    ("query", "name", "nearest"),
    [("hdf ^nothing", "hdf", ("hdf5",)), ("nothing-like-it", "nothing-like-it", ())],
)
def test_unknown_package(query: str, name: str, nearest: tuple[str, ...]) -> None:
    """An unknown package name is an error that has the nearest names."""
    with pytest.raises(UnknownPackage) as caught:
        require_known(parse(query), FRAME, graph, lambda: ["petsc"])
    assert (caught.value.name, caught.value.nearest) == (name, nearest)


@pytest.mark.parametrize(
    ("query", "unknown"),
    [
        ("hdf5 ^zlib-nh", {"zlib-nh": ("zlib-ng", "zlib-api")}),
        ("hdf5 %pets", {"pets": ("petsc",)}),
        ("hdf5 ^[virtuals=mip] ^Cuda", {"Cuda": ("cuda",), "mip": ("mpi",)}),
        ("HDF5", {"HDF5": ("hdf5",)}),
        ("^aaa ^bbb ^ccc ^ddd", {"aaa": (), "bbb": (), "ccc": ()}),
    ],
)
def test_unknown_names(query: str, unknown: dict[str, tuple[str, ...]]) -> None:
    """Unknown names of dependencies, and names in another case, are returned without an error."""
    names = parse(query), FRAME, graph, lambda: ["petsc"]
    require_known(*names)
    assert {name.name: name.nearest for name in unknown_names(*names)} == unknown


def test_virtual_package_as_the_spec_itself() -> None:
    """A virtual package is an error that lists the packages that provide it."""
    with pytest.raises(
        InvalidArgument, match=r"package: zlib-api is a virtual package; .*: zlib-ng$"
    ):
        require_known(parse("zlib-api@1:"), FRAME, graph, list)


@pytest.mark.parametrize(
    ("query", "misses"),
    [
        ("app@3:", {"version": ("2.0",)}),
        ("app@3: +gui", {"version": ("2.0",)}),
        ("app~gui", {"variant gui": ("+gui",)}),
        ("app build_type=Debug", {"variant build_type": ("build_type=Release",)}),
        ("app~gui %gcc", {"variant gui": ("+gui",)}),
        ("app ^nothing", {"dependency nothing": ()}),
        ("app %llvm", {"dependency llvm": ()}),
        ("lib target=x86_64", {"target": ("m1",)}),
        ("app@3: ~gui", {}),  # two facts differ
        ("@9", {}),  # of no package
        ("nowhere+x", {}),
    ],
)
def test_near_misses(query: str, misses: dict[str, tuple[str, ...]]) -> None:
    """For each condition that alone excludes specs, what they have instead."""
    side = side_of(WORLD)
    assert not select(side.frame, read(query), lambda: side.graph).any()
    found = near_misses(side.frame, read(query), lambda: side.graph)
    assert {miss.fact: miss.values for miss in found} == misses

"""Whether a query goes by a name that nothing has."""

from typing import NoReturn

import pytest

from snapshots.contents import Content
from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.matching import (
    UnknownName,
    names_asked,
    names_known,
    require_known,
    unknown_names,
)
from snapshots.models import Dependency
from snapshots.spack.query import parse
from tests.snapshots.factories import a_spec, hash_of


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("*", ""),
        ("+mpi ^", ""),
        ("hdf5@1.14 %clang ^zlib %gcc ^[virtuals=mpi] openmpi", "gcc hdf5 llvm mpi openmpi zlib"),
        ("%c,cxx=gcc", "c cxx gcc"),
    ],
)
def test_names_asked(query: str, names: str) -> None:
    """Every name in a query counts, of packages and of virtual ones."""
    assert names_asked(parse(query)) == set(names.split())


EDGES = (
    Dependency("openmpi", hash_of("openmpi"), ("link",), ("mpi",)),
    Dependency("zlib-ng", hash_of("zlib-ng"), ("link",), ("zlib-api",)),
    Dependency("cuda", hash_of("cuda"), ("link",)),
)
CONTENT = Content.of(
    [
        a_spec(compiler="nvhpc@25", dependencies=EDGES),
        a_spec("zlib-ng", name="zlib-ng", compiler=None, dependencies=()),
    ],
    [a_spec("cuda", name="cuda", dependencies=())],
)
TABLE = CONTENT.table()
FRAME = Frame(TABLE, CONTENT.digest)


def graph() -> DependencyGraph:
    """Return the graph of the frame."""
    return DependencyGraph(TABLE, FRAME.hashes)


def test_names_known() -> None:
    """A revision knows its packages, what they depend on, what is provided, and compilers."""
    provided = {"mpi", "zlib-api"}
    assert names_known(FRAME, graph()) == {"hdf5", "zlib-ng", "openmpi", "cuda", "nvhpc", *provided}


@pytest.mark.parametrize(
    "query", ["hdf5 ^zlib-api", "*", "hdf5 %clang ^mpi", "hdf5 ^petsc", "%fortran", "petsc", "java"]
)
def test_known_names(query: str) -> None:
    """A name is known here, elsewhere in the catalog, or to Spack as a compiler or language."""
    require_known(parse(query), FRAME, graph, lambda: ["petsc"])
    assert unknown_names(parse(query), FRAME, graph, lambda: ["petsc"]) == ()


def test_nobody_is_asked_without_need() -> None:
    """The graph is loaded for a name that is no package here, others for one not known here."""

    def refuse() -> NoReturn:
        raise AssertionError("more was read")

    require_known(parse("hdf5 ^meson"), FRAME, refuse, refuse)
    require_known(parse("cuda"), FRAME, graph, refuse)
    unknown_names(parse("hdf5 ^zlib-ng"), FRAME, refuse, refuse)
    unknown_names(parse("hdf5 ^cuda ^zlib-api"), FRAME, graph, refuse)


@pytest.mark.parametrize(
    ("query", "name", "nearest"),
    [("hdf ^nothing", "hdf", ("hdf5",)), ("nothing-like-it", "nothing-like-it", ())],
)
def test_an_unknown_spec(query: str, name: str, nearest: tuple[str, ...]) -> None:
    """That nothing has the name of the spec itself is an error, with the nearest of all names."""
    with pytest.raises(UnknownPackage) as caught:
        require_known(parse(query), FRAME, graph, lambda: ["petsc"])
    assert (caught.value.name, caught.value.nearest) == (name, nearest)
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    assert (
        str(caught.value)
        == f"no package {name!r} in this revision or in the newest of any tag{hint}"
    )


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
    """Behind ``%`` and ``^``, and where only the case differs, the name is told and no error."""
    names = parse(query), FRAME, graph, lambda: ["petsc"]
    require_known(*names)
    assert {it.name: it.nearest for it in unknown_names(*names)} == unknown


def test_what_is_said_of_an_unknown_name() -> None:
    """The name, and which are nearest."""
    assert str(UnknownName("meson")) == "nothing is named 'meson'"
    assert str(UnknownName("meso", ("meson",))) == "nothing is named 'meso'; nearest: meson"


def test_a_virtual_package_in_the_place_of_a_real_one() -> None:
    """No spec is a virtual package: the answer names what provides it."""
    with pytest.raises(
        InvalidArgument, match=r"package: zlib-api is a virtual package; .*: zlib-ng$"
    ):
        require_known(parse("zlib-api@1:"), FRAME, graph, list)

"""Whether a query goes by a name that nothing has."""

import pytest

from snapshots.contents import Content
from snapshots.errors import UnknownPackage
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.package_names import names_asked, names_known, require_known
from snapshots.models import Dependency
from snapshots.spack.parser import parse
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


def test_names_known() -> None:
    """A revision knows its packages, what they depend on, what is provided, and compilers."""
    edges = (
        Dependency("openmpi", hash_of("openmpi"), ("link",), ("mpi",)),
        Dependency("cuda", hash_of("cuda"), ("link",)),
    )
    outside = a_spec("cuda", name="cuda", dependencies=())
    content = Content.of([a_spec(compiler="nvhpc@25", dependencies=edges)], [outside])
    table = content.table()
    frame = Frame(table, content.digest)
    known = names_known(frame, DependencyGraph(table, frame.hashes))
    assert known == {"hdf5", "openmpi", "mpi", "cuda", "nvhpc"}


KNOWN = ("hdf5", "zlib", "zlib-ng")


@pytest.mark.parametrize(
    "query", ["hdf5 ^zlib", "*", "hdf5 %clang ^mpi", "hdf5 ^petsc", "%fortran"]
)
def test_known_names(query: str) -> None:
    """A name is known here, elsewhere in the catalog, or to Spack as a compiler or language."""
    require_known(parse(query), KNOWN, lambda: ["petsc"])


def test_nobody_is_asked_without_need() -> None:
    """Other revisions are read only for a name that is not known here."""

    def refuse() -> list[str]:
        raise AssertionError("other revisions were asked")

    require_known(parse("hdf5 ^zlib"), KNOWN, refuse)


@pytest.mark.parametrize(
    ("query", "name", "nearest"),
    [
        ("hdf", "hdf", ("hdf5",)),
        ("hdf5 ^zlip", "zlip", ("zlib",)),
        ("hdf5 %pets", "pets", ("petsc",)),
        ("nothing-like-it", "nothing-like-it", ()),
    ],
)
def test_unknown_names(query: str, name: str, nearest: tuple[str, ...]) -> None:
    """A name that nothing has is said to be unknown, with the nearest of all that are known."""
    with pytest.raises(UnknownPackage) as caught:
        require_known(parse(query), KNOWN, lambda: ["petsc"])
    assert (caught.value.name, caught.value.nearest) == (name, nearest)
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    assert str(caught.value) == f"no revision knows a package {name!r}{hint}"

"""Conditions on specs and packages: how each kind of condition is spelled and met."""

import numpy as np
import pytest

from snapshots.frames.filters import SpecFilter
from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.records import frame_of

SPECS = [
    a_spec("a", name="adios2", compiler=None, variants=()),
    a_spec("b", compiler="gcc@13.2.0", variants=("+mpi", "amdgpu_target=gfx90a", "~cxx")),
    a_spec("c", compiler="gcc@9.4.0", variants=('cflags="-O2 -g"', "patches=26090f4,b231fcc")),
    a_spec("d", compiler="gcc-toolset@13.2.0", variants=("+mpi",), stacks=("hep",)),
]
FRAME = frame_of(SPECS)


def found(wanted: SpecFilter) -> str:
    """Return the labels of the specs that meet the conditions."""
    labels = {hash_of(label): label for label in "abcd"}
    rows = np.flatnonzero(FRAME.select(wanted)).tolist()
    return "".join(sorted(labels[FRAME.hashes.at(row)] for row in rows))


@pytest.mark.parametrize(
    ("compilers", "labels"),
    [
        (("gcc",), "bc"),
        (("gcc@13.2.0",), "b"),
        (("gcc@=13.2.0",), "b"),
        (("gcc@13",), ""),
        (("gcc@9.4.0", "gcc-toolset"), "cd"),
        (("none",), ""),
        (("",), ""),
        (("clang",), ""),
        ((), ""),
    ],
)
def test_compilers(compilers: tuple[str, ...], labels: str) -> None:
    """A name means any version of that compiler, a name with a version that one alone."""
    assert found(SpecFilter(compilers=compilers)) == labels


@pytest.mark.parametrize(
    ("variants", "labels"),
    [
        (("+mpi",), "bd"),
        (("+mpi", "~cxx"), "b"),
        (("-cxx",), "b"),
        (("amdgpu_target:=gfx90a",), "b"),
        (("patches:=b231fcc,26090f4",), "c"),
        (("patches=26090f4",), ""),
        (("cflags='-O2 -g'",), "c"),
        (("mpi",), ""),
        ((), "abcd"),
    ],
)
def test_variants(variants: tuple[str, ...], labels: str) -> None:
    """All variants must be there, in whatever spelling the condition has."""
    assert found(SpecFilter(variants=variants)) == labels


@pytest.mark.parametrize(
    ("prefix", "labels"),
    [("", "abcd"), (hash_of("b")[:1], "b"), (hash_of("b"), "b"), ("A", ""), (hash_of("e"), "")],
)
def test_hash_prefix(prefix: str, labels: str) -> None:
    """A hash is found by its beginning, in lower case as hashes are."""
    assert found(SpecFilter(hash_prefix=prefix)) == labels

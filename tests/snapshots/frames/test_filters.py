"""Conditions on specs and packages: how each kind of condition is spelled and met."""

import numpy as np
import pytest

from snapshots.contents import Content
from snapshots.frames.columns import column_of, list_column_of
from snapshots.frames.filters import (
    PackageFilter,
    SpecFilter,
    built_with,
    having_all,
    having_any,
    having_where,
)
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


@pytest.mark.parametrize("prefix", ["", hash_of("b")[:4], hash_of("a")[:13]])
def test_hash_prefix_within_a_package(prefix: str) -> None:
    """Asked of one package, a prefix finds the hashes of that package alone."""
    for name in ("adios2", "hdf5"):
        rows = FRAME.rows_of(name)
        assert rows is not None
        expected = [FRAME.hashes.at(row).startswith(prefix) for row in range(4)[rows]]
        assert FRAME.select(SpecFilter(hash_prefix=prefix), rows).tolist() == expected


def test_conditions_hold_together() -> None:
    """Each list may be met by any of its values, but all lists must be."""
    assert found(SpecFilter(stacks=("e4s", "hep"), packages=("hdf5",))) == "bcd"
    assert found(SpecFilter(stacks=("e4s", "hep"), packages=("hdf5",), compilers=("gcc",))) == "bc"
    assert found(SpecFilter(stacks=())) == ""
    assert found(SpecFilter()) == "abcd"


def test_conditions_of_packages_on_specs() -> None:
    """One spec has to meet all conditions, not one spec each of them."""

    def packages(**conditions: tuple[str, ...]) -> list[str]:
        codes = FRAME.select_packages(PackageFilter(**conditions))  # type: ignore[arg-type]
        return [FRAME.packages[code] for code in codes]

    assert packages(stacks=("hep",)) == ["hdf5"]
    assert packages(compilers=("gcc@9.4.0",)) == ["hdf5"]
    assert packages(stacks=("hep",), compilers=("gcc@9.4.0",)) == []
    assert packages() == ["adios2", "hdf5"]


def test_masks_are_over_distinct_values() -> None:
    """A condition is evaluated once for each distinct value, however many rows have it."""
    table = Content.of(SPECS * 2).table()
    compilers = column_of(table["compiler"], str)
    assert built_with(compilers, ("gcc",)).tolist() == [
        value in ("gcc@13.2.0", "gcc@9.4.0") for value in compilers.values
    ]
    variants = list_column_of(table["variants"])
    lists = [set(value) for value in variants.values]
    assert having_any(variants, ("+mpi", "x")).tolist() == ["+mpi" in value for value in lists]
    assert having_any(variants, ()).tolist() == [False] * len(lists)
    assert having_all(variants, ("+mpi", "-cxx")).tolist() == [
        {"+mpi", "~cxx"} <= value for value in lists
    ]
    assert having_where(variants, lambda variant: "=" in variant).tolist() == [
        any("=" in variant for variant in value) for value in lists
    ]

"""Spack's notions: the order of versions, and the one spelling of each fact."""

import re
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.spack.names import is_hash, is_name, natural_key, natural_order
from snapshots.spack.spelling import (
    canonical_compiler,
    canonical_variant,
    canonical_variants,
    compiler_key,
)
from snapshots.spack.versions import version_key
from tests.snapshots.factories import shuffled

LADDER = (
    "alpine",
    "xsdk",
    "0.9",
    "1.1.1",
    "1.1.1v",
    "1.1.1w",
    "1.1.2",
    "1.2alpha",
    "1.2alpha1",
    "1.2beta",
    "1.2rc1",
    "1.2rc2",
    "1.2rc10",
    "1.2",
    "1.2.a",
    "1.2.0rc1",
    "1.2.0",
    "1.2.1",
    "1.9",
    "1.10",
    "6.1.2",
    "18.1.8",
    "18.1.40",
    "2025.1",
    "20240722.0",
    "9" * 5_000,
    "1" + "0" * 5_000,
    "stable",
    "trunk",
    "head",
    "master",
    "main",
    "develop",
    "develop.1",
)
"""Versions from the oldest to the newest, no two of them equal."""

SEGMENTS = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["a", "w", "rc", "alpha", "beta", "stable", "main", "develop", "custom"]),
)
VERSIONS = st.lists(st.tuples(st.sampled_from(["", ".", "-", "_"]), SEGMENTS), min_size=1).map(
    lambda parts: "".join(separator + segment for separator, segment in parts)
)
VARIANTS = st.one_of(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["amdgpu_target", "patches", "cflags", "build_type"]),
        st.sampled_from(["=", ":=", "==", ":=="]),
        st.sampled_from(["", '"', "'"]),
        st.text("ab, \"'=:", max_size=6),
        st.sampled_from(["", '"', "'"]),
    ),
    st.sampled_from(["+mpi", "~mpi", "-mpi", "", "+", "mpi"]),
)


@pytest.mark.parametrize("place", range(len(LADDER) - 1))
def test_each_step_of_the_ladder_rises(place: int) -> None:
    """Numbers compare as numbers, pre-releases and letters come before, branches above."""
    assert version_key(LADDER[place]) < version_key(LADDER[place + 1])


@given(st.permutations(LADDER))
def test_versions_sort_from_any_order(versions: list[str]) -> None:
    """The order of what comes in does not matter."""
    assert tuple(sorted(versions, key=version_key)) == LADDER


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.2.3", "1.2-3"),
        ("1.2.3", "1_2_3"),
        ("1.2rc1", "1.2-rc.1"),
        ("1.02", "1.2"),
        ("1.1.1w", "1.1.1-w"),
        ("git.0123abc=1.2", "1.2"),
        ("git.feature/x=develop", "develop"),
    ],
)
def test_equal_versions(one: str, other: str) -> None:
    """Separators and leading zeros say nothing; a git version is as old as what it stands for."""
    assert version_key(one) == version_key(other)


@given(st.lists(VERSIONS, max_size=6), st.randoms())
def test_versions_have_a_total_order(versions: list[str], random: Random) -> None:
    """Any versions can be compared, and sort alike whatever their order was."""
    shuffled = sorted(versions, key=lambda _: random.random())
    keys = sorted(map(version_key, versions))
    assert sorted(map(version_key, shuffled)) == keys
    assert all(before <= after for before, after in pairwise(keys))


@given(VERSIONS, VERSIONS)
def test_order_is_antisymmetric(one: str, other: str) -> None:
    """Of two versions exactly one is older, or they are equal."""
    first, second = version_key(one), version_key(other)
    assert (first < second) + (second < first) + (first == second) == 1


@pytest.mark.parametrize(
    ("text", "compiler"),
    [
        ("gcc@=13.2.0", "gcc@13.2.0"),
        ("gcc@13.2.0", "gcc@13.2.0"),
        ("apple-clang@=15.0.0", "apple-clang@15.0.0"),
        ("gcc", "gcc"),
        ("none", None),
        ("", None),
    ],
)
def test_compiler(text: str, compiler: str | None) -> None:
    """Both spellings of a compiler become one, and what stands for none becomes None."""
    assert canonical_compiler(text) == compiler
    if compiler is not None:
        assert canonical_compiler(compiler) == compiler


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("+mpi", "+mpi"),
        ("~mpi", "~mpi"),
        ("-mpi", "~mpi"),
        ("amdgpu_target:=gfx90a", "amdgpu_target=gfx90a"),
        ("amdgpu_target=gfx90a", "amdgpu_target=gfx90a"),
        ("amdgpu_target==gfx90a", "amdgpu_target==gfx90a"),
        ("amdgpu_target:==gfx90a", "amdgpu_target==gfx90a"),
        ("patches:=b231fcc,26090f4", "patches=26090f4,b231fcc"),
        ("patches=26090f4,b231fcc,26090f4", "patches=26090f4,b231fcc"),
        ("languages='c,c++,fortran'", "languages=c,c++,fortran"),
        ("build_type='Release'", "build_type=Release"),
        ('build_type="Release"', "build_type=Release"),
        ("cflags='-O2 -g'", 'cflags="-O2 -g"'),
        ('cflags="-O2 -g"', 'cflags="-O2 -g"'),
        ('cflags=="-O2"', "cflags==-O2"),
        ("ldflags=-Wl,-z,now,-a", "ldflags=-Wl,-z,now,-a"),
        ("note='a, b'", 'note="a, b"'),
        ("note='=a'", 'note="=a"'),
        ("note=:=a", "note=:=a"),
        ("cuda_arch=", "cuda_arch="),
        ("no variant", "no variant"),
    ],
)
def test_variant(text: str, variant: str) -> None:
    """Each variant has one spelling; values are sorted where their order carries no meaning."""
    assert canonical_variant(text) == variant


@given(VARIANTS)
def test_canonical_spelling_is_stable(text: str) -> None:
    """What is in canonical spelling stays as it is."""
    variant = canonical_variant(text)
    assert canonical_variant(variant) == variant


@given(st.lists(VARIANTS, max_size=5), st.randoms())
def test_variants_are_a_set(texts: list[str], random: Random) -> None:
    """The order of a list of variants carries no meaning, nor does a variant given twice."""
    again = sorted([*texts, *texts[:1]], key=lambda _: random.random())
    variants = canonical_variants(texts)
    assert canonical_variants(again) == variants
    assert list(variants) == sorted(set(variants))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcdefghijklmnopqrstuvwxyz234567", True),
        ("abcdefghijklmnopqrstuvwxyz23456", False),
        ("abcdefghijklmnopqrstuvwxyz2345677", False),
        ("abcdefghijklmnopqrstuvwxyz234568", False),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", False),
        ("abcdefghijklmnopqrstuvwxyz234567\n", False),
    ],
)
def test_hash(text: str, *, expected: bool) -> None:
    """A hash is 32 characters of base32, in lower case."""
    assert is_hash(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("py-numpy", True),
        ("7zip", True),
        ("ml-linux-x86_64-cuda", True),
        ("r.x", True),
        ("", False),
        (".hidden", False),
        ("-x", False),
        ("a/b", False),
        ("a b", False),
        ("a\n", False),
    ],
)
def test_name(text: str, *, expected: bool) -> None:
    """A name can stand in a path and in Markdown without harm."""
    assert is_name(text) is expected


def test_natural_order() -> None:
    """Numbers in names count as numbers, however long; letters go by their codes."""
    names = ["Lib10", "lib", "lib2", "lib10", "lib" + "9" * 5_000, "lib-a", "liba"]
    assert sorted(shuffled(names), key=natural_key) == names


def test_compiler_order() -> None:
    """Compilers go by name, then by version."""
    compilers = ["clang@16.0.6", "gcc@9.4.0", "gcc@13.2.0", "gcc@develop", "gcc-runtime@1.0"]
    assert sorted(shuffled(compilers), key=compiler_key) == compilers


@given(st.lists(st.text("ab019-._Z", max_size=6), unique=True))
def test_natural_order_is_that_of_texts_and_numbers(names: list[str]) -> None:
    """Names compare part by part, texts as texts and digits as numbers, then by text."""

    def parts(name: str) -> list[Any]:
        return [int(it) if it.isdecimal() else it for it in re.split("([0-9]+)", name)]

    assert natural_order(names) == sorted(names, key=lambda name: (parts(name), name))
    assert natural_order(names) == sorted(sorted(names), key=natural_key)

"""Parameters of specs, spelled as Spack spells variants."""

import pytest

from snapshots.spack.notation import variant_of


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("mpi", True, "+mpi"),
        ("cxx", False, "~cxx"),
        ("build_system", "cmake", "build_system=cmake"),
        ("amdgpu_target", ["gfx90a", "gfx908"], "amdgpu_target=gfx908,gfx90a"),
        ("patches", ["b231fcc4d5cf", "26090f418891"], "patches=26090f4,b231fcc"),
        ("patches", "26090f418891", "patches=26090f4"),
        ("cflags", ["-O2", "-g"], "cflags='-O2 -g'"),
        ("cflags", ["-g"], "cflags=-g"),
        ("cppflags", ['-DX="1"'], "cppflags='-DX=\"1\"'"),
        ("ldflags", [], None),
        ("languages", ["fortran", "c", "c++"], "languages='c,c++,fortran'"),
        ("motd", "it's", 'motd="it\'s"'),
        ("motd", "", "motd=''"),
        ("cxxstd", 17, "cxxstd=17"),
        ("ratio", 0.5, "ratio=0.5"),
        ("nothing", None, None),
        ("none", [], None),
    ],
)
def test_variant(name: str, value: object, expected: str | None) -> None:
    """A parameter is spelled as Spack, and so the cache pages, spell a variant."""
    assert variant_of(name, value) == expected


@pytest.mark.parametrize("value", [{}, [[]], [None], [{"a": 1}]])
def test_what_is_no_value(value: object) -> None:
    """Objects, and lists of anything but plain values, stand for no variant."""
    with pytest.raises(TypeError):
        variant_of("mpi", value)

"""What Spack's packages say of virtual packages that no record of a spec holds.

A record says which package provides a virtual one to a spec, in the edge between them. Three facts
stand in the recipes alone: the names that compilers had before they were packages, when a compiler
provides a language, and which virtual packages have versions.

Source: Spack's builtin packages.
"""

from collections.abc import Mapping

LANGUAGES = frozenset({"c", "cxx", "fortran"})
"""The virtual packages that compilers provide."""

_ALL = dict.fromkeys(LANGUAGES, "")
_C_FAMILY = {"c": "", "cxx": ""}

LANGUAGES_OF_COMPILERS: Mapping[str, Mapping[str, str]] = {
    "acfl": _ALL,
    "aocc": _ALL,
    "apple-clang": _C_FAMILY,
    "cce": _ALL,
    "fj": _ALL,
    "gcc": {"c": "languages=c", "cxx": "languages=c++", "fortran": "languages=fortran"},
    "intel-oneapi-compilers": _ALL,
    "intel-oneapi-compilers-classic": _ALL,
    "llvm": {"c": "+clang", "cxx": "+clang", "fortran": "+flang"},
    "llvm-amdgpu": _ALL,
    "msvc": _ALL,
    "nag": {"fortran": ""},
    "nvhpc": _ALL,
    "xl": _ALL,
}
"""The languages of each compiler's package, each with the variant that it takes, if any."""

VERSIONED = frozenset(
    {
        "elf",
        "fftw-api",
        "gl",
        "glu",
        "glx",
        "java",
        "libgfortran",
        "libllvm",
        "lua-lang",
        "mpi",
        "opencl",
        "osmesa",
    }
)
"""The virtual packages of which some provider provides certain versions only.

What provides any other one provides every version of it.
"""

_PACKAGES_OF_COMPILERS = {
    "arm": "acfl",
    "clang": "llvm",
    "intel": "intel-oneapi-compilers-classic",
    "oneapi": "intel-oneapi-compilers",
    "rocmcc": "llvm-amdgpu",
}


def package_of_compiler(name: str) -> str:
    """Return the package of a compiler that may go by an older name: clang is llvm."""
    return _PACKAGES_OF_COMPILERS.get(name, name)

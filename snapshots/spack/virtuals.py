"""Virtual packages: what specs provide, and what only the recipes of Spack's packages say.

The edge between two specs records which virtual packages the one provides to the other; from format
6 on a spec also records which it provides at all, with their versions. Three facts are in the
recipes alone: the names that compilers had before they were packages, when a compiler provides a
language, and which virtual packages have versions.

Source: Spack's builtin packages, and its documentation of the format of specs.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from snapshots.spack.versions import VersionList, parse_versions

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
"""The languages of each compiler's package, each with the variant that it requires, if any."""

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


def provides(provided: Iterable[str], virtual: str, versions: VersionList) -> bool:
    """Tell whether a spec provides some of these versions of a virtual package.

    ``provided`` are its virtual packages, as ``snapshots.spack.names.checked_virtual`` accepts
    them. One without versions is provided in all versions.
    """
    for text in provided:
        name, _, limits = text.partition("@")
        if name == virtual and (not limits or _versions(limits).intersects(versions)):
            return True
    return False


@lru_cache(maxsize=1 << 10)
def _versions(text: str) -> VersionList:
    return parse_versions(text)


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

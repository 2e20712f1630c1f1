"""Virtual packages: which ones a spec provides, and facts found only in Spack's package recipes.

The edge between two specs records the virtual packages that one provides to the other. From
format 6 on, a spec also records all that it provides, with their versions. Three facts are only
in the recipes: the former names of compilers that are now packages, the conditions under which a
compiler provides a language, and which virtual packages have versions.

Source: Spack's builtin packages, and its documentation of the spec format.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from snapshots.spack.versions import VersionList, parse_versions

LANGUAGES = frozenset({"c", "cxx", "fortran"})
"""The virtual packages that compilers provide."""

LIBC = "libc"
"""The virtual package that C libraries provide."""

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
"""The virtual packages that have a provider limited to certain versions.

Providers of any other virtual package provide all of its versions.
"""


def provides(provided: Iterable[str], virtual: str, versions: VersionList) -> bool:
    """Return whether a spec provides some of these versions of a virtual package.

    ``provided`` are its virtual packages, in the notation that
    ``snapshots.spack.names.checked_virtual`` accepts. One without versions is provided in all
    versions.
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
    """Return the package of a compiler, which may be given by a former name: clang is llvm."""
    return _PACKAGES_OF_COMPILERS.get(name, name)

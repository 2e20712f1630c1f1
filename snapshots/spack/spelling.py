"""One canonical spelling for each fact: compilers and variants.

Sources: Spack's documentation of specs and versions, and the spellings found in the pages of the
public build cache, which changed over the years without a change of meaning.
"""

import re
from collections.abc import Iterable

from snapshots.spack.remembering import remembered
from snapshots.spack.versions import VersionKey, version_key

COMPILER_FLAGS = frozenset({"cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"})
"""The variants that hold compiler flags: lists whose order matters."""

_VARIANT = re.compile(
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)(?P<operator>:?==?)(?P<value>.*)", re.S
)


def compiler_key(compiler: str) -> tuple[str, VersionKey, str]:
    """Return a sort key for ``name@version``: by name, then by Spack's version order."""
    name, _, version = compiler.partition("@")
    return name, version_key(version), compiler


@remembered(1 << 14)
def canonical_compiler(text: str) -> str | None:
    """Return ``name@version`` for both spellings (gcc@=13.2.0, gcc@13.2.0); None for ``none``."""
    if text in ("", "none"):
        return None
    return text.replace("@=", "@", 1)


@remembered(1 << 16, longest=200)
def canonical_variant(text: str) -> str:
    """Return the one spelling of a variant.

    ``amdgpu_target:=gfx90a`` becomes ``amdgpu_target=gfx90a``, ``-mpi`` becomes ``~mpi``, and the
    values of a multi-valued variant are sorted: their order carries no meaning, unless they are
    compiler flags. Only values with spaces or quotes, or that begin with ``=``, are quoted.
    """
    if text.startswith("-"):
        return "~" + text[1:]
    match = _VARIANT.fullmatch(text)
    if match is None:
        return text
    name, operator, value = match.group("name", "operator", "value")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if value.startswith("=") or any(character in value for character in " \"'"):
        value = f'"{value}"'
    elif "," in value and "=" not in value and name not in COMPILER_FLAGS:
        value = ",".join(sorted(set(value.split(","))))
    return f"{name}{operator.removeprefix(':')}{value}"


def canonical_variants(variants: Iterable[str]) -> tuple[str, ...]:
    """Return the variants in canonical spelling and order, each once."""
    return tuple(sorted(set(map(canonical_variant, variants))))

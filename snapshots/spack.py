"""Spack's own notions: hashes, version order, and one canonical spelling for each fact.

Sources: Spack's documentation of specs and versions, and the spellings found in the pages of the
public build cache, which changed over the years without a change of meaning.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

ROOT_STACK = "root"
"""The stack that is the union of all others: every spec is in it."""

COMPILER_FLAGS = frozenset({"cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"})
"""The variants that hold compiler flags: lists whose order matters."""

_HASH = re.compile(r"[a-z2-7]{32}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=/:@~-]{0,254}")
_VARIANT = re.compile(
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)(?P<operator>:?==?)(?P<value>.*)", re.S
)
_DIGITS = re.compile(r"([0-9]+)")
_SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+")

_INFINITY = ("stable", "trunk", "head", "master", "main", "develop")
_PRERELEASES = ("alpha", "beta", "rc")
_FINAL = len(_PRERELEASES)

Component = tuple[int, int, str]
VersionKey = tuple[tuple[Component, ...], tuple[int | str, ...]]


def is_hash(text: str) -> bool:
    """Tell whether the text is a DAG hash: base32 of a sha1, 32 characters of a-z and 2-7."""
    return _HASH.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """Tell whether the text can be a version: one word, that of a git commit included."""
    return _VERSION.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Tell whether the text can name a package or a stack."""
    return _NAME.fullmatch(text) is not None


@lru_cache(maxsize=1 << 16)
def version_key(version: str) -> VersionKey:
    """Return a sort key in Spack's version order.

    Versions split at ``.``, ``-``, ``_`` and between letters and digits. Numbers compare as
    numbers, letters sort before numbers, the infinity versions (develop, main ...) above them; a
    trailing alpha, beta or rc, with a number or without, sorts before the release itself. A git
    version (``git.COMMIT=VERSION``) sorts as the version that it stands for.
    """
    components: list[str] = _SEGMENT.findall(version.rpartition("=")[2])
    prerelease: tuple[int | str, ...] = (_FINAL,)
    if len(components) > 1 and components[-1] in _PRERELEASES:
        prerelease = (_PRERELEASES.index(components[-1]),)
        components = components[:-1]
    elif len(components) > 2 and components[-1].isdigit() and components[-2] in _PRERELEASES:
        prerelease = (_PRERELEASES.index(components[-2]), *_number(components[-1]))
        components = components[:-2]
    return tuple(map(_component, components)), prerelease


def _component(text: str) -> Component:
    if text.isdigit():
        return 1, *_number(text)
    if text in _INFINITY:
        return 2, _INFINITY.index(text), ""
    return 0, 0, text


def _number(digits: str) -> tuple[int, str]:
    # Orders as int() would, which refuses a number of more than 4,300 digits.
    digits = digits.lstrip("0")
    return len(digits), digits


def newest_first(versions: Iterable[str]) -> list[str]:
    """Return the versions in falling order; the text decides between equal ones."""
    return sorted(versions, key=lambda version: (version_key(version), version), reverse=True)


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts names as people do: lib2 before lib10."""
    return tuple(
        (0, *_number(part)) if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(name)
    )


def compiler_key(compiler: str) -> tuple[str, VersionKey, str]:
    """Return a sort key for ``name@version``: by name, then by Spack's version order."""
    name, _, version = compiler.partition("@")
    return name, version_key(version), compiler


@lru_cache(maxsize=1 << 16)
def canonical_compiler(text: str) -> str | None:
    """Return ``name@version`` for both spellings (gcc@=13.2.0, gcc@13.2.0); None for ``none``."""
    if text in ("", "none"):
        return None
    return text.replace("@=", "@", 1)


@lru_cache(maxsize=1 << 18)
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

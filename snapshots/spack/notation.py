"""Spack's notation of compilers, variants, quoted values and specs, and the canonical notation.

Sources: Spack's documentation and spec grammar, and the notations found on the pages of the
public build cache, which changed over the years while their meaning did not. A backslash escapes
a quote within a quoted value; before any other character, it is an ordinary character.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from snapshots.spack.names import check_number, checked_variant
from snapshots.spack.versions import VersionKey, remembered, version_key

# -- canonical notation

COMPILER_FLAGS = frozenset({"cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"})
"""The variants that contain compiler flags: lists whose order matters."""

_PATCH_DIGITS = 7
"""Number of digits of a patch's checksum on pages; indexes and lock files have all digits."""

_VARIANT = re.compile(
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)(?P<operator>:?==?)(?P<value>.*)", re.S
)


_FLAG = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")


def flags_of(text: str) -> list[str]:
    """Return the compiler flags in a text, in order: ``-DX="a b" -g`` has two.

    They are separated by white space outside of quotes; an unpaired quote is an ordinary character.
    """
    return _FLAG.findall(text)


def compiler_key(compiler: str) -> tuple[str, VersionKey, str]:
    """Return a sort key for ``name@version``: by name, then by Spack's version order."""
    name, _, version = compiler.partition("@")
    return name, version_key(version), compiler


@remembered(1 << 14)
def canonical_compiler(text: str) -> str | None:
    """Return ``name@version`` for gcc@=13.2.0 and gcc@13.2.0; None for ``none``."""
    if text in ("", "none"):
        return None
    return text.replace("@=", "@", 1)


@remembered(1 << 16, longest=200)
def canonical_variant(text: str) -> str:
    """Return the canonical notation of a variant.

    ``amdgpu_target:=gfx90a`` becomes ``amdgpu_target=gfx90a``, and ``-mpi`` becomes ``~mpi``. The
    values of a multi-valued variant are sorted, as their order has no meaning, except for compiler
    flags. Checksums of patches are truncated to seven digits. A value is quoted only if it contains
    spaces or quotes or begins with ``=``.
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
    elif "=" not in value and name not in COMPILER_FLAGS:
        digits = _PATCH_DIGITS if name == "patches" else None
        value = ",".join(sorted({item[:digits] for item in value.split(",")}))
    return f"{name}{operator.removeprefix(':')}{value}"


def canonical_variants(variants: Iterable[str]) -> tuple[str, ...]:
    """Return the variants in canonical notation, sorted and without duplicates."""
    return tuple(sorted(set(map(canonical_variant, variants))))


def checked_variants(variants: Iterable[str]) -> tuple[str, ...]:
    """Return ``canonical_variants``. Raises ValueError for an invalid one, or for too many."""
    canonical = tuple(sorted(set(map(_checked_canonical, variants))))
    check_number(len(canonical))
    return canonical


@lru_cache(maxsize=1 << 16)
def _checked_canonical(text: str) -> str:
    return checked_variant(canonical_variant(text))


# -- quotes


BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.-]+")
"""A value without quotes. Spack omits them around brackets, too, but cannot parse the result."""

_QUOTED = re.compile(r"""(?P<quote>['"])(?P<value>.*)(?P=quote)""", re.S)


def quote(value: str) -> str:
    """Return the value in quotes if Spack quotes it; the inverse of ``unquote``."""
    if BARE_VALUE.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace('"', r"\"") + '"'


def unquote(value: str) -> str:
    """Return a value of a query without its quotes, if it has any."""
    match = _QUOTED.fullmatch(value)
    if match is None:
        return value
    mark = match["quote"]
    return match["value"].replace(f"\\{mark}", mark)


def recorded_value(value: str) -> str:
    """Return the actual value of a recorded variant in canonical notation.

    Spack records a value that contains a single quote as JSON text, and any other verbatim.
    """
    match = _QUOTED.fullmatch(value)
    if match is None:
        return value
    text = match["value"]
    try:
        return str(json.loads(f'"{text}"')) if "'" in text else text
    except ValueError:
        return text


def variant_parts(text: str) -> tuple[str, bool | str]:
    """Return the name and value of a recorded variant: True for ``+mpi``, False for ``~mpi``."""
    if text[:1] in ("+", "~"):
        return text.lstrip("+~"), text[0] == "+"
    name, _, value = text.partition("=")
    return name, value


# -- the short form


def short_form(
    name: str, version: str, variants: Sequence[str], architecture: str, compiler: str | None
) -> str:
    """Return the short form of a spec, given its facts in canonical notation.

    ``architecture`` is PLATFORM-OS-TARGET, ``compiler`` is NAME@VERSION or None.
    """
    switches = "".join(variant for variant in variants if variant.startswith(("+", "~")))
    values = [_value(variant) for variant in variants if variant and variant[0] not in "+~"]
    parts = [f"{name}@{version}{switches}", *values, f"arch={architecture}"]
    if compiler is not None:
        parts.append(f"%{compiler}")
    return " ".join(parts)


def _value(variant: str) -> str:
    name, equals, value = variant.partition("=")
    if value.startswith("="):  # a propagated value
        equals, value = "==", value[1:]
    return f"{name}{equals}{quote(recorded_value(value))}"


# -- parameters

_BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.\-\[\]]+")


def variant_of(name: str, value: object) -> str | None:
    """Return the variant that a parameter represents: ``+mpi``, ``cuda_arch=80,90``.

    None for an empty parameter: a null, or an empty list of flags or values. The values of a list
    are sorted unless they are flags, and patches are truncated to seven digits. Raises ValueError
    unless the value is a bool, a number, a text or a list of those.
    """
    if value is None or value == []:
        return None
    if isinstance(value, bool):
        return f"{'+' if value else '~'}{name}"
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | float) for item in values):
        raise ValueError("is not one of true, false, a number, a text or a list of those")
    texts = list(map(str, values))
    if name in COMPILER_FLAGS:
        return f"{name}={_quoted(' '.join(texts))}"
    if name == "patches":
        texts = [text[:_PATCH_DIGITS] for text in texts]
    return f"{name}={_quoted(','.join(sorted(set(texts))))}"


def _quoted(value: str) -> str:
    """Quote a value if Spack does."""
    if _BARE_VALUE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False) if "'" in value else f"'{value}'"

"""How Spack spells compilers, variants, quoted values and whole specs, and the canonical spelling.

Sources: Spack's documentation and grammar of specs, and the spellings found in the pages of the
public build cache, which changed over the years without a change of meaning. A quote inside a value
is kept from ending it by a backslash; a backslash before anything else is an ordinary character.
"""

import json
import re
from collections.abc import Iterable, Sequence

from snapshots.spack.names import check_number, checked_variant
from snapshots.spack.versions import VersionKey, remembered, version_key

# -- canonical spelling

COMPILER_FLAGS = frozenset({"cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"})
"""The variants that hold compiler flags: lists whose order matters."""

_PATCH_DIGITS = 7
"""To how much of its checksum pages cut a patch; indexes and lock files have all of it."""

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
    compiler flags. Patches are cut to seven digits. Only values with spaces or quotes, or that
    begin with ``=``, are quoted.
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
    """Return the variants in canonical spelling and order, each once."""
    return tuple(sorted(set(map(canonical_variant, variants))))


def checked_variants(variants: Iterable[str]) -> tuple[str, ...]:
    """Return the same, checked. Raises ValueError for a bad one, and for too many."""
    canonical = tuple(sorted({checked_variant(canonical_variant(text)) for text in variants}))
    check_number(len(canonical))
    return canonical


# -- quotes


BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.-]+")
"""What needs no quotes. Spack leaves them out around brackets too, but cannot read that back."""

_QUOTED = re.compile(r"""(?P<quote>['"])(?P<value>.*)(?P=quote)""", re.S)


def quote(value: str) -> str:
    """Return the value in quotes where Spack writes it so; ``unquote`` undoes it."""
    if BARE_VALUE.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace('"', r"\"") + '"'


def unquote(value: str) -> str:
    """Return what a value in a query means: without its quotes, where it has any."""
    match = _QUOTED.fullmatch(value)
    if match is None:
        return value
    mark = match["quote"]
    return match["value"].replace(f"\\{mark}", mark)


def recorded_value(value: str) -> str:
    """Return what the value of a variant in a record means, whose quotes are canonical.

    Spack writes a value with a single quote in it as JSON text, any other as it is.
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
    """Return the name and the value of a recorded variant: True of ``+mpi``, False of ``~mpi``."""
    if text[:1] in ("+", "~"):
        return text.lstrip("+~"), text[0] == "+"
    name, _, value = text.partition("=")
    return name, value


# -- the short form


def short_form(
    name: str, version: str, variants: Sequence[str], architecture: str, compiler: str | None
) -> str:
    """Return the short form of what is recorded in canonical spelling.

    ``architecture`` is PLATFORM-OS-TARGET, ``compiler`` NAME@VERSION or None.
    """
    switches = "".join(variant for variant in variants if variant.startswith(("+", "~")))
    values = [_value(variant) for variant in variants if variant and variant[0] not in "+~"]
    parts = [f"{name}@{version}{switches}", *values, f"arch={architecture}"]
    if compiler is not None:
        parts.append(f"%{compiler}")
    return " ".join(parts)


def _value(variant: str) -> str:
    name, equals, value = variant.partition("=")
    if value.startswith("="):  # a value that was propagated
        equals, value = "==", value[1:]
    return f"{name}{equals}{quote(recorded_value(value))}"


# -- parameters

_BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.\-\[\]]+")


def variant_of(name: str, value: object) -> str | None:
    """Return the variant that a parameter stands for: ``+mpi``, ``cuda_arch=80,90``.

    None for what says nothing: a null, an empty list of flags or values. The values of a list are
    sorted unless they are flags, and patches cut to seven digits. Raises ValueError for a value
    that is not one of bool, number, text or list of those.
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
    """Quote a value where Spack does."""
    if _BARE_VALUE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False) if "'" in value else f"'{value}'"

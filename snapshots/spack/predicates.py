"""What a spec must be like: records that test one fact of a spec at a time, without I/O.

Each predicate takes a single value in canonical spelling, so that it can be asked once for every
distinct value of a column. ``str`` of a record is text that parses to an equal record.

Source: ``satisfies`` of a concrete spec, as Spack's documentation of the spec syntax defines it.
"""

import re
from collections.abc import Collection
from functools import lru_cache

import msgspec

from snapshots.spack.spelling import COMPILER_FLAGS
from snapshots.spack.version_sets import VersionList

ANY_VALUE = ("*",)
"""The values of a variant that only has to be there, written ``KEY=*``."""

BARE_VALUE = re.compile(r"(?!=)(?:[\w*.,:=/\\-]|\+(?![A-Za-z]))+", re.ASCII)
"""A value that needs no quotes: nothing in it can begin the next part of a spec."""

VariantValue = bool | tuple[str, ...]

_PATCHES = "patches"
_PATCH_LENGTH = 7
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<value>.*)(?P=quote)""", re.S)
_TRUTH = {"true": True, "false": False}
_PACKAGE_OF_COMPILER = {
    "arm": "acfl",
    "clang": "llvm",
    "intel": "intel-oneapi-compilers-classic",
    "oneapi": "intel-oneapi-compilers",
    "rocmcc": "llvm-amdgpu",
}


def unquote(text: str) -> str:
    """Return the value without its quotes; a backslash keeps a quote inside from ending it."""
    match = _QUOTED.fullmatch(text)
    if match is None:
        return text
    return re.sub(rf"\\([{match['quote']}\\])", r"\1", match["value"])


def quote(value: str) -> str:
    """Return the value in double quotes where it needs quotes; ``unquote`` undoes it."""
    if BARE_VALUE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def variant_value(name: str, value: str) -> VariantValue:
    """Return what an unquoted value means: true or false, else the values it lists.

    The values of a variant are a set, here sorted; compiler flags keep their order.
    """
    if name in COMPILER_FLAGS:
        return tuple(value.split())
    values = tuple(sorted({item.strip() for item in value.split(",")}))
    return _TRUTH.get(values[0].lower(), values) if len(values) == 1 else values


class CompilerConstraint(msgspec.Struct, frozen=True):
    """A compiler, in any version or in some."""

    name: str
    versions: VersionList | None = None

    def matches(self, compiler: str | None) -> bool:
        """Tell whether ``name@version`` is such a compiler; None, no compiler, never is.

        Spack 1.0 calls some compilers by their package (clang is llvm): the names are the same.
        """
        if compiler is None:
            return False
        name, _, version = compiler.partition("@")
        if _package_of(name) != _package_of(self.name):
            return False
        return self.versions is None or self.versions.includes(version)

    def __str__(self) -> str:
        return f"%{self.name}" if self.versions is None else f"%{self.name}@{self.versions}"


class VariantConstraint(msgspec.Struct, frozen=True):
    """A variant's value, or compiler flags of a kind.

    ``value`` is what ``variant_value`` returns. All values it lists must be among the spec's; with
    ``exact`` the spec has no others, and flags stand in that order.
    """

    name: str
    value: VariantValue
    exact: bool = False

    def matches(self, variants: Collection[str]) -> bool:
        """Tell whether one of a spec's variants is this one with such a value.

        A spec that lacks the variant does not match, whatever the value.
        """
        candidates = (_read_variant(text) for text in variants if self.name in text)
        return any(name == self.name and self._accepts(value) for name, value in candidates)

    def _accepts(self, value: VariantValue) -> bool:
        if self.value == ANY_VALUE or self.value == value:
            return True
        if isinstance(value, bool) or isinstance(self.value, bool):
            return False
        if self.name == _PATCHES:
            return _has_patches(value, self.value, exact=self.exact)
        return not self.exact and set(self.value) <= set(value)

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return f"{'+' if self.value else '~'}{self.name}"
        separator = " " if self.name in COMPILER_FLAGS else ","
        operator = ":=" if self.exact else "="
        return f"{self.name}{operator}{quote(separator.join(self.value))}"


class SpecConstraint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is asked of a spec; what is None or empty sets no condition.

    Platforms, operating systems and targets are lists any of which will do. ``dependencies`` are
    asked of the spec's transitive dependencies, each of at least one of them.
    """

    name: str | None = None
    namespace: str | None = None
    versions: VersionList | None = None
    variants: tuple[VariantConstraint, ...] = ()
    compiler: CompilerConstraint | None = None
    platforms: tuple[str, ...] = ()
    operating_systems: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    hash_prefix: str | None = None
    dependencies: "tuple[SpecConstraint, ...]" = ()

    def __str__(self) -> str:
        version = "" if self.versions is None else f"@{self.versions}"
        parts = [f"{self.name or '*'}{version}", *map(str, self.variants)]
        if self.namespace is not None:
            parts.append(f"namespace={self.namespace}")
        if self.compiler is not None:
            parts.append(str(self.compiler))
        architecture = {
            "platform": self.platforms,
            "os": self.operating_systems,
            "target": self.targets,
        }
        parts += [f"{key}={','.join(names)}" for key, names in architecture.items() if names]
        if self.hash_prefix is not None:
            parts.append(f"/{self.hash_prefix}")
        return " ".join([*parts, *(f"^{dependency}" for dependency in self.dependencies)])


@lru_cache(maxsize=1 << 16)
def _read_variant(text: str) -> tuple[str, VariantValue]:
    if text.startswith(("+", "~")):
        return text.lstrip("+~"), text.startswith("+")
    name, _, value = text.partition("=")
    return name, variant_value(name, unquote(value.removeprefix("=")))


def _has_patches(present: tuple[str, ...], wanted: tuple[str, ...], *, exact: bool) -> bool:
    # Pages shorten the sha256 of a patch to seven digits, indexes do not.
    short = [patch[:_PATCH_LENGTH] for patch in wanted]
    found = [patch for patch in present if patch.startswith(tuple(short))]
    if exact and len(found) < len(present):
        return False
    return all(any(patch.startswith(start) for patch in found) for start in short)


def _package_of(compiler: str) -> str:
    return _PACKAGE_OF_COMPILER.get(compiler, compiler)

"""What one fact of a spec must be like: its variants and compiler flags, tested without I/O.

A predicate takes a single value in canonical spelling, so that it can be asked once for every
distinct value of a column. ``str`` of a record is text that parses to an equal record.

Source: what Spack answers about concrete specs.
"""

from collections.abc import Collection
from functools import lru_cache

import msgspec

from snapshots.spack.quoting import quote, recorded_value
from snapshots.spack.spelling import COMPILER_FLAGS

ANY_VALUE = ("*",)
"""The values of a variant that only has to be there, written ``KEY=*``; no flags are meant so."""

VariantValue = bool | tuple[str, ...]

_PATCHES = "patches"
_PATCH_LENGTH = 7
_TRUTH = {"true": True, "false": False}


def variant_value(name: str, value: str) -> VariantValue:
    """Return what an unquoted value means: true or false, else the values it lists, sorted.

    Compiler flags stand between spaces, other values between commas; both are sets.
    """
    if name in COMPILER_FLAGS:
        return tuple(sorted(set(value.split())))
    values = tuple(sorted({item.strip() for item in value.split(",")}))
    return _TRUTH.get(values[0].lower(), values) if len(values) == 1 else values


class VariantConstraint(msgspec.Struct, frozen=True):
    """A variant's value, or compiler flags of a kind.

    ``value`` is what ``variant_value`` returns. All values it lists must be among the spec's; with
    ``exact`` the spec has no others. With ``propagate`` (``++mpi``) it holds for the spec and for
    everything below it, wherever there is such a variant at all.
    """

    name: str
    value: VariantValue
    exact: bool = False
    propagate: bool = False

    def matches(self, variants: Collection[str]) -> bool:
        """Tell whether one of a spec's variants is this one with such a value.

        A spec that lacks the variant does not match, whatever the value.
        """
        return any(it == (self.name, True) for it in self._found(variants))

    def contradicts(self, variants: Collection[str]) -> bool:
        """Tell whether one of a spec's variants is this one with another value."""
        return any(it == (self.name, False) for it in self._found(variants))

    def _found(self, variants: Collection[str]) -> list[tuple[str, bool]]:
        recorded = (_recorded_variant(text) for text in variants if self.name in text)
        return [(name, self._accepts(value)) for name, value in recorded if name == self.name]

    def _accepts(self, value: VariantValue) -> bool:
        if self.value == value or self._is_any:
            return True
        if isinstance(value, bool) or isinstance(self.value, bool):
            return False
        if self.name == _PATCHES:
            return _has_patches(value, self.value, exact=self.exact)
        return not self.exact and set(self.value) <= set(value)

    @property
    def _is_any(self) -> bool:
        return self.value == ANY_VALUE and self.name not in COMPILER_FLAGS

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            sigil = "+" if self.value else "~"
            return f"{sigil * (1 + self.propagate)}{self.name}"
        separator = " " if self.name in COMPILER_FLAGS else ","
        operator = (":=" if self.exact else "=") + "=" * self.propagate
        value = separator.join(self.value)
        return f"{self.name}{operator}{value if self._is_any else quote(value)}"


@lru_cache(maxsize=1 << 16)
def _recorded_variant(text: str) -> tuple[str, VariantValue]:
    if text.startswith(("+", "~")):
        return text.lstrip("+~"), text.startswith("+")
    name, _, value = text.partition("=")
    return name, variant_value(name, recorded_value(value.removeprefix("=")))


def _has_patches(present: tuple[str, ...], asked: tuple[str, ...], *, exact: bool) -> bool:
    # Pages shorten the sha256 of a patch to seven digits, indexes do not.
    short = [patch[:_PATCH_LENGTH] for patch in asked]
    found = [patch for patch in present if patch.startswith(tuple(short))]
    if exact and len(found) < len(present):
        return False
    return all(any(patch.startswith(start) for patch in found) for start in short)

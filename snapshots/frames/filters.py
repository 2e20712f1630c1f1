"""Conditions on the specs and packages of a frame, and the masks that select matching values."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from snapshots.arrays import Mask
from snapshots.frames.columns import Column, ListColumn
from snapshots.spack.notation import canonical_compiler, canonical_variant
from snapshots.spack.query import is_target

Texts = tuple[str, ...] | None


class SpecFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on specs. A spec has to match all fields, and at least one item of each list.

    ``compilers`` has names (gcc) or names with versions (gcc@13.2.0), ``targets`` names of targets
    or of families (aarch64), which all their targets meet. ``variants`` is an exception:
    a spec has to have all of them. ``search`` is a substring of the package's name, ignoring case.
    None sets no condition; no spec matches an empty list.
    """

    search: str | None = None
    packages: Texts = None
    versions: Texts = None
    compilers: Texts = None
    operating_systems: Texts = None
    platforms: Texts = None
    targets: Texts = None
    stacks: Texts = None
    variants: Texts = None
    hash_prefix: str | None = None


def named_like(column: Column[str], search: str) -> Mask:
    """Return a mask of the distinct names that contain the text, ignoring case."""
    text = search.lower()
    return column.where(lambda name: text in name.lower())


def having_any(column: ListColumn, items: tuple[str, ...]) -> Mask:
    """Return a mask of the distinct lists with at least one of the items."""
    mask = np.zeros(len(column.values), np.bool_)
    for item in items:
        mask |= column.having(item)
    return mask


def having_all(column: ListColumn, items: tuple[str, ...]) -> Mask:
    """Return a mask of the distinct lists with all of the variants."""
    mask = np.ones(len(column.values), np.bool_)
    for item in items:
        mask &= column.having(canonical_variant(item))
    return mask


def having_where(column: ListColumn, accept: Callable[[str], bool]) -> Mask:
    """Return a mask of the distinct lists with at least one accepted item."""
    accepted = np.fromiter(map(accept, column.items), np.bool_, len(column.items))
    mask = np.zeros(len(column.values), np.bool_)
    mask[column.owner[accepted[column.flat]]] = True
    return mask


def built_with(column: Column[str | None], compilers: tuple[str, ...]) -> Mask:
    """Return a mask of the distinct compilers with a name in ``compilers``.

    A name without a version matches all versions.
    """
    names = {canonical_compiler(compiler) for compiler in compilers} - {None}
    return column.where(
        lambda value: value is not None and (value in names or value.partition("@")[0] in names)
    )


def built_for(column: Column[str | None], targets: tuple[str, ...]) -> Mask:
    """Return a mask of the distinct targets that have, or whose family has, one of the names."""
    return column.where(lambda value: any(is_target(value, name) for name in targets))


CONDITIONS: Mapping[str, tuple[str, Callable[[Any, Any], Mask]]] = {
    "search": ("package", named_like),
    "packages": ("package", Column.among),
    "versions": ("version", Column.among),
    "compilers": ("compiler", built_with),
    "operating_systems": ("operating_system", Column.among),
    "platforms": ("platform", Column.among),
    "targets": ("target", built_for),
    "stacks": ("stacks", having_any),
    "variants": ("variants", having_all),
}
"""The column of each condition of a SpecFilter, and the mask of its values that meet the condition.

``hash_prefix`` is evaluated by ``Frame.select`` itself.
"""

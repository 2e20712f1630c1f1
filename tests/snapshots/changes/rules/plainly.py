"""A plain way over records to what rules find."""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.rules.rules import Forbidden, Only
from snapshots.models import Spec
from snapshots.spack.versions import VersionKey, version_key

Found = set[tuple[str, ...]]
Matches = Callable[[Spec], bool]


def in_scope(specs: Iterable[Spec], only: Only, matches: Matches) -> list[Spec]:
    """Return the specs that a rule is about."""
    return [
        spec
        for spec in specs
        if (only.stack is None or only.stack in spec.stacks)
        and (not only.packages or any(fnmatchcase(spec.name, it) for it in only.packages))
        and not any(fnmatchcase(spec.name, it) for it in only.except_packages)
        and (only.matching is None or matches(spec))
    ]


def forbidden(
    what: Forbidden, base: Sequence[Spec], head: Sequence[Spec], stack: str | None
) -> Found:
    """Return what happened between the specs of base and of head that a rule is about."""
    match what:
        case Forbidden.PACKAGE_REMOVED:
            return _only_in(base, head, lambda it: {(it.name,)})
        case Forbidden.VERSION_REMOVED:
            return _only_in(base, head, lambda it: {(it.name, it.version)})
        case Forbidden.SPEC_REMOVED:
            return _only_in(base, head, lambda it: {(it.hash,)})
        case Forbidden.STACK_REMOVED:
            return _only_in(base, head, lambda it: {(name,) for name in _stacks(it, stack)})
        case Forbidden.COVERAGE_LOST:
            dimensions = (CoverageDimension.STACK, CoverageDimension.TARGET)
            return lost(dimensions, base, head, stack)
        case Forbidden.PACKAGE_DOWNGRADED:
            return {
                (name,)
                for name in {it.name for it in base} & {it.name for it in head}
                if _newest(base, name) > _newest(head, name)
            }


def lost(
    dimensions: Sequence[CoverageDimension],
    base: Sequence[Spec],
    head: Sequence[Spec],
    stack: str | None,
) -> Found:
    """Return the cells that base has and head has not."""

    def cells(spec: Spec) -> Found:
        found: Found = {(spec.name,)}
        for dimension in dimensions:
            values = _values(spec, dimension, stack)
            found = {(*cell, value) for cell in found for value in values}
        return found

    return _only_in(base, head, cells)


def is_told(dimensions: Sequence[CoverageDimension], specs: Sequence[Spec]) -> bool:
    """Tell whether one of some specs, if there are any, has a value for each dimension."""
    return not specs or all(any(_values(it, by, None) for it in specs) for by in dimensions)


def _values(spec: Spec, dimension: CoverageDimension, stack: str | None) -> set[str]:
    if dimension is CoverageDimension.STACK:
        return _stacks(spec, stack)
    value = getattr(spec, dimension.value)
    return set() if value is None else {value}


def _stacks(spec: Spec, stack: str | None) -> set[str]:
    return {it for it in spec.stacks if it != "root" and stack in (None, it)}


def _only_in(base: Iterable[Spec], head: Iterable[Spec], keys: Callable[[Spec], Found]) -> Found:
    theirs = {key for spec in head for key in keys(spec)}
    return {key for spec in base for key in keys(spec)} - theirs


def _newest(specs: Iterable[Spec], name: str) -> VersionKey:
    return max(version_key(it.version) for it in specs if it.name == name)

"""The availability of packages, cell by cell, and the rules about it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, NamedTuple

from snapshots.changes.rules.measures import RuleScope
from snapshots.changes.rules.rules import Forbidden
from snapshots.models import Spec
from snapshots.spack.names import natural_key
from snapshots.spack.notation import compiler_key
from snapshots.spack.versions import version_key
from tests.model.listings import package_kind
from tests.model.states import State, stacks_of

NUM_NEAREST = 3

_ALIKE = ("version", "compiler", "platform", "operating_system", "target", "variants", "stacks")
_DIMENSIONS = {"stacks": "stack"}


class Cell(NamedTuple):
    """A package with one value for each of some dimensions."""

    package: str
    values: tuple[str, ...]


class CellChange(NamedTuple):
    """A cell of one side only, its number of specs, and the nearest hashes of head."""

    is_lost: bool
    cell: Cell
    num_specs: int
    nearest: tuple[str, ...]


def values_of(spec: Spec, dimension: str) -> Collection[str]:
    """Return the values that a spec has in a dimension, named as in GraphQL but in lower case."""
    match dimension:
        case "stack":
            return stacks_of(spec)
        case "compiler":
            return [spec.compiler] if spec.compiler else []
        case "compiler_name":
            return [spec.compiler.partition("@")[0]] if spec.compiler else []
    return [getattr(spec, dimension)]


def states_all(dimensions: Iterable[str], specs: Collection[Spec]) -> bool:
    """Return whether, for each dimension, any of the specs has a value; True without specs."""
    return not specs or all(any(values_of(spec, by) for spec in specs) for by in dimensions)


def cells(specs: Iterable[Spec], dimensions: Sequence[str]) -> Mapping[Cell, list[Spec]]:
    """Return the specs of each cell."""
    by_cell: defaultdict[Cell, list[Spec]] = defaultdict(list)
    for spec in specs:
        for values in product(*(values_of(spec, dimension) for dimension in dimensions)):
            by_cell[Cell(spec.name, values)].append(spec)
    return by_cell


def coverage(base: State, head: State, dimensions: Sequence[str]) -> list[CellChange]:
    """Return the lost and gained cells; none if no spec of a side has a value of a dimension.

    A dimension that is given twice counts once.
    """
    dimensions = list(dict.fromkeys(dimensions))
    sides = base.specs.values(), head.specs.values()
    if not all(states_all(dimensions, specs) for specs in sides):
        return []
    before, after = (cells(specs, dimensions) for specs in sides)
    changes = [
        CellChange(True, cell, len(before[cell]), _nearest(cell, before[cell], head, dimensions))
        for cell in before.keys() - after.keys()
    ] + [CellChange(False, cell, len(after[cell]), ()) for cell in after.keys() - before.keys()]
    return sorted(changes, key=lambda change: order_of(change.cell, dimensions))


def order_of(cell: Cell, dimensions: Sequence[str]) -> tuple[Any, ...]:
    """Return the sort key of a cell: its package, then its values in the dimensions."""
    values = (_value_order(*value) for value in zip(dimensions, cell.values, strict=True))
    return natural_key(cell.package), cell.package, *values


def _value_order(dimension: str, value: str) -> tuple[Any, ...]:
    if dimension == "version":
        return version_key(value), value
    return compiler_key(value) if dimension == "compiler" else (natural_key(value), value)


def _nearest(
    cell: Cell, lost: Sequence[Spec], head: State, dimensions: Sequence[str]
) -> tuple[str, ...]:
    """Return the specs of the package that head still has, those most similar to the cell first."""
    others = [fact for fact in _ALIKE if _DIMENSIONS.get(fact, fact) not in dimensions]

    def is_alike(spec: Spec, fact: str) -> bool:
        if fact == "stacks":
            return any(stacks_of(spec) & stacks_of(other) for other in lost)
        value = getattr(spec, fact)
        return value is not None and any(value == getattr(other, fact) for other in lost)

    def rank(spec: Spec) -> tuple[int, int]:
        values = zip(dimensions, cell.values, strict=True)
        equal = sum(value in values_of(spec, dimension) for dimension, value in values)
        return -equal, -sum(is_alike(spec, fact) for fact in others)

    specs = sorted(head.of_package(cell.package), key=lambda spec: spec.hash)
    specs.sort(key=lambda spec: (version_key(spec.version), spec.version), reverse=True)
    return tuple(spec.hash for spec in sorted(specs, key=rank)[:NUM_NEAREST])


# -- rules

Keys = set[tuple[str, ...]]
"""The findings of rules: packages, versions, hashes, stacks or cells."""


def in_scope(specs: Iterable[Spec], only: RuleScope, matches: Callable[[Spec], bool]) -> list[Spec]:
    """Return the specs to which a rule applies."""
    return [
        spec
        for spec in specs
        if (only.stack is None or only.stack in spec.stacks)
        and (not only.package or any(fnmatchcase(spec.name, glob) for glob in only.package))
        and not any(fnmatchcase(spec.name, glob) for glob in only.except_)
        and (only.matching is None or matches(spec))
    ]


def forbidden(
    event: Forbidden, base: Sequence[Spec], head: Sequence[Spec], stack: str | None
) -> Keys:
    """Return the differences between the specs of base and of head that a rule forbids."""
    if event is Forbidden.PACKAGE_DOWNGRADED:
        names = {spec.name for spec in base} & {spec.name for spec in head}
        sides = {
            name: [[spec for spec in side if spec.name == name] for side in (base, head)]
            for name in names
        }
        return {(name,) for name in names if package_kind(*sides[name]) == "DOWNGRADED"}
    keys: dict[Forbidden, Callable[[Sequence[Spec]], Keys]] = {
        Forbidden.PACKAGE_REMOVED: lambda specs: {(spec.name,) for spec in specs},
        Forbidden.VERSION_REMOVED: lambda specs: {(spec.name, spec.version) for spec in specs},
        Forbidden.SPEC_REMOVED: lambda specs: {(spec.hash,) for spec in specs},
        Forbidden.STACK_REMOVED: lambda specs: {key[1:] for key in _of(specs, stack)},
        Forbidden.COVERAGE_LOST: lambda specs: _of(specs, stack, ("stack", "target")),
    }
    return _lost(base, head, keys[event])


def lost_cells(
    dimensions: Sequence[str], base: Sequence[Spec], head: Sequence[Spec], stack: str | None
) -> Keys:
    """Return the cells that base has and head lacks; of one stack, or of all."""
    return _lost(base, head, lambda specs: _of(specs, stack, dimensions))


def _of(specs: Iterable[Spec], stack: str | None, dimensions: Sequence[str] = ("stack",)) -> Keys:
    """Return the keys of cells; if a dimension is the stack, only those of the given stack."""
    return {
        (cell.package, *cell.values)
        for cell in cells(specs, dimensions)
        if stack is None or "stack" not in dimensions or stack in cell.values
    }


def _lost(
    base: Sequence[Spec], head: Sequence[Spec], keys: Callable[[Sequence[Spec]], Keys]
) -> Keys:
    return keys(base) - keys(head)

"""Which packages can be had where, cell by cell."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from snapshots.models import Spec
from snapshots.spack.names import natural_key
from snapshots.spack.spelling import compiler_key
from snapshots.spack.versions import version_key
from tests.snapshots.changes.oracle.states import State, stacks_of

NUM_NEAREST = 3

_ALIKE = ("version", "compiler", "platform", "operating_system", "target", "variants", "stacks")
_DIMENSIONS = {"stacks": "stack"}


class Cell(NamedTuple):
    """A package with one value for each of some dimensions."""

    package: str
    values: tuple[str, ...]


class CellChange(NamedTuple):
    """A cell that only one side has, and how many of its specs stand in it.

    ``nearest`` are hashes of head; there are none for a cell that is gained.
    """

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


def cells(specs: Collection[Spec], dimensions: Sequence[str]) -> Mapping[Cell, list[Spec]]:
    """Return the specs of each cell; the value of a dimension that is named twice stands twice."""
    found: defaultdict[Cell, list[Spec]] = defaultdict(list)
    distinct = list(dict.fromkeys(dimensions))
    for spec in specs:
        for values in product(*(values_of(spec, it) for it in distinct)):
            value = dict(zip(distinct, values, strict=True))
            found[Cell(spec.name, tuple(value[it] for it in dimensions))].append(spec)
    return found


def coverage(base: State, head: State, dimensions: Sequence[str]) -> list[CellChange]:
    """Return the cells that were lost or gained, by package and value by value.

    Nothing is where a side has specs, but none that tells a value of a dimension.
    """
    sides = base.specs.values(), head.specs.values()
    for dimension in dimensions:
        if any(it and not any(values_of(spec, dimension) for spec in it) for it in sides):
            return []
    before, after = (cells(it, dimensions) for it in sides)
    changes = [
        CellChange(True, cell, len(before[cell]), _nearest(cell, before[cell], head, dimensions))
        for cell in before.keys() - after.keys()
    ] + [CellChange(False, cell, len(after[cell]), ()) for cell in after.keys() - before.keys()]
    return sorted(changes, key=lambda it: _order(it.cell, dimensions))


def _order(cell: Cell, dimensions: Sequence[str]) -> tuple[Any, ...]:
    values = zip(dimensions, cell.values, strict=True)
    return natural_key(cell.package), cell.package, *(_value_order(*it) for it in values)


def _value_order(dimension: str, value: str) -> tuple[Any, ...]:
    if dimension == "version":
        return version_key(value), value
    return compiler_key(value) if dimension == "compiler" else (natural_key(value), value)


def _nearest(
    cell: Cell, lost: Sequence[Spec], head: State, dimensions: Sequence[str]
) -> tuple[str, ...]:
    """Return the specs of the package that head still has, those most like the cell first."""
    others = [fact for fact in _ALIKE if _DIMENSIONS.get(fact, fact) not in dimensions]

    def is_alike(spec: Spec, fact: str) -> bool:
        if fact == "stacks":
            return any(stacks_of(spec) & stacks_of(it) for it in lost)
        value = getattr(spec, fact)
        return value is not None and any(value == getattr(it, fact) for it in lost)

    def rank(spec: Spec) -> tuple[int, int]:
        wanted = zip(dimensions, cell.values, strict=True)
        equal = sum(value in values_of(spec, dimension) for dimension, value in wanted)
        return -equal, -sum(is_alike(spec, it) for it in others)

    specs = sorted(head.of_package(cell.package), key=lambda it: it.hash)
    specs.sort(key=lambda it: (version_key(it.version), it.version), reverse=True)
    return tuple(it.hash for it in sorted(specs, key=rank)[:NUM_NEAREST])

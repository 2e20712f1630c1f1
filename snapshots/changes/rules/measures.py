"""What a rule can limit: the counts of a comparison's summary, and the sizes of what came and went.

Each measure has its whole: what base has of the same, which a percentage is of.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from snapshots.changes.coverage import CoverageChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason, code_of
from snapshots.changes.rules.scopes import Scope
from snapshots.changes.spec_changes import SpecChangeKind, SpecChanges
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.columns import Rows
from snapshots.frames.frame import Frame


class Measured(NamedTuple):
    """How much there is of something, and of how much in base; None for what nobody knows.

    ``changes`` are the specs that were counted, where specs were. ``num_unknown`` of them have no
    size.
    """

    amount: int | None
    whole: int | None
    changes: SpecChanges | None = None
    num_unknown: int = 0


class Measure(NamedTuple):
    """A way to count; ``noun`` is what is counted, ``happened`` what became of it."""

    noun: str
    happened: str
    take: Callable[[Scope], Measured]
    is_size: bool = False


def _packages(kind: PackageChangeKind, scope: Scope) -> Measured:
    return Measured(scope.comparison.packages.count(kind), scope.num_packages)


def _packages_unchanged(scope: Scope) -> Measured:
    return Measured(scope.comparison.num_packages_unchanged, scope.num_packages)


def _specs(kind: SpecChangeKind, scope: Scope) -> Measured:
    changes = scope.comparison.specs.select([kind])
    return Measured(len(changes), scope.num_specs, changes)


def _specs_unchanged(scope: Scope) -> Measured:
    return Measured(scope.comparison.num_unchanged, scope.num_specs)


def _reasons(reason: SpecChangeReason, scope: Scope) -> Measured:
    changes = scope.comparison.specs
    changes = changes.take(scope.explain().reasons(changes) == code_of(reason))
    return Measured(len(changes), scope.num_specs, changes)


def _stacks(kind: StackChangeKind, scope: Scope) -> Measured:
    return Measured(len(scope.stacks(kind)), scope.num_stacks)


def _coverage(kind: CoverageChangeKind, scope: Scope) -> Measured:
    cells = scope.cells(scope.usual_dimensions)
    return Measured(cells.count(kind), scope.num_cells(scope.usual_dimensions))


def _size(kind: SpecChangeKind, scope: Scope) -> Measured:
    """Return the sum of the known sizes of the binary packages that came, or went."""
    changes = scope.comparison.specs.select([kind])
    is_added = kind is SpecChangeKind.ADDED
    rows = changes.after if is_added else changes.before
    sizes = (changes.head if is_added else changes.base).size.numbers[rows]
    num_unknown = int(np.count_nonzero(sizes < 0))
    is_told = num_unknown < len(rows) or not len(rows)
    count = int(np.maximum(sizes, 0).sum()) if is_told else None
    whole, _ = scope.comparison.packages.total_sizes()
    return Measured(count, whole, changes, num_unknown)


def _all_measures() -> Iterator[tuple[str, Measure]]:
    for of_package in PackageChangeKind:
        name = of_package.value.replace("_", "-")
        told = {"versions-changed": "with other versions"}.get(name, name)
        yield f"packages-{name}", Measure("package", told, partial(_packages, of_package))
    yield "packages-unchanged", Measure("package", "unchanged", _packages_unchanged)
    for of_spec in SpecChangeKind:
        yield f"specs-{of_spec.value}", Measure("spec", of_spec.value, partial(_specs, of_spec))
    yield "specs-unchanged", Measure("spec", "unchanged", _specs_unchanged)
    for name, reason in (
        ("rebuilt", SpecChangeReason.REBUILT),
        ("replaced", SpecChangeReason.REPLACES),
    ):
        yield f"specs-{name}", Measure("spec", name, partial(_reasons, reason))
    for of_stack in (StackChangeKind.ADDED, StackChangeKind.REMOVED):
        name = of_stack.value
        yield f"stacks-{name}", Measure("stack", name, partial(_stacks, of_stack))
    for of_cell in CoverageChangeKind:
        name = of_cell.value
        yield f"coverage-{name}", Measure("cell", name, partial(_coverage, of_cell))
    for of_size in (SpecChangeKind.ADDED, SpecChangeKind.REMOVED):
        name = of_size.value
        yield f"size-{name}", Measure("size", name, partial(_size, of_size), is_size=True)


MEASURES: Mapping[str, Measure] = dict(_all_measures())
"""The measures by the names that a file has for them: those of the summary, with dashes."""


def rows_of(changes: SpecChanges) -> tuple[Frame, Rows]:
    """Return the frame and the rows of changes of one kind: of head, unless they were removed."""
    is_removed = bool(len(changes)) and int(changes.after[0]) < 0
    return (changes.base, changes.before) if is_removed else (changes.head, changes.after)


__all__ = ["MEASURES", "Measure", "Measured", "rows_of"]

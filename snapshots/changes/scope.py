"""The part of a comparison that is asked for: conditions, and the rows that meet them."""

from collections.abc import Sequence

import msgspec

from snapshots.arrays import Mask
from snapshots.changes.coverage import CoverageChanges, CoverageDimension, coverage
from snapshots.changes.diff import Comparison
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame


class ComparisonFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that narrow a comparison; all apply, and None sets no condition.

    ``matching`` is a query in Spack's spec syntax.
    """

    package: str | None = None
    stack: str | None = None
    matching: str | None = None

    def __bool__(self) -> bool:
        return any((self.package, self.stack, self.matching))


class Scope(msgspec.Struct, frozen=True):
    """The rows of base and head in scope, and the conditions for them."""

    only: ComparisonFilter
    in_base: Mask
    in_head: Mask


def scope_of(
    only: ComparisonFilter, sides: tuple[Frame, Frame], matching: tuple[Mask, Mask] | None
) -> Scope:
    """Return the scope of two frames; ``matching`` are masks of the rows that the query matches."""
    conditions = SpecFilter(
        packages=None if only.package is None else (only.package,),
        stacks=None if only.stack is None else (only.stack,),
    )
    masks = [frame.select(conditions) for frame in sides]
    if matching is not None:
        masks = [mask & matches for mask, matches in zip(masks, matching, strict=True)]
    return Scope(only, *masks)


def coverage_in(
    scope: Scope | None, comparison: Comparison, dimensions: Sequence[CoverageDimension]
) -> CoverageChanges:
    """Return the coverage changes of the specs in scope, for a comparison that is not narrowed."""
    if scope is None:
        return coverage(comparison, dimensions)
    cells = coverage(comparison, dimensions, (scope.in_base, scope.in_head))
    # Cells of other stacks are dropped: specs out of scope may cover them as well.
    return cells.of_stack(scope.only.stack)

"""The numbers of a comparison: how much there was, how much there is, and what changed."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.coverage import CoverageChangeKind, CoverageChanges
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import code_of, tells_stacks
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.columns import Rows
from snapshots.frames.frame import Frame


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How many packages, specs and stacks were added, removed and changed.

    Total sizes are the sums of the sizes that are known, in bytes; None where no size is known.
    """

    packages_added: int
    packages_removed: int
    packages_upgraded: int
    packages_downgraded: int
    packages_versions_changed: int
    packages_rebuilt: int
    packages_changed: int
    packages_unchanged: int
    specs_added: int
    specs_removed: int
    specs_changed: int
    specs_unchanged: int
    stacks_added: int
    stacks_removed: int
    total_size_before: int | None
    total_size_after: int | None


class ExplainedSummary(Summary, frozen=True, kw_only=True):
    """A summary with what sizes, reasons and coverage add to it.

    ``total_size_delta`` is None where one side knows no sizes. ``specs_rebuilt`` and
    ``specs_replaced`` are the added specs with a counterpart. ``coverage_lost`` and
    ``coverage_gained`` count all cells of the dimensions that were asked for.
    """

    total_size_delta: int | None
    specs_rebuilt: int
    specs_replaced: int
    coverage_lost: int
    coverage_gained: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """How much one side has.

    ``num_stacks`` leaves out root, and is None where the source tells no stacks.
    """

    num_packages: int
    num_specs: int
    num_stacks: int | None


def summarize(comparison: Comparison) -> Summary:
    """Count the changes."""
    return Summary(**_counts(comparison))


def summarize_explained(
    comparison: Comparison, reasons: npt.NDArray[np.int8], cells: CoverageChanges
) -> ExplainedSummary:
    """Count the changes; ``reasons`` are the codes of those of the comparison's specs."""
    counts = _counts(comparison)
    before, after = counts["total_size_before"], counts["total_size_after"]
    by_reason = np.bincount(reasons, minlength=len(REASONS))
    return ExplainedSummary(
        **counts,
        total_size_delta=None if before is None or after is None else after - before,
        specs_rebuilt=int(by_reason[code_of(SpecChangeReason.REBUILT)]),
        specs_replaced=int(by_reason[code_of(SpecChangeReason.REPLACES)]),
        coverage_lost=cells.count(CoverageChangeKind.LOST),
        coverage_gained=cells.count(CoverageChangeKind.GAINED),
    )


def totals(comparison: Comparison) -> tuple[Totals, Totals]:
    """Return how much base and head have, as far as they are compared."""
    pairing, (before, after) = comparison.pairing, comparison.stacks.num_stacks
    return (
        _totals(pairing.base, pairing.base_rows, before),
        _totals(pairing.head, pairing.head_rows, after),
    )


def _totals(frame: Frame, rows: Rows | slice, num_stacks: int) -> Totals:
    codes = frame.package.codes[rows]
    return Totals(
        num_packages=len(np.unique(codes)),
        num_specs=len(codes),
        num_stacks=num_stacks if tells_stacks(frame) else None,
    )


def _counts(comparison: Comparison) -> dict[str, Any]:
    packages, specs, stacks = comparison.packages, comparison.specs, comparison.stacks
    size_before, size_after = packages.total_sizes()
    return {
        **{f"packages_{kind.value}": packages.count(kind) for kind in PackageChangeKind},
        "packages_unchanged": comparison.num_packages_unchanged,
        **{f"specs_{kind.value}": specs.count(kind) for kind in SpecChangeKind},
        "specs_unchanged": comparison.num_unchanged,
        "stacks_added": stacks.count(StackChangeKind.ADDED),
        "stacks_removed": stacks.count(StackChangeKind.REMOVED),
        "total_size_before": size_before,
        "total_size_after": size_after,
    }

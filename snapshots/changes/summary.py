"""The numbers of a comparison, and what it does not count."""

import msgspec
import numpy as np

from snapshots.arrays import Rows
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import states_stacks
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.frame import Frame

LEFT_OUT = (
    "the stack root, which is the union of all others",
    "facts that only one of the two revisions knows, such as sizes that were read for one of them",
    "tarball URLs, which name the tag and stack that a binary was fetched for",
    "dependencies and patches, which are the same as long as the hash is",
    "the order of lists, and the two spellings of compilers and variants",
)
"""Differences that a comparison does not count as changes."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of packages, specs and stacks that were added, removed and changed.

    Total sizes are sums of the known sizes in bytes; None if no size is known. Numbers of stacks
    are None if the source of either side has no stacks. ``binaries_replaced`` counts the hashes
    whose binaries have another known checksum on each side.
    """

    packages_added: int
    packages_removed: int
    packages_upgraded: int
    packages_downgraded: int
    packages_versions_changed: int
    packages_builds_changed: int
    packages_more_builds: int
    packages_fewer_builds: int
    packages_changed: int
    packages_unchanged: int
    specs_added: int
    specs_removed: int
    specs_changed: int
    specs_unchanged: int
    binaries_replaced: int
    stacks_added: int | None
    stacks_removed: int | None
    total_size_before: int | None
    total_size_after: int | None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of packages, specs and stacks of one side.

    ``num_stacks`` does not count the root stack, and is None if the source does not list stacks.
    """

    num_packages: int
    num_specs: int
    num_stacks: int | None


def summarize(comparison: Comparison) -> Summary:
    """Count the changes."""
    packages, specs = comparison.packages, comparison.specs
    size_before, size_after = packages.total_sizes()
    counts = {
        **{f"packages_{kind.value}": packages.count(kind) for kind in PackageChangeKind},
        **{f"specs_{kind.value}": specs.count(kind) for kind in SpecChangeKind},
    }
    return Summary(
        **counts,
        packages_unchanged=comparison.num_packages_unchanged,
        specs_unchanged=comparison.num_unchanged,
        binaries_replaced=len(comparison.binaries_replaced),
        stacks_added=num_stacks(comparison, StackChangeKind.ADDED),
        stacks_removed=num_stacks(comparison, StackChangeKind.REMOVED),
        total_size_before=size_before,
        total_size_after=size_after,
    )


def totals(comparison: Comparison) -> tuple[Totals, Totals]:
    """Return the totals of base and head, limited to the compared rows."""
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
        num_stacks=num_stacks if states_stacks(frame) else None,
    )


def num_stacks(comparison: Comparison, kind: StackChangeKind) -> int | None:
    """Return the number of stacks with this kind of change; None if either side has no stacks."""
    is_known = comparison.pairing.persisting.state_stacks
    return comparison.stacks.count(kind) if is_known else None

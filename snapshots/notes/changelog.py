"""The changes between two revisions as release notes tell them, in no format yet."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import Mask, Rows
from snapshots.changes.coverage import (
    CoverageChanges,
    CoverageDimension,
    coverage,
    usual_dimensions,
)
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import code_of, states_stacks
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.models import SideInfo
from snapshots.notes import phrases
from snapshots.notes.causes import CauseEntry, Rebuilds, rebuilds_of
from snapshots.notes.losses import Losses, losses_of
from snapshots.notes.sections import Section, sections_of
from snapshots.notes.sentences import Sentence
from snapshots.recipes.effects import RecipesChange
from snapshots.timelines.growth import MovedStack

LEFT_OUT = (
    "the stack root, which is the union of all others",
    "facts that only one of the two revisions knows, such as sizes that were read for one of them",
    "tarball URLs, which name the tag and stack that a binary was fetched for",
    "dependencies and patches, which are the same as long as the hash is",
    "the order of lists, and the two spellings of compilers and variants",
)
"""Differences that a comparison does not count as changes."""


class ComparisonFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that narrow a comparison; all apply, and None sets no condition.

    ``matching`` is a query in Spack's spec syntax.
    """

    package: str | None = None
    stack: str | None = None
    matching: str | None = None

    def __bool__(self) -> bool:
        return any((self.package, self.stack, self.matching))


class NotesScope(msgspec.Struct, frozen=True):
    """The rows of base and head that release notes describe, and the conditions for them."""

    only: ComparisonFilter
    in_base: Mask
    in_head: Mask


def scope_of(
    only: ComparisonFilter, sides: tuple[Frame, Frame], matching: tuple[Mask, Mask] | None
) -> NotesScope:
    """Return the scope of two frames; ``matching`` are masks of the rows that the query matches."""
    conditions = SpecFilter(
        packages=None if only.package is None else (only.package,),
        stacks=None if only.stack is None else (only.stack,),
    )
    masks = [frame.select(conditions) for frame in sides]
    if matching is not None:
        masks = [mask & matches for mask, matches in zip(masks, matching, strict=True)]
    return NotesScope(only, *masks)


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


class ExplainedSummary(Summary, frozen=True, kw_only=True):
    """A summary with the numbers of added specs that have a counterpart, by its facts."""

    specs_rebuilt: int
    specs_replaced: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of packages, specs and stacks of one side.

    ``num_stacks`` does not count the root stack, and is None if the source does not list stacks.
    """

    num_packages: int
    num_specs: int
    num_stacks: int | None


def summarize(comparison: Comparison) -> Summary:
    """Count the changes."""
    return Summary(**_counts(comparison))


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


def _num_stacks(comparison: Comparison, kind: StackChangeKind) -> int | None:
    """Return the number of stacks with this kind of change; None if either side has no stacks."""
    is_known = comparison.pairing.persisting.state_stacks
    return comparison.stacks.count(kind) if is_known else None


def _counts(comparison: Comparison) -> dict[str, Any]:
    packages, specs = comparison.packages, comparison.specs
    size_before, size_after = packages.total_sizes()
    return {
        **{f"packages_{kind.value}": packages.count(kind) for kind in PackageChangeKind},
        "packages_unchanged": comparison.num_packages_unchanged,
        **{f"specs_{kind.value}": specs.count(kind) for kind in SpecChangeKind},
        "specs_unchanged": comparison.num_unchanged,
        "binaries_replaced": len(comparison.binaries_replaced),
        "stacks_added": _num_stacks(comparison, StackChangeKind.ADDED),
        "stacks_removed": _num_stacks(comparison, StackChangeKind.REMOVED),
        "total_size_before": size_before,
        "total_size_after": size_after,
    }


class Changelog(msgspec.Struct, frozen=True, kw_only=True):
    """The changes from base to head, in sections.

    If ``only`` narrows the notes, all fields except ``base`` and ``head`` describe only the specs
    in scope. ``causes`` has those that explain the most specs first. ``stacks_changed`` is the
    number of stacks on both sides that differ; None if the source of either has no stacks.
    """

    base: SideInfo
    head: SideInfo
    url: str | None
    only: ComparisonFilter
    before: Totals
    after: Totals
    summary: ExplainedSummary
    stacks_changed: int | None
    highlights: list[Sentence]
    causes: list[CauseEntry]
    losses: Losses
    sections: dict[str, Section]


def changelog(
    base: SideInfo,
    head: SideInfo,
    explanation: Explanation,
    scope: NotesScope | None = None,
    recipes: RecipesChange | None = None,
    url: str | None = None,
) -> Changelog:
    """Return the changelog of an explained comparison of these two sides.

    A scope limits the changes that are included; counterparts, reasons and main causes are still
    those of the entire comparison. Commits are omitted without ``recipes``. ``url`` is that of the
    comparison on a server.
    """
    comparison = explanation.comparison
    only = ComparisonFilter() if scope is None else scope.only
    cells = coverage_in(scope, comparison, usual_dimensions(comparison))
    if scope is not None:
        comparison = comparison.narrowed_to(scope.in_base, scope.in_head)
    before, after = totals(comparison)
    packages = list(comparison.packages)
    rebuilds = rebuilds_of(explanation.causes, comparison.specs, recipes)
    losses = losses_of(comparison, packages, explanation, cells)
    stacks = [
        change
        for change in comparison.stacks
        if change.kind is not StackChangeKind.CHANGED and only.stack in (None, change.name)
    ]
    reasons = explanation.reasons(comparison.specs)
    summary = ExplainedSummary(
        **_counts(comparison),
        specs_rebuilt=_count(reasons, SpecChangeReason.REBUILT),
        specs_replaced=_count(reasons, SpecChangeReason.REPLACES),
    )
    # Those without a counterpart, which may be out of scope.
    num_removed = summary.specs_removed - _count(reasons, SpecChangeReason.REPLACED)
    return Changelog(
        base=base,
        head=head,
        url=url,
        only=only,
        before=before,
        after=after,
        summary=summary,
        stacks_changed=_num_stacks(comparison, StackChangeKind.CHANGED),
        highlights=_highlights(summary, after, num_removed, stacks, packages, rebuilds, losses),
        causes=rebuilds.causes,
        losses=losses,
        sections=sections_of(rebuilds, recipes, losses, stacks, packages, comparison),
    )


def _count(reasons: npt.NDArray[np.int8], reason: SpecChangeReason) -> int:
    return int(np.count_nonzero(reasons == code_of(reason)))


def coverage_in(
    scope: NotesScope | None, comparison: Comparison, dimensions: Sequence[CoverageDimension]
) -> CoverageChanges:
    """Return the coverage changes of the specs in scope, for a comparison that is not narrowed."""
    if scope is None:
        return coverage(comparison, dimensions)
    cells = coverage(comparison, dimensions, (scope.in_base, scope.in_head))
    if scope.only.stack is None or CoverageDimension.STACK not in dimensions:
        return cells
    # Cells of other stacks are dropped: specs out of scope may cover them as well.
    place = [*dict.fromkeys(dimensions)].index(CoverageDimension.STACK)
    of_stack = [value == scope.only.stack for value in cells.cells.values[place]]
    return cells.take(np.array(of_stack, np.bool_)[cells.cells.codes[place]])


def _highlights(
    summary: ExplainedSummary,
    after: Totals,
    num_removed: int,
    stacks: Sequence[StackChange],
    packages: Sequence[PackageChange],
    rebuilds: Rebuilds,
    losses: Losses,
) -> list[Sentence]:
    """Return the sentences that have something to report."""
    moved = [
        MovedStack(stack.kind, stack.name, stack.num_specs_before + stack.num_specs_after)
        for stack in stacks
    ]
    sentences = [
        # A stack that came or went explains most of what follows.
        *phrases.stacks_sentences(moved),
        phrases.specs_sentence(
            after.num_specs,
            added=summary.specs_added,
            rebuilt=summary.specs_rebuilt,
            replaced=summary.specs_replaced,
            removed=num_removed,
            changed=summary.specs_changed,
        ),
        phrases.binaries_sentence(summary.binaries_replaced),
        phrases.packages_sentence(packages),
        phrases.size_sentence(summary.total_size_before, summary.total_size_after),
        *phrases.causes_sentences(rebuilds),
    ]
    if summary.specs_added or summary.specs_removed or losses:
        sentences += phrases.losses_sentences(
            losses,
            summary.specs_removed,
            is_stack_removed=any(stack.kind is StackChangeKind.REMOVED for stack in stacks),
        )
    return [sentence for sentence in sentences if sentence is not None]

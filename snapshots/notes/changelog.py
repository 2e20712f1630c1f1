"""The changes between two revisions, grouped into the story of a release; pure."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from snapshots.changes.coverage import (
    CoverageChanges,
    CoverageDimension,
    coverage,
    usual_dimensions,
)
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.columns import Codes, Mask
from snapshots.frames.frame import Frame
from snapshots.models import RevisionInfo
from snapshots.notes.document import Changelog
from snapshots.notes.entries import PackageEntry, Section, StackEntry
from snapshots.notes.highlights import highlights
from snapshots.notes.losses import tell_losses
from snapshots.notes.rebuilds import tell_rebuilds, why_unknown
from snapshots.notes.scope import Only, Scope
from snapshots.notes.summary import summarize_explained, totals


def changelog(
    base: RevisionInfo,
    head: RevisionInfo,
    explanation: Explanation,
    scope: Scope | None = None,
    returned: Mask | None = None,
) -> Changelog:
    """Group the changes of an explained comparison of these two revisions.

    A scope narrows what is told; counterparts, reasons and main causes are those of the whole.
    ``returned`` is as for ``Explanation.reasons``.
    """
    comparison = explanation.comparison
    only = Only() if scope is None else scope.only
    cells = _cells(comparison, scope)
    if scope is not None:
        comparison = comparison.narrowed_to(scope.in_base, scope.in_head)
    reasons = explanation.reasons(comparison.specs, returned)
    before, after = totals(comparison)
    packages = list(comparison.packages)
    rebuilds = tell_rebuilds(explanation.causes, comparison.specs)
    log = Changelog(
        base=base,
        head=head,
        only=only,
        before=before,
        after=after,
        summary=summarize_explained(comparison, reasons, cells),
        highlights=[],
        causes=list(rebuilds.causes),
        why_unknown=why_unknown(rebuilds.causes),
        no_longer_available=tell_losses(comparison, packages, explanation, cells),
        packages=_packages(comparison, packages, reasons),
        stacks=_stacks(comparison, only),
        stacks_changed=comparison.stacks.count(StackChangeKind.CHANGED),
    )
    return replace(log, highlights=highlights(log, rebuilds))


def _cells(comparison: Comparison, scope: Scope | None) -> CoverageChanges:
    """Return the coverage by the usual dimensions."""
    dimensions = usual_dimensions(comparison)
    # Packages that did not change stand where they stood: to look at them takes time for nothing.
    masks = [
        _of_changed_packages(comparison, frame, codes)
        for frame, codes in zip(
            (comparison.base, comparison.head),
            (comparison.packages.names.in_base, comparison.packages.names.in_head),
            strict=True,
        )
    ]
    if scope is not None:
        masks = [masks[0] & scope.in_base, masks[1] & scope.in_head]
    cells = coverage(comparison, dimensions, (masks[0], masks[1]))
    if scope is None or scope.only.stack is None or CoverageDimension.STACK not in dimensions:
        return cells
    # What a spec of this stack does for its other stacks, specs out of scope may do as well.
    of_stack = [value == scope.only.stack for value in cells.cells.values[0]]
    return cells.take(np.array(of_stack, np.bool_)[cells.cells.codes[0]])


def _of_changed_packages(comparison: Comparison, frame: Frame, codes: Codes) -> Mask:
    """Return the rows of a frame whose package changed; ``codes`` are those of all packages."""
    is_changed = np.zeros(len(frame.packages) + 1, np.bool_)
    is_changed[codes[comparison.packages.places]] = True  # -1, for no such package, is the last
    return is_changed[:-1][frame.package.codes]


def _packages(
    comparison: Comparison, changes: Iterable[PackageChange], codes: npt.NDArray[np.int8]
) -> dict[str, list[PackageEntry]]:
    reasons = _reasons_by_package(comparison, codes)
    facts = comparison.changed_facts_by_package()
    packages: dict[str, list[PackageEntry]] = {section.value: [] for section in Section}
    for change in changes:
        name = change.name
        entry = PackageEntry.of(change, reasons.get(name, {}), facts.get(name, {}))
        packages[Section.of(change).value].append(entry)
    return {section: entries for section, entries in packages.items() if entries}


def _reasons_by_package(
    comparison: Comparison, codes: npt.NDArray[np.int8]
) -> dict[str, dict[str, int]]:
    """Return how many of the specs of each package were added or removed for each reason."""
    specs, names = comparison.specs, comparison.packages.names
    in_head = specs.after >= 0
    places = np.empty(len(specs), np.int64)
    places[in_head] = names.from_head[specs.head.package.codes[specs.after[in_head]]]
    places[~in_head] = names.from_base[specs.base.package.codes[specs.before[~in_head]]]
    keys, counts = np.unique(places * len(REASONS) + codes, return_counts=True)
    found: dict[str, dict[str, int]] = {}
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        place, code = divmod(key, len(REASONS))
        if REASONS[code] is not SpecChangeReason.FACTS:
            found.setdefault(names.names[place], {})[REASONS[code].value] = count
    return found


def _stacks(comparison: Comparison, only: Only) -> dict[str, list[StackEntry]]:
    """Return the stacks that came and went; of a scope of one stack, that one alone."""
    stacks: dict[str, list[StackEntry]] = {
        StackChangeKind.ADDED.value: [],
        StackChangeKind.REMOVED.value: [],
    }
    for change in comparison.stacks:
        if change.kind.value in stacks and only.stack in (None, change.name):
            stacks[change.kind.value].append(StackEntry.of(change))
    return {kind: entries for kind, entries in stacks.items() if entries}

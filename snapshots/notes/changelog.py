"""The changes between two revisions as one document: the data of release notes; pure functions.

The fields are those of the JSON notes and the variables of templates; docs/json.md describes them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from snapshots.arrays import Mask, Rows
from snapshots.changes.coverage import (
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
    coverage,
    usual_dimensions,
)
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import code_of, states_stacks
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.models import SideInfo, public_location, revision_facts
from snapshots.notes import phrases, sections
from snapshots.notes.sentences import Sentence, plain
from snapshots.recipes.effects import RecipesChange


class ComparisonFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that narrow a comparison; all apply, and None sets no condition.

    ``matching`` is a query in Spack's spec syntax.
    """

    package: str | None = None
    stack: str | None = None
    matching: str | None = None

    def __bool__(self) -> bool:
        return any((self.package, self.stack, self.matching))


class RecipesEntry(msgspec.Struct, frozen=True):
    """The commit of the recipes that a revision was built from; its URL if known."""

    repository: str
    commit: str
    found_by: str
    url: str | None


class RecipesEntries(msgspec.Struct, frozen=True):
    """The commits of the recipes that two revisions were built from."""

    base: RecipesEntry
    head: RecipesEntry


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
    """A summary with the numbers that are derived from sizes, reasons and coverage.

    ``total_size_delta`` is None if one side has no known sizes. ``specs_rebuilt`` and
    ``specs_replaced`` are the added specs with a counterpart. ``coverage_lost`` and
    ``coverage_gained`` count all cells of the requested dimensions.
    """

    total_size_delta: int | None
    specs_rebuilt: int
    specs_replaced: int
    coverage_lost: int
    coverage_gained: int


class Ambiguity(msgspec.Struct, frozen=True):
    """A package in which it is unknown which specs replaced which.

    ``num_replaced`` of ``num_specs`` specs replaced another one.
    """

    package: str
    num_replaced: int
    num_specs: int


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


def summarize_explained(
    comparison: Comparison, reasons: npt.NDArray[np.int8], cells: CoverageChanges
) -> ExplainedSummary:
    """Count the changes; ``reasons`` has the code of the reason of each changed spec."""
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


FORMAT = 2
"""Version of the document; incremented when a name is removed or changes its meaning."""


class Changelog(msgspec.Struct, frozen=True, kw_only=True):
    """The changes from base to head, in sections; empty sections are omitted.

    If ``only`` narrows the notes, all fields except ``base`` and ``head`` describe only the specs
    in scope. The keys of ``packages`` are values of PackageChangeKind, those of ``stacks`` of
    StackChangeKind. ``causes`` has those that explain the most specs first. ``why_unknown`` states
    why the causes of some rebuilds are unknown; None if all are known. ``ambiguous`` has the specs
    for which only the hash could determine which spec replaced which. ``commits`` are those between
    ``recipes`` that explain causes; None if unknown, and ``why_no_commits`` then states why.
    ``specs`` are the added and removed hashes, by value of SpecChangeKind; None if there are too
    many to list. ``left_out_here`` has the items of ``left_out`` that apply to these contents.
    """

    format: int = FORMAT
    base: SideInfo
    head: SideInfo
    url: str | None
    only: ComparisonFilter
    before: Totals
    after: Totals
    summary: ExplainedSummary
    highlights: list[Sentence]
    causes: list[sections.CauseEntry]
    why_unknown: str | None
    ambiguous: list[Ambiguity]
    recipes: RecipesEntries | None
    commits: list[sections.EffectEntry] | None
    why_no_commits: str | None
    no_longer_available: sections.Losses
    packages: dict[str, list[sections.ChangedPackage]]
    stacks: dict[str, list[sections.ChangedStack]]
    stacks_changed: int | None
    specs: dict[str, list[sections.ChangedSpec]] | None
    left_out: tuple[str, ...] = sections.LEFT_OUT
    left_out_here: tuple[str, ...]


def to_json(log: Changelog) -> bytes:
    """Return the changelog as JSON."""
    document = msgspec.to_builtins(log, enc_hook=plain)
    revisions = {"base": revision_facts(log.base), "head": revision_facts(log.head)}
    return msgspec.json.format(msgspec.json.encode(document | revisions))


def changelog(
    base: SideInfo,
    head: SideInfo,
    explanation: Explanation,
    scope: NotesScope | None = None,
    returned: Mask | None = None,
    recipes: RecipesChange | None = None,
    most_specs: int | None = None,
    url: str | None = None,
) -> Changelog:
    """Return the changelog of an explained comparison of these two sides.

    A scope limits the changes that are included; counterparts, reasons and main causes are still
    those of the entire comparison. ``returned`` is defined as for ``Explanation.reasons``. Commits
    are omitted without ``recipes``. No hashes are listed if more than ``most_specs`` were added or
    removed. ``url`` is that of the comparison on a server.
    """
    comparison = explanation.comparison
    only = ComparisonFilter() if scope is None else scope.only
    cells = coverage_in(scope, comparison, usual_dimensions(comparison))
    if scope is not None:
        comparison = comparison.narrowed_to(scope.in_base, scope.in_head)
    reasons = explanation.reasons(comparison.specs, returned)
    before, after = totals(comparison)
    packages = list(comparison.packages)
    rebuilds = sections.rebuilds_of(explanation.causes, comparison.specs, recipes)
    losses = sections.losses_of(comparison, packages, explanation, cells)
    log = Changelog(
        base=base,
        head=head,
        url=url,
        only=only,
        before=before,
        after=after,
        summary=summarize_explained(comparison, reasons, cells),
        highlights=[],
        causes=rebuilds.causes,
        why_unknown=sections.why_unknown(rebuilds.causes),
        ambiguous=_ambiguous(explanation, comparison),
        recipes=_recipes(recipes),
        commits=rebuilds.commits,
        why_no_commits=None if recipes is None else recipes.why_unknown,
        no_longer_available=losses,
        packages=_packages(comparison, packages, losses, reasons),
        stacks=_stacks(comparison, only),
        stacks_changed=_num_stacks(comparison, StackChangeKind.CHANGED),
        specs=_specs(comparison, explanation, reasons, most_specs),
        left_out_here=sections.left_out_of(explanation),
    )
    return replace(log, highlights=_highlights(log, rebuilds))


def _recipes(change: RecipesChange | None) -> RecipesEntries | None:
    """Return the commits of base and head; None if either is unknown."""
    if change is None or change.base is None or change.head is None:
        return None
    entries = (
        RecipesEntry(
            repository=public_location(recipes.repository),
            commit=recipes.commit,
            found_by=recipes.found_by.value,
            url=change.links.commit(recipes.commit),
        )
        for recipes in (change.base, change.head)
    )
    return RecipesEntries(*entries)


def _ambiguous(explanation: Explanation, comparison: Comparison) -> list[Ambiguity]:
    """Return the ambiguities among the changes, in the order of packages."""
    changes = comparison.specs
    ties = explanation.ties(changes)
    tied = [place for place, tie in enumerate(ties) if tie is not None]
    names = [change.name for change in changes.take(np.array(tied, np.int32))]
    distinct = {
        (name, id(ties[place])): ties[place] for place, name in zip(tied, names, strict=True)
    }
    return [
        Ambiguity(package, tie.num_pairs, max(tie.num_base, tie.num_head))
        for (package, _), tie in distinct.items()
        if tie is not None
    ]


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


def _packages(
    comparison: Comparison,
    changes: Iterable[PackageChange],
    losses: sections.Losses,
    codes: npt.NDArray[np.int8],
) -> dict[str, list[sections.ChangedPackage]]:
    replaced: dict[str, dict[str, list[str]]] = {}
    for lost in losses.versions:
        if lost.replaced_by:
            replaced.setdefault(lost.package, {})[lost.version] = lost.replaced_by
    reasons = _reasons_by_package(comparison, codes)
    facts = comparison.changed_facts()
    packages: dict[str, list[sections.ChangedPackage]] = {
        kind.value: [] for kind in PackageChangeKind
    }
    for change in changes:
        name = change.name
        entry = sections.ChangedPackage.of(
            change, replaced.get(name, {}), reasons.get(name, {}), facts.get(name, {})
        )
        packages[change.kind.value].append(entry)
    return {kind: entries for kind, entries in packages.items() if entries}


def _reasons_by_package(
    comparison: Comparison, codes: npt.NDArray[np.int8]
) -> dict[str, dict[str, int]]:
    """Return the number of added and removed specs of each package for each reason."""
    specs, names = comparison.specs, comparison.packages.names
    in_head = specs.after >= 0
    places = np.empty(len(specs), np.int64)
    places[in_head] = names.from_head[specs.head.package.codes[specs.after[in_head]]]
    places[~in_head] = names.from_base[specs.base.package.codes[specs.before[~in_head]]]
    keys, counts = np.unique(places * len(REASONS) + codes, return_counts=True)
    reasons: dict[str, dict[str, int]] = {}
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        place, code = divmod(key, len(REASONS))
        if REASONS[code] is not SpecChangeReason.FACTS:
            reasons.setdefault(names.names[place], {})[REASONS[code].value] = count
    return reasons


def _specs(
    comparison: Comparison,
    explanation: Explanation,
    reasons: npt.NDArray[np.int8],
    most: int | None,
) -> dict[str, list[sections.ChangedSpec]] | None:
    kinds = (SpecChangeKind.ADDED, SpecChangeKind.REMOVED)
    if most is not None and sum(map(comparison.specs.count, kinds)) > most:
        return None
    return {
        kind.value: sections.changed_specs(comparison.specs, explanation, reasons, kind)
        for kind in kinds
    }


def _stacks(
    comparison: Comparison, only: ComparisonFilter
) -> dict[str, list[sections.ChangedStack]]:
    """Return the stacks that were added and removed, limited to the stack of the scope."""
    stacks: dict[str, list[sections.ChangedStack]] = {}
    for kind in (StackChangeKind.ADDED, StackChangeKind.REMOVED):
        for change in comparison.stacks:
            if change.kind is kind and only.stack in (None, change.name):
                entry = sections.ChangedStack(
                    name=change.name,
                    num_specs=change.num_specs_before + change.num_specs_after,
                    num_packages=len(change.packages_added) + len(change.packages_removed),
                )
                stacks.setdefault(kind.value, []).append(entry)
    return stacks


def _highlights(log: Changelog, rebuilds: sections.Rebuilds) -> list[Sentence]:
    """Return the sentences that have something to report."""
    summary, losses = log.summary, log.no_longer_available
    sentences = [
        # A stack that came or went explains most of what follows.
        *phrases.stacks_sentences(log.stacks),
        phrases.specs_sentence(
            log.after.num_specs,
            added=summary.specs_added,
            rebuilt=summary.specs_rebuilt,
            replaced=summary.specs_replaced,
            removed=_num_removed(log),
            changed=summary.specs_changed,
        ),
        phrases.binaries_sentence(summary.binaries_replaced),
        phrases.packages_sentence(log.packages),
        phrases.size_sentence(summary.total_size_before, summary.total_size_after),
        *phrases.causes_sentences(rebuilds),
    ]
    if summary.specs_added or summary.specs_removed or losses:
        is_stack_removed = StackChangeKind.REMOVED.value in log.stacks
        sentences += phrases.losses_sentences(
            losses, summary.specs_removed, is_stack_removed=is_stack_removed
        )
    return [sentence for sentence in sentences if sentence is not None]


def _num_removed(log: Changelog) -> int:
    """Return the number of removed specs without a counterpart, which may be out of scope."""
    replaced = SpecChangeReason.REPLACED.value
    entries = (entry for entries in log.packages.values() for entry in entries)
    return sum(entry.specs_removed - entry.reasons.get(replaced, 0) for entry in entries)

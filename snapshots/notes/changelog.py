"""The changes between two revisions as release notes tell them, in no format yet."""

import msgspec
import numpy as np
from msgspec.structs import asdict

from snapshots.changes.coverage import usual_dimensions
from snapshots.changes.explanation import Explanation
from snapshots.changes.reasons import REASONS
from snapshots.changes.scope import ComparisonFilter, Scope, coverage_in
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.changes.stored_changes import PairCounts
from snapshots.changes.summary import Summary, Totals, num_stacks, summarize, totals
from snapshots.models import SideInfo
from snapshots.notes import phrases
from snapshots.notes.causes import CauseEntry, rebuilds_of
from snapshots.notes.losses import Losses, losses_of
from snapshots.notes.sections import Section, sections_of
from snapshots.notes.sentences import Sentence
from snapshots.recipes.effects import RecipesChange


class ExplainedSummary(Summary, frozen=True, kw_only=True):
    """A summary with the numbers of added specs that have a counterpart, by its facts."""

    specs_rebuilt: int
    specs_replaced: int


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
    scope: Scope | None = None,
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
    stacks = [
        change
        for change in comparison.stacks
        if change.kind is not StackChangeKind.CHANGED and only.stack in (None, change.name)
    ]
    rebuilds = rebuilds_of(explanation.causes, comparison.specs, recipes)
    losses = losses_of(comparison, packages, explanation, cells)
    summary = summarize(comparison)
    codes, numbers = np.unique(explanation.reasons(comparison.specs), return_counts=True)
    counts = PairCounts(
        specs_added=summary.specs_added,
        specs_removed=summary.specs_removed,
        specs_changed=summary.specs_changed,
        reasons=dict(zip([REASONS[code] for code in codes], numbers.tolist(), strict=True)),
    )
    highlights = [
        # A stack that came or went explains most of what follows.
        *phrases.stacks_sentences(stacks),
        phrases.specs_sentence(after.num_specs, counts),
        phrases.binaries_sentence(summary.binaries_replaced),
        phrases.packages_sentence(packages),
        phrases.size_sentence(summary.total_size_before, summary.total_size_after),
        *phrases.causes_sentences(rebuilds),
    ]
    if counts.specs_added or counts.specs_removed or losses:
        highlights += phrases.losses_sentences(losses)
    return Changelog(
        base=base,
        head=head,
        url=url,
        only=only,
        before=before,
        after=after,
        summary=ExplainedSummary(
            **asdict(summary),
            specs_rebuilt=counts.specs_rebuilt,
            specs_replaced=counts.specs_replaced,
        ),
        stacks_changed=num_stacks(comparison, StackChangeKind.CHANGED),
        highlights=[sentence for sentence in highlights if sentence is not None],
        causes=rebuilds.causes,
        losses=losses,
        sections=sections_of(rebuilds, recipes, losses, stacks, packages, comparison),
    )

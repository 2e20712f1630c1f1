"""How many specs of a comparison changed for each reason, and by each kind of cause."""

from collections import Counter

import numpy as np
import strawberry

from schema.comparisons.changes import LoadedComparison
from schema.comparisons.spec_change_reason import SpecChangeReason
from schema.fields.cost import EXPLAINING, Cost
from snapshots.changes.cause_names import CauseKind
from snapshots.changes.reasons import REASONS

REASON_COUNTS = Cost(weight=5_000, items=len(REASONS), once=EXPLAINING)
"""The reasons of all changed hashes, counted."""

KIND_COUNTS = Cost(weight=5_000, items=len(CauseKind), once=EXPLAINING)
"""All causes, counted by their kinds."""


@strawberry.type(description="How many specs were added, removed or changed for one reason.")
class ReasonCount:
    """A reason with its number."""

    reason: SpecChangeReason = strawberry.field(description="The reason.")
    count: int = strawberry.field(description="How many specs.")


@strawberry.type(description="How many causes are of one kind, and how many specs they explain.")
class CauseKindCount:
    """A kind of causes with its numbers."""

    kind: CauseKind = strawberry.field(description="The kind.")
    num_causes: int = strawberry.field(description="How many causes are of this kind.")
    num_specs: int = strawberry.field(
        description="How many specs have a main cause of this kind. Each spec has one main cause, "
        "so these numbers add up to all that were rebuilt or replaced."
    )


def reason_counts(comparison: LoadedComparison) -> list[ReasonCount]:
    """Return the reasons of all hashes that were added, removed or changed, in their order."""
    codes = comparison.explanation().reasons(comparison.changes.specs, comparison.returned())
    counts = np.bincount(codes, minlength=len(REASONS)).tolist()
    return [ReasonCount(reason=REASONS[code], count=it) for code, it in enumerate(counts) if it]


def cause_kind_counts(comparison: LoadedComparison) -> list[CauseKindCount]:
    """Return the kinds of all causes, in their order."""
    causes = comparison.explanation().causes
    num_causes: Counter[CauseKind] = Counter()
    num_specs: Counter[CauseKind] = Counter()
    for it in causes.counted():
        kind = causes.name_of(it.number).kind
        num_causes[kind] += 1
        num_specs[kind] += it.num_specs
    return [
        CauseKindCount(kind=kind, num_causes=num_causes[kind], num_specs=num_specs[kind])
        for kind in CauseKind
        if num_causes[kind]
    ]

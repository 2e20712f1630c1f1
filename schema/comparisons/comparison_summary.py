"""The totals of a comparison."""

from functools import cached_property
from typing import Self

import strawberry

from schema.comparisons.changes import LoadedComparison, size_delta
from schema.fields.cost import COMPARING, COVERING, EXPLAINING, Cost
from schema.fields.scalars import ByteCount
from snapshots.changes.coverage import (
    CoverageChangeKind,
    CoverageChanges,
    usual_dimensions,
)
from snapshots.changes.reasons import SpecChangeReason
from snapshots.notes.summary import summarize

EXPLAINED = Cost(weight=100, once=EXPLAINING)
"""What follows from the reasons of all changed hashes."""

COVERED = Cost(weight=COVERING * 2 / 3, once=COMPARING)
"""The number of lost or gained cells. Both are counted at once, and mostly asked for together."""


@strawberry.type(
    description="How many packages, specs and stacks were added, removed and changed; total sizes."
)
class ComparisonSummary:
    """The totals of a comparison."""

    packages_added: int = strawberry.field(description="Packages only in head.")
    packages_removed: int = strawberry.field(description="Packages only in base.")
    packages_upgraded: int = strawberry.field(description="Packages whose newest version rose.")
    packages_downgraded: int = strawberry.field(description="Packages whose newest version fell.")
    packages_versions_changed: int = strawberry.field(
        description="Packages with other versions below the newest."
    )
    packages_rebuilt: int = strawberry.field(
        description="Packages with the same versions and other hashes."
    )
    packages_changed: int = strawberry.field(
        description="Packages with the same hashes and other facts."
    )
    packages_unchanged: int = strawberry.field(description="Packages where nothing changed.")
    specs_added: int = strawberry.field(description="Hashes only in head.")
    specs_removed: int = strawberry.field(description="Hashes only in base.")
    specs_changed: int = strawberry.field(description="Hashes with other facts.")
    specs_unchanged: int = strawberry.field(description="Hashes where nothing changed.")
    stacks_added: int = strawberry.field(description="Stacks only in head.")
    stacks_removed: int = strawberry.field(description="Stacks only in base.")
    total_size_before: ByteCount | None = strawberry.field(
        description="The sum of the sizes of base's binary packages, as far as known."
    )
    total_size_after: ByteCount | None = strawberry.field(
        description="The sum of the sizes of head's binary packages, as far as known."
    )
    total_size_delta: ByteCount | None = strawberry.field(
        description="By how much that sum rose; null where one side knows no sizes."
    )
    loaded: strawberry.Private[LoadedComparison]

    @classmethod
    def of(cls, loaded: LoadedComparison) -> Self:
        """Return the totals of a comparison."""
        totals = summarize(loaded.changes)
        counts = {name: getattr(totals, name) for name in totals.__struct_fields__}
        delta = size_delta(totals.total_size_before, totals.total_size_after)
        return cls(**counts, total_size_delta=delta, loaded=loaded)

    @strawberry.field(
        description="Added hashes that took the place of a spec with the same facts of its own.",
        metadata=EXPLAINED.metadata,
    )
    def specs_rebuilt(self) -> int:
        return self.loaded.explanation().count(SpecChangeReason.REBUILT)

    @strawberry.field(
        description="Added hashes that took the place of a spec with other facts of its own.",
        metadata=EXPLAINED.metadata,
    )
    def specs_replaced(self) -> int:
        return self.loaded.explanation().count(SpecChangeReason.REPLACES)

    @strawberry.field(
        description="Combinations of package, stack and target that only base has specs for; of "
        "package and target where a source tells no stacks.",
        metadata=COVERED.metadata,
    )
    def coverage_lost(self) -> int:
        return self._cells.count(CoverageChangeKind.LOST)

    @strawberry.field(
        description="Combinations of package, stack and target that only head has specs for; of "
        "package and target where a source tells no stacks.",
        metadata=COVERED.metadata,
    )
    def coverage_gained(self) -> int:
        return self._cells.count(CoverageChangeKind.GAINED)

    @cached_property
    def _cells(self) -> CoverageChanges:
        return self.loaded.coverage(usual_dimensions(self.loaded.changes))

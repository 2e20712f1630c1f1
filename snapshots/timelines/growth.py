"""How a series grew: what came and went revision by revision."""

from collections.abc import Mapping

import msgspec

from snapshots.changes.kept_changes import NO_COUNTS, PairCounts
from snapshots.changes.reasons import SpecChangeReason
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo

__all__ = ["NO_COUNTS", "GrowthPoint", "PairCounts", "growth", "growth_point"]


class GrowthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What came and went with a revision; ``base`` is the one before it, None for the first."""

    base: RevisionInfo | None
    revision: RevisionInfo
    counts: PairCounts

    @property
    def num_added(self) -> int:
        """How many specs it has that the one before has not."""
        return self.counts.specs_added

    @property
    def num_removed(self) -> int:
        """How many specs the one before has that it has not."""
        return self.counts.specs_removed

    @property
    def num_changed(self) -> int:
        """How many specs both have, with other facts."""
        return self.counts.specs_changed

    @property
    def num_rebuilt(self) -> int:
        """How many of the added specs are others built anew."""
        return self.counts.reasons.get(SpecChangeReason.REBUILT, 0)

    @property
    def num_replaced(self) -> int:
        """How many of the added specs took the place of others that differ."""
        return self.counts.reasons.get(SpecChangeReason.REPLACES, 0)


def growth(totals: Mapping[Pair, PairCounts], series: str, history: History) -> list[GrowthPoint]:
    """Return one point a revision of the series, oldest first.

    ``totals`` holds the counts of each pair of its neighbours; raises KeyError where one is
    missing.
    """
    return [growth_point(totals, step) for step in history.neighbours(series)]


def growth_point(totals: Mapping[Pair, PairCounts], step: Neighbours) -> GrowthPoint:
    """Return the point of one revision and the one before it; raises KeyError as ``growth``."""
    return GrowthPoint(
        base=step.base,
        revision=step.head,
        counts=totals[step.pair] if step.pair.base != step.pair.head else NO_COUNTS,
    )

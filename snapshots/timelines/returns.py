"""How many specs came back with each revision of a series, which two contents alone call new."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from snapshots.changes.pair_counts import PairCounts
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.timelines.replay import Events
from snapshots.timelines.steps import Steps

Counts = Mapping[SpecChangeReason, int]


def count_returned(rows: pa.Table, series: str, history: History) -> dict[RevisionInfo, Counts]:
    """Return how many hashes returned with each revision, by the reason that their rows have.

    Revisions that nothing returned with are left out. ``rows`` are changes of the table
    ``changes``: all of each hash that is to be counted.
    """
    steps = Steps(history, [series])
    events = Events(rows, steps)
    came_back = np.flatnonzero(events.reasons != events.pure_reasons)
    found: defaultdict[RevisionInfo, Counter[SpecChangeReason]] = defaultdict(Counter)
    pairs = zip(events.places[came_back].tolist(), events.pure_reasons[came_back], strict=True)
    for place, code in pairs:
        found[steps.revisions[place]][REASONS[code]] += 1
    return dict(found)


def told_apart(of_pair: PairCounts, returned: Counts) -> dict[SpecChangeReason, int]:
    """Return how many specs have each reason, the changed ones too.

    Those that returned count as such, and as nothing else.
    """
    counts = Counter(of_pair.reasons)
    counts[SpecChangeReason.FACTS] = of_pair.specs_changed
    counts.subtract(returned)
    counts[SpecChangeReason.RETURNED] += sum(returned.values())
    return {reason: counts[reason] for reason in REASONS if counts[reason]}

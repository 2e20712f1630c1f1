"""How many specs came back with each revision of a series, which two contents alone call new.

What comes to a revision anew, and was in an earlier one of the series, was removed in between.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.pair_counts import PairCounts
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.timelines.steps import Steps

Counts = Mapping[SpecChangeReason, int]

_Numbers = npt.NDArray[np.int64]


def count_returned(
    new: pa.Table, removed: pa.Table, series: str, history: History
) -> dict[RevisionInfo, Counts]:
    """Return how many specs returned with each revision, by the reason that they are kept with.

    Both are rows of the table ``comparisons``: ``new`` has the column ``new_specs`` of the pairs
    that are to be counted, ``removed`` the column ``removed_specs`` of all pairs of the series.
    Revisions that nothing returned with are left out.
    """
    steps = Steps(history, [series])
    specs = new["new_specs"].combine_chunks().flatten()
    numbers = np.unique(specs.field("number").to_numpy())
    first_removed = _first_removed(removed, numbers, steps)
    found: dict[RevisionInfo, Counts] = {}
    for pair, of_pair in _rows(new, "new_specs"):
        removed_at = first_removed[np.searchsorted(numbers, of_pair.field("number").to_numpy())]
        for place in steps.of_pair(pair):
            came_back = of_pair.field("reason").filter(pa.array(removed_at < place))
            if len(came_back):
                counted = Counter(came_back.to_pylist())
                found[steps.revisions[place]] = {
                    SpecChangeReason(reason): count for reason, count in counted.items()
                }
    return found


def _first_removed(removed: pa.Table, numbers: _Numbers, steps: Steps) -> _Numbers:
    """Return for each of some rising numbers the place where it was first removed.

    Where it never was, that is behind all places.
    """
    places = np.full(len(numbers), len(steps))
    wanted = pa.array(numbers)
    for pair, of_pair in _rows(removed, "removed_specs"):
        stands_at = steps.of_pair(pair)
        if stands_at:
            # Of a few among many this is faster than by sorting.
            gone = of_pair.filter(pc.is_in(of_pair, wanted)).to_numpy()
            at = np.searchsorted(numbers, gone)
            places[at] = np.minimum(places[at], stands_at[0])
    return places


def _rows(table: pa.Table, column: str) -> Iterator[tuple[Pair, pa.Array]]:
    """Yield each pair, and the items of its list."""
    pairs = map(Pair, table["base"].to_pylist(), table["head"].to_pylist())
    cells = table[column].combine_chunks()
    lists = cells.flatten()
    ends = np.cumsum(pc.list_value_length(cells).to_numpy(zero_copy_only=False)).tolist()
    for pair, start, end in zip(pairs, [0, *ends], ends, strict=False):
        yield pair, lists.slice(start, end - start)


def told_apart(of_pair: PairCounts, returned: Counts) -> dict[SpecChangeReason, int]:
    """Return how many specs have each reason, the changed ones too.

    Those that returned count as such, and as nothing else.
    """
    counts = Counter(of_pair.reasons)
    counts[SpecChangeReason.FACTS] = of_pair.specs_changed
    counts.subtract(returned)
    counts[SpecChangeReason.RETURNED] += sum(returned.values())
    return {reason: counts[reason] for reason in REASONS if counts[reason]}

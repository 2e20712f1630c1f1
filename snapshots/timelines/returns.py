"""How many specs came back with each revision of a series, which two contents alone call new.

What comes to a revision anew, and was in an earlier one of the series, was removed in between.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.kept_changes import PairCounts, Signed, numbers_of, places_of
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.frames.columns import Mask
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.timelines.steps import Steps

Counts = Mapping[SpecChangeReason, int]


def count_returned(
    new: Iterable[pa.Table], removed: Iterable[pa.Table], series: str, history: History
) -> dict[RevisionInfo, Counts]:
    """Return how many specs returned with each revision, by the reason that they are kept with.

    Both are rows of the table ``comparisons``: ``new`` has the column ``new_specs`` of the pairs
    that are to be counted, ``removed`` the column ``removed_specs`` of all pairs of the series.
    Revisions that nothing returned with are left out.
    """
    steps = Steps.of(history, [series])
    specs = {pair: it for rows in new for pair, it in _lists(rows, "new_specs")}
    of_pairs = [it.field("number").to_numpy() for it in specs.values()]
    numbers = np.unique(np.concatenate([np.empty(0, np.int64), *of_pairs]))
    if not len(numbers):
        return {}
    first_removed = _first_removed(removed, numbers, steps)
    found: dict[RevisionInfo, Counts] = {}
    for (pair, of_pair), own in zip(specs.items(), of_pairs, strict=True):
        removed_at = first_removed[np.searchsorted(numbers, own)]
        for place in steps.of_pair(pair):
            came_back = of_pair.field("reason").filter(pa.array(removed_at < place))
            if len(came_back):
                counted = Counter(came_back.to_pylist())
                found[steps.revisions[place]] = {
                    SpecChangeReason(reason): count for reason, count in counted.items()
                }
    return found


def were_removed(removed: Iterable[pa.Table], hashes: pa.ChunkedArray) -> Mask:
    """Return which of the hashes any pair removed.

    ``removed`` are rows of the table ``comparisons`` with the column ``removed_specs``.
    """
    wanted = numbers_of(hashes).view(np.int64)
    found = np.zeros(len(wanted), np.bool_)
    for chunk in (it for rows in removed for it in rows["removed_specs"].chunks):
        gone = chunk.flatten().to_numpy()
        found |= np.isin(wanted, gone[places_of(wanted, gone)])
    return found


def _first_removed(removed: Iterable[pa.Table], numbers: Signed, steps: Steps) -> Signed:
    """Return for each of some rising numbers the place where it was first removed.

    Where it never was, that is behind all places.
    """
    places = np.full(len(numbers), len(steps))
    for rows in removed:
        stands_at = np.array([_first_place(pair, steps) for pair in _pairs(rows)], np.int64)
        items, ends = _flat(rows["removed_specs"])
        gone = items.to_numpy()
        found = places_of(numbers, gone)
        at = np.searchsorted(numbers, gone[found])
        np.minimum.at(places, at, stands_at[np.searchsorted(ends, found, side="right")])
    return places


def _first_place(pair: Pair, steps: Steps) -> int:
    return next(iter(steps.of_pair(pair)), len(steps))


def _pairs(table: pa.Table) -> Iterator[Pair]:
    return map(Pair, table["base"].to_pylist(), table["head"].to_pylist())


def _lists(table: pa.Table, column: str) -> Iterator[tuple[Pair, pa.Array]]:
    """Yield each pair, and the items of its list."""
    items, ends = _flat(table[column])
    for pair, start, end in zip(_pairs(table), [0, *ends.tolist()], ends.tolist(), strict=False):
        yield pair, items.slice(start, end - start)


def _flat(column: pa.ChunkedArray) -> tuple[pa.Array, Signed]:
    """Return the items of all lists of a column, and where each list ends."""
    lists = column.combine_chunks()
    return lists.flatten(), np.cumsum(pc.list_value_length(lists).to_numpy(), dtype=np.int64)


def told_apart(of_pair: PairCounts, returned: Counts) -> dict[SpecChangeReason, int]:
    """Return how many specs have each reason, the changed ones too.

    Those that returned count as such, and as nothing else.
    """
    counts = Counter(of_pair.reasons)
    counts[SpecChangeReason.FACTS] = of_pair.specs_changed
    counts.subtract(returned)
    counts[SpecChangeReason.RETURNED] += sum(returned.values())
    return {reason: counts[reason] for reason in REASONS if counts[reason]}

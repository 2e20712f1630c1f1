"""Growth of a series: specs added, removed and returned in each revision, and its main changes.

A comparison of two contents reports a returned spec as new. A spec that is new in a revision and
was in an earlier one of the series was removed in between.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Mask, Numbers
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.changes.stored_changes import (
    NO_COUNTS,
    PairCounts,
    StoredCause,
    indices_of,
    numbers_of,
    pairs_in,
)
from snapshots.history import History, Neighbours, Pair
from snapshots.models import CauseKind, RevisionInfo
from snapshots.timelines.steps import Steps


class GrowthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a revision; ``base`` is the one before it, None for the first."""

    base: RevisionInfo | None
    revision: RevisionInfo
    counts: PairCounts


class Growth(list[GrowthPoint]):
    """The points of a series, oldest first; ``name`` is unique to this list."""

    def __init__(self, points: Iterable[GrowthPoint]) -> None:
        super().__init__(points)
        self.name = uuid4().hex


def growth(totals: Mapping[Pair, PairCounts], series: str, history: History) -> Growth:
    """Return one point per revision of the series.

    ``totals`` has the counts of each pair of neighbours; raises KeyError if one is missing.
    """
    return Growth(growth_point(totals, step) for step in history.neighbours(series))


def growth_point(totals: Mapping[Pair, PairCounts], step: Neighbours) -> GrowthPoint:
    """Return the point of a revision and the one before it; raises KeyError like ``growth``."""
    pair = step.pair
    counts = totals[pair] if pair.base != pair.head else NO_COUNTS
    return GrowthPoint(base=step.base, revision=step.head, counts=counts)


# -- main changes


class MovedStack(msgspec.Struct, frozen=True):
    """A stack that was added or removed, and its number of specs where it is."""

    kind: StackChangeKind
    name: str
    num_specs: int


class MainChanges(msgspec.Struct, frozen=True):
    """What a revision changed most.

    - counts: Its numbers of added, removed and changed specs and packages.
    - stacks: The stacks that it added and removed, by name; empty if the source of the revision or
      of the one before does not list stacks.
    - causes: The known causes that explain the most specs, at most MAX_CAUSES, most first.
    """

    counts: PairCounts
    stacks: tuple[MovedStack, ...]
    causes: tuple[StoredCause, ...]


MAX_CAUSES = 5
"""Maximum number of causes in the main changes of a revision."""


def main_changes(
    totals: Mapping[Pair, PairCounts], rows: pa.Table, series: str, history: History
) -> dict[str, MainChanges]:
    """Return the main changes of each revision but the first, by its ref.

    ``totals`` is that of ``growth``. ``rows`` are those of the table ``comparisons`` with the
    columns ``causes`` and ``cells``, one for each pair of the series.
    """
    causes = {pair: tuple(_main_causes(of_pair)) for pair, of_pair in lists_of(rows, "causes")}
    cells = {pair: _by_stack(of_pair) for pair, of_pair in lists_of(rows, "cells")}
    sizes: Counter[str] = Counter()
    main = {}
    for step in history.neighbours(series):
        before = sizes.copy()
        for stack, num_specs in cells.get(step.pair, {}).items():
            sizes[stack] += num_specs
        if step.base is not None:
            sides = step.base.known_stacks, step.head.known_stacks
            stacks = () if None in sides else tuple(_moved(before, sizes))
            counts = growth_point(totals, step).counts
            main[step.head.ref] = MainChanges(counts, stacks, causes.get(step.pair, ()))
    return main


def _main_causes(causes: pa.StructArray) -> Iterator[StoredCause]:
    is_known = pc.not_equal(causes.field("kind"), CauseKind.UNKNOWN.value)
    is_main = pc.greater(causes.field("num_specs"), 0)
    for cause in causes.filter(pc.and_(is_known, is_main)).slice(0, MAX_CAUSES):
        yield msgspec.convert(cause.as_py(), StoredCause)


def _by_stack(cells: pa.StructArray) -> dict[str, int]:
    """Return by how many specs each stack grew or shrank."""
    columns = [cells.field(name) for name in ("stack", "num_specs")]
    of_stacks = pa.table(columns, ["stack", "num_specs"]).drop_null()
    sums = of_stacks.group_by("stack", use_threads=False).aggregate([("num_specs", "sum")])
    return dict(zip(sums["stack"].to_pylist(), sums["num_specs_sum"].to_pylist(), strict=True))


def _moved(before: Counter[str], after: Counter[str]) -> Iterator[MovedStack]:
    for name in sorted({*before, *after}):
        if after[name] and not before[name]:
            yield MovedStack(StackChangeKind.ADDED, name, after[name])
        elif before[name] and not after[name]:
            yield MovedStack(StackChangeKind.REMOVED, name, before[name])


# -- returned specs


Counts = Mapping[SpecChangeReason, int]


def count_returned(
    new: pa.Table, removed: pa.Table, series: str, history: History
) -> dict[RevisionInfo, Counts]:
    """Return the number of specs that returned in each revision, by the reason stored for them.

    Both tables are rows of the table ``comparisons``: ``new`` has the column ``new_specs`` of the
    pairs to count, ``removed`` has the column ``removed_specs`` of all pairs of the series.
    Revisions without returned specs are omitted.
    """
    steps = Steps.of(history, [series])
    specs = dict(lists_of(new, "new_specs"))
    of_pairs = [items.field("number").to_numpy() for items in specs.values()]
    numbers = np.unique(np.concatenate([np.empty(0, np.int64), *of_pairs]))
    if not len(numbers):
        return {}
    first_removed = _first_removed(removed, numbers, steps)
    returned: dict[RevisionInfo, Counts] = {}
    for (pair, of_pair), own in zip(specs.items(), of_pairs, strict=True):
        removed_at = first_removed[np.searchsorted(numbers, own)]
        for place in steps.of_pair(pair):
            came_back = of_pair.field("reason").filter(pa.array(removed_at < place))
            if len(came_back):
                counted = Counter(came_back.to_pylist())
                returned[steps.revisions[place]] = {
                    SpecChangeReason(reason): count for reason, count in counted.items()
                }
    return returned


def were_removed(removed: pa.Table, hashes: pa.ChunkedArray) -> Mask:
    """Return a mask that selects the hashes that any pair removed.

    ``removed`` are rows of the table ``comparisons`` with the column ``removed_specs``.
    """
    numbers = numbers_of(hashes).view(np.int64)
    mask = np.zeros(len(numbers), np.bool_)
    for chunk in removed["removed_specs"].chunks:
        gone = chunk.flatten().to_numpy()
        mask |= np.isin(numbers, gone[indices_of(numbers, gone)])
    return mask


def _first_removed(removed: pa.Table, numbers: Numbers, steps: Steps) -> Numbers:
    """Return for each number (in ascending order) the index of the step that first removed it.

    The index is ``len(steps)`` for a number that was never removed.
    """
    places = np.full(len(numbers), len(steps))
    first_steps = (min(steps.of_pair(pair), default=len(steps)) for pair in pairs_in(removed))
    steps_of_rows = np.array([*first_steps], np.int64)
    items, ends = _flat(removed["removed_specs"])
    gone = items.to_numpy()
    own = indices_of(numbers, gone)
    at = np.searchsorted(numbers, gone[own])
    np.minimum.at(places, at, steps_of_rows[np.searchsorted(ends, own, side="right")])
    return places


def lists_of(table: pa.Table, column: str) -> Iterator[tuple[Pair, pa.Array]]:
    """Yield each pair with the items of its list."""
    items, ends = _flat(table[column])
    for pair, start, end in zip(pairs_in(table), [0, *ends.tolist()], ends.tolist(), strict=False):
        yield pair, items.slice(start, end - start)


def _flat(column: pa.ChunkedArray) -> tuple[pa.Array, Numbers]:
    """Return the concatenated items of all lists of a column, and the end of each list."""
    lists = column.combine_chunks()
    return lists.flatten(), np.cumsum(pc.list_value_length(lists).to_numpy(), dtype=np.int64)


def with_returned(of_pair: PairCounts, returned: Counts) -> dict[SpecChangeReason, int]:
    """Return the number of specs for each reason, including changed specs.

    Specs that returned count only for the reason RETURNED.
    """
    counts = Counter(of_pair.reasons)
    counts[SpecChangeReason.FACTS] = of_pair.specs_changed
    counts.subtract(returned)
    counts[SpecChangeReason.RETURNED] += sum(returned.values())
    return {reason: counts[reason] for reason in REASONS if counts[reason]}

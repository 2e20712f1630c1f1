"""The steps of series, numbered across all series, and the changes of hashes at each step."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import accumulate, chain
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.arrays import Mask, Numbers
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.stored_changes import pairs_in
from snapshots.history import History, Neighbours, Pair, age
from snapshots.models import RevisionInfo


class Steps:
    """The steps of the existing series among some names, concatenated, each series oldest first.

    A step leads to a revision from the one before it. Its place is its index, and that of the
    revision: ``revisions[place]``.
    """

    def __init__(self, history: History, names: Iterable[str]) -> None:
        self.names: Sequence[str] = [*names]
        families: list[Sequence[Neighbours]] = [history.neighbours(name) for name in self.names]
        self.neighbours = [step for family in families for step in family]
        self.revisions: list[RevisionInfo] = [step.head for step in self.neighbours]
        lengths = [len(family) for family in families]
        self.starts = np.array([0, *accumulate(lengths)], np.int64)
        self._series = np.repeat(np.arange(len(families)), lengths)
        self._places: defaultdict[Pair, list[int]] = defaultdict(list)
        for place, step in enumerate(self.neighbours):
            self._places[step.pair].append(place)

    @classmethod
    def of(cls, history: History, names: Iterable[str]) -> "Steps":
        """Return the steps of the series among ``names`` that exist; cached with the history."""
        existing = tuple(name for name in names if history.of_series(name))
        cached = _CACHE.setdefault(history, {})
        if existing not in cached:
            cached[existing] = cls(history, existing)
        return cached[existing]

    def __len__(self) -> int:
        return len(self.revisions)

    def of_pair(self, pair: Pair) -> Sequence[int]:
        """Return the indexes of the steps of a pair, in ascending order; there may be none."""
        return self._places.get(pair, ())

    def series_of(self, places: Numbers) -> Numbers:
        """Return for each step the index, in ``names``, of its series."""
        numbers: Numbers = self._series[places]
        return numbers

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the index of the first step of a series, and the index after its last step."""
        return int(self.starts[number]), int(self.starts[number + 1])

    def newest(self, begin: int, end: int) -> int:
        """Return the index, from ``begin`` to ``end`` - 1, of the latest revision by ``taken_at``.

        This is not always the last one, because an old release can be built again after a newer
        one.
        """
        return max(range(begin, end), key=lambda place: age(self.revisions[place]))


_CACHE: WeakKeyDictionary[History, dict[tuple[str, ...], Steps]] = WeakKeyDictionary()


# -- the events of the steps


KINDS = tuple(SpecChangeKind)
ADDED, REMOVED, CHANGED = map(KINDS.index, SpecChangeKind)

_REPLACING = list(map(code_of, (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)))
_RETURNED = np.int8(code_of(SpecChangeReason.RETURNED))

Member = TypeVar("Member", bound=Enum)


class Events:
    """The changes of hashes at each step, as columns, sorted by hash and step.

    ``hashes`` and ``versions`` are codes into ``hash_values`` and ``version_values``. ``kinds`` are
    codes in the order of SpecChangeKind, ``reasons`` in that of SpecChangeReason. An added hash
    that an earlier revision of the series had has the reason RETURNED, unless it replaced another
    one.
    """

    def __init__(self, rows: pa.Table, steps: Steps) -> None:
        self.steps = steps
        numbers, places = _at_steps(rows, steps)
        hashes, self.hash_values = _encoded(rows["hash"])
        order = np.lexsort((places, hashes[numbers]))
        numbers, places = numbers[order], places[order]
        once = np.ones(len(numbers), np.bool_)  # two importers may store the same row
        once[1:] = (hashes[numbers[1:]] != hashes[numbers[:-1]]) | (places[1:] != places[:-1])
        numbers, self.places = numbers[once], places[once]
        self.rows = numbers
        self.hashes = hashes[numbers]
        versions, self.version_values = _encoded(rows["version"])
        self.versions = versions[numbers]
        self.kinds = _codes(rows["kind"], SpecChangeKind, KINDS)[numbers]
        reasons = _codes(rows["reason"], SpecChangeReason, REASONS)[numbers]
        is_new = (self.kinds == ADDED) & ~np.isin(reasons, _REPLACING)
        self.reasons: npt.NDArray[np.int8] = np.where(is_new & self.follows, _RETURNED, reasons)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def follows(self) -> Mask:
        """Mask of the events whose predecessor has the same hash and series."""
        series = self.steps.series_of(self.places)
        follows = np.zeros(len(self), np.bool_)
        follows[1:] = (self.hashes[1:] == self.hashes[:-1]) & (series[1:] == series[:-1])
        return follows


def _at_steps(rows: pa.Table, steps: Steps) -> tuple[Numbers, Numbers]:
    """Return the indexes of the rows, repeated for each step of their pair, and these steps.

    Rows of pairs that do not occur are omitted.
    """
    places = list(map(steps.of_pair, pairs_in(rows)))
    numbers: Numbers = np.repeat(np.arange(len(rows)), list(map(len, places)))
    return numbers, np.array([*chain.from_iterable(places)], np.int64)


def _encoded(column: pa.ChunkedArray) -> tuple[Numbers, list[Any]]:
    """Return the code of each value of a column, and the distinct values, including None."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def _codes(
    column: pa.ChunkedArray, names: type[Member], members: tuple[Member, ...]
) -> npt.NDArray[np.int8]:
    codes, values = _encoded(column)
    places = [members.index(names(value)) for value in values]
    of_rows: npt.NDArray[np.int8] = np.array(places, np.int8)[codes]
    return of_rows

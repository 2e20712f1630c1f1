"""The steps of series, numbered through all series, and the rows of changes at each of them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import accumulate
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.frames.columns import Mask
from snapshots.history import History, Neighbours, Pair, age
from snapshots.models import RevisionInfo

Places = npt.NDArray[np.int64]
"""Numbers of steps."""


_LOCK = Lock()


class Steps:
    """The steps of some series that are there, one after the other, each oldest first.

    The step to a revision has that revision's place: ``revisions[place]``.
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
        with _LOCK:
            steps = _CACHE.setdefault(history, {}).get(existing)
        if steps is None:
            steps = cls(history, existing)
        with _LOCK:
            return _CACHE[history].setdefault(existing, steps)

    def __len__(self) -> int:
        return len(self.revisions)

    def of_pair(self, pair: Pair) -> Sequence[int]:
        """Return the places where a pair stands, rising: none, one, or several."""
        return self._places.get(pair, ())

    def series_of(self, places: Places) -> Places:
        """Return the number, in ``names``, of the series that each place is in."""
        numbers: Places = self._series[places]
        return numbers

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first place of a series, and the one behind its last."""
        return int(self.starts[number]), int(self.starts[number + 1])

    def newest(self, begin: int, end: int) -> int:
        """Return the place of the revision taken last of those from ``begin`` to ``end`` - 1.

        That need not be the last one: an old release may be built again after a new one.
        """
        return max(range(begin, end), key=lambda place: age(self.revisions[place]))


_CACHE: WeakKeyDictionary[History, dict[tuple[str, ...], Steps]] = WeakKeyDictionary()


# -- the events of the steps


KINDS = tuple(SpecChangeKind)
ADDED, REMOVED, CHANGED = map(KINDS.index, SpecChangeKind)

_TOOK_A_PLACE = list(map(code_of, (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)))
_RETURNED = np.int8(code_of(SpecChangeReason.RETURNED))

Codes = npt.NDArray[np.int64]
Member = TypeVar("Member", bound=Enum)


class Events:
    """What happened to hashes, as columns, sorted by hash and place.

    ``hashes`` and ``versions`` are codes of the values in ``hash_values`` and ``version_values``;
    ``kinds`` codes in the order of SpecChangeKind, ``reasons`` in that of SpecChangeReason. A hash
    that is added, and was in an earlier revision of the series, has the reason RETURNED, unless it
    replaced another one; ``pure_reasons`` are those of the rows.
    """

    def __init__(self, rows: pa.Table, steps: Steps) -> None:
        self.steps = steps
        numbers, places = _played(rows, steps)
        hashes, self.hash_values = _encoded(rows["hash"])
        order = np.lexsort((places, hashes[numbers]))
        numbers, places = numbers[order], places[order]
        once = np.ones(len(numbers), np.bool_)  # two importers may have stored the same
        once[1:] = (hashes[numbers[1:]] != hashes[numbers[:-1]]) | (places[1:] != places[:-1])
        numbers, self.places = numbers[once], places[once]
        self.rows = numbers
        self.hashes = hashes[numbers]
        versions, self.version_values = _encoded(rows["version"])
        self.versions = versions[numbers]
        self.kinds = _codes(rows["kind"], SpecChangeKind, KINDS)[numbers]
        self.pure_reasons = _codes(rows["reason"], SpecChangeReason, REASONS)[numbers]
        is_new = (self.kinds == ADDED) & ~np.isin(self.pure_reasons, _TOOK_A_PLACE)
        self.reasons: npt.NDArray[np.int8] = np.where(
            is_new & self.follows, _RETURNED, self.pure_reasons
        )

    def __len__(self) -> int:
        return len(self.places)

    @property
    def follows(self) -> Mask:
        """Whether the event before is one of the same hash in the same series."""
        series = self.steps.series_of(self.places)
        follows = np.zeros(len(self), np.bool_)
        follows[1:] = (self.hashes[1:] == self.hashes[:-1]) & (series[1:] == series[:-1])
        return follows


def _played(rows: pa.Table, steps: Steps) -> tuple[Codes, Places]:
    """Return the numbers of the rows at each place where their pair occurs, and those places.

    Rows of pairs that occur nowhere are left out.
    """
    bases, base_values = _encoded(rows["base"])
    heads, head_values = _encoded(rows["head"])
    keys, pair_of_row = np.unique(bases * len(head_values) + heads, return_inverse=True)
    places_of = [
        steps.of_pair(
            Pair(base_values[key // len(head_values)], head_values[key % len(head_values)])
        )
        for key in keys.tolist()
    ]
    counts = np.array([len(places) for places in places_of], np.int64)
    starts = np.cumsum(counts) - counts
    every = np.array([place for places in places_of for place in places], np.int64)
    times = counts[pair_of_row]
    numbers: Codes = np.repeat(np.arange(len(rows)), times)
    nth = np.arange(len(numbers)) - np.repeat(np.cumsum(times) - times, times)
    repeated: Places = every[starts[pair_of_row[numbers]] + nth]
    return numbers, repeated


def _encoded(column: pa.ChunkedArray) -> tuple[Codes, list[Any]]:
    """Return the code of each value of a column, and the distinct values; None is one of them."""
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

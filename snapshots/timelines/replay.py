"""The rows of changes, played at each place of the series where their pair stands."""

from enum import Enum
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.frames.columns import Mask
from snapshots.history import Pair
from snapshots.timelines.steps import Places, Steps

KINDS = tuple(SpecChangeKind)
ADDED, REMOVED, CHANGED = map(KINDS.index, SpecChangeKind)

_TOOK_A_PLACE = [code_of(it) for it in (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)]
_RETURNED = np.int8(code_of(SpecChangeReason.RETURNED))

Codes = npt.NDArray[np.int64]
Member = TypeVar("Member", bound=Enum)


class Events:
    """What happened to hashes, as columns: by hash, within it by place.

    ``hashes`` and ``versions`` are codes of the values in ``hash_values`` and ``version_values``;
    ``kinds`` codes in the order of SpecChangeKind, ``reasons`` in that of SpecChangeReason. A hash
    that comes anew, and was in an earlier revision of the series, has the reason RETURNED, unless
    it took the place of another one; ``pure_reasons`` are those that the rows have.
    """

    def __init__(self, rows: pa.Table, steps: Steps) -> None:
        self.steps = steps
        numbers, places = _played(rows, steps)
        hashes, self.hash_values = _encoded(rows["hash"])
        order = np.lexsort((places, hashes[numbers]))
        numbers, places = numbers[order], places[order]
        once = np.ones(len(numbers), np.bool_)  # two importers may have kept the same
        once[1:] = (hashes[numbers[1:]] != hashes[numbers[:-1]]) | (places[1:] != places[:-1])
        numbers, self.places = numbers[once], places[once]
        self.rows = numbers
        self.hashes = hashes[numbers]
        versions, self.version_values = _encoded(rows["version"])
        self.versions = versions[numbers]
        self.kinds = _codes(rows["kind"], SpecChangeKind, KINDS)[numbers]
        self.pure_reasons = _codes(rows["reason"], SpecChangeReason, REASONS)[numbers]
        self.reasons = self._told_apart()

    def __len__(self) -> int:
        return len(self.places)

    @property
    def follows(self) -> Mask:
        """Whether the event before is one of the same hash in the same series."""
        series = self.steps.series_of(self.places)
        follows = np.zeros(len(self), np.bool_)
        follows[1:] = (self.hashes[1:] == self.hashes[:-1]) & (series[1:] == series[:-1])
        return follows

    def _told_apart(self) -> npt.NDArray[np.int8]:
        is_new = (self.kinds == ADDED) & ~np.isin(self.pure_reasons, _TOOK_A_PLACE)
        told: npt.NDArray[np.int8] = np.where(is_new & self.follows, _RETURNED, self.pure_reasons)
        return told


def _played(rows: pa.Table, steps: Steps) -> tuple[Codes, Places]:
    """Return the numbers of the rows at each place where their pair stands, and those places.

    Rows of pairs that stand nowhere are left out.
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
    found: Places = every[starts[pair_of_row[numbers]] + nth]
    return numbers, found


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
    found: npt.NDArray[np.int8] = np.array(places, np.int8)[codes]
    return found

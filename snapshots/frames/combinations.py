"""Several columns as one: few combinations of values, each with the JSON text of all of them.

A list of specs asks for the same columns side by side again and again. Where their combinations
are few, one look-up a row gives the text of them all.
"""

from collections.abc import Sequence
from operator import attrgetter
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache, cachedmethod

from snapshots.frames.columns import Codes, Column, Rows

MAX_COMBINATIONS = 4_096
"""Columns with more combinations are not joined: their texts would cost more than they save."""

_KEYS = 8
_MARKED = 1 << 20


class Joint:
    """Columns side by side: ``codes`` say which combination a row has.

    ``parts`` hold for each column which of its values each combination has.
    """

    def __init__(self, codes: Codes, parts: Sequence[tuple[Column[Any], Codes]]) -> None:
        self.codes = codes
        self.parts = parts
        self._texts: LRUCache[tuple[str, ...], list[str]] = LRUCache(_KEYS)
        self._lock = Lock()

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return len(self.parts[0][1])

    def texts_at(self, rows: Rows, keys: tuple[str, ...]) -> list[str]:
        """Return for each row the members of a JSON object: each key with its column's value."""
        texts = self._members(keys)
        return list(map(texts.__getitem__, self.codes[rows].tolist()))

    @cachedmethod(attrgetter("_texts"), lock=attrgetter("_lock"), key=lambda _joint, keys: keys)
    def _members(self, keys: tuple[str, ...]) -> list[str]:
        template = ",".join(f'"{key}":%s' for key in keys)
        values = [map(column.texts.__getitem__, codes.tolist()) for column, codes in self.parts]
        return [template % combination for combination in zip(*values, strict=True)]


def join(before: Joint | None, column: Column[Any]) -> Joint | None:
    """Add a column to those that are joined; None where there are too many combinations."""
    if before is None:
        if len(column.values) > MAX_COMBINATIONS:
            return None
        return Joint(column.codes, [(column, np.arange(len(column.values), dtype=np.int32))])
    size = len(column.values)
    pairs, codes = _distinct(
        before.codes.astype(np.int64) * size + column.codes, before.size * size
    )
    if len(pairs) > MAX_COMBINATIONS:
        return None
    of_before = pairs // size
    parts = [(other, other_codes[of_before]) for other, other_codes in before.parts]
    parts.append((column, (pairs % size).astype(np.int32)))
    return Joint(codes, parts)


def _distinct(numbers: npt.NDArray[np.int64], bound: int) -> tuple[npt.NDArray[np.int64], Codes]:
    """Return the distinct ones of numbers from 0 to below the bound, and the place of each."""
    if bound > _MARKED:
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct, places.astype(np.int32)
    # To mark what there is takes a tenth of the time of a sort.
    marked = np.zeros(bound, np.bool_)
    marked[numbers] = True
    distinct = np.flatnonzero(marked)
    place_of = np.zeros(bound, np.int32)
    place_of[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place_of[numbers]

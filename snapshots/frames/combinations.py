"""Several columns as one: few combinations of values, each row a small code into their list.

A list of specs asks for the same columns side by side again and again. Where their combinations
are few, one look-up a row gives the values of them all.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from sys import getsizeof
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from snapshots.frames.columns import Codes, Column

MAX_COMBINATIONS = 4_096
"""Columns with more combinations are not combined: their texts would cost more than they save."""

BYTES_PER_ROW = 96
"""How many bytes may be kept for each row of the frame, beside ``BYTES_AT_LEAST``."""

BYTES_AT_LEAST = 256_000

_ENTRY_BYTES = 500
_MARKED = 1 << 20

Part = tuple[Column[Any], Codes]
"""A column, and the code of its value in each combination."""


class Combination(NamedTuple):
    """Columns side by side: ``codes`` say for each row which combination of values it has.

    ``parts`` has by a column's name the column, and which of its values each combination has.
    """

    codes: npt.NDArray[np.int16]
    parts: Mapping[str, Part]

    @property
    def num_combinations(self) -> int:
        """How many combinations there are."""
        return len(next(iter(self.parts.values()))[1])

    @property
    def num_bytes(self) -> int:
        """How much memory the codes take; the columns are the frame's."""
        return self.codes.nbytes + sum(codes.nbytes for _, codes in self.parts.values())


class Combinations:
    """The combinations of a frame's columns, and what is derived from them.

    The latest are kept, within ``max_bytes``. May be used by several threads.
    """

    def __init__(self, columns: Mapping[str, Column[Any]], num_rows: int) -> None:
        self.max_bytes = BYTES_AT_LEAST + BYTES_PER_ROW * num_rows
        self._columns = columns
        self._kept: LRUCache[Hashable, Any] = LRUCache(self.max_bytes, _size_of)
        self._lock = Lock()

    def of(self, names: Sequence[str]) -> Combination | None:
        """Return the combination of the columns, one at least, in any order.

        None where they have too many values in common, or one of them is no column of codes.
        """
        found: Combination | None = self._keep(frozenset(names), lambda: self._combine(names))
        return found

    def kept(self, key: tuple[Sequence[str], ...], make: Callable[[], list[str]]) -> list[str]:
        """Return texts that are derived from a combination; made where they are not there.

        Only names that cachelog itself gives belong into a key: what clients choose is not bounded.
        """
        texts: list[str] = self._keep(key, make)
        return texts

    def _combine(self, names: Sequence[str]) -> Combination | None:
        *others, name = names
        column = self._columns.get(name)
        if column is None:
            return None
        if not others:
            return _alone(name, column)
        before = self.of(others)
        return None if before is None else _combined(before, name, column)

    def _keep(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        value = make()
        if _size_of(value) <= self.max_bytes:
            with self._lock:
                self._kept[key] = value
        return value


def _alone(name: str, column: Column[Any]) -> Combination | None:
    size = len(column.values)
    if size > MAX_COMBINATIONS:
        return None
    return Combination(
        column.codes.astype(np.int16), {name: (column, np.arange(size, dtype=np.int32))}
    )


def _combined(before: Combination, name: str, column: Column[Any]) -> Combination | None:
    if name in before.parts:
        return before
    size = len(column.values)
    pairs, codes = _distinct(
        before.codes.astype(np.int64) * size + column.codes, before.num_combinations * size
    )
    if len(pairs) > MAX_COMBINATIONS:
        return None
    of_before = pairs // size
    parts = {other: (it, values[of_before]) for other, (it, values) in before.parts.items()}
    parts[name] = column, (pairs % size).astype(np.int32)
    return Combination(codes.astype(np.int16), parts)


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


def _size_of(value: Combination | list[str] | None) -> int:
    """Return about how many bytes an entry takes."""
    if isinstance(value, Combination):
        return _ENTRY_BYTES + value.num_bytes
    return _ENTRY_BYTES + getsizeof(value) + sum(map(getsizeof, value or ()))

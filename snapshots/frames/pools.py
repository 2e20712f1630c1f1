"""Records that the frames of several revisions share.

The states of a series differ in a few per cent of their specs. So a pool holds each distinct record
of the rows of their frames once, and a frame itself has no more than the numbers of its records and
the distinct values of its columns. A record is a hash with all facts of codes and numbers; texts
that are distinct for nearly every spec stay with their frame.

A pool lives as long as a frame that uses it. So that it never holds much that no frame uses, a
frame joins a pool only if that has half of its hashes and is not much larger than the frame.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.frames.columns import (
    Codes,
    Column,
    FactColumn,
    ListColumn,
    Mask,
    NumberColumn,
    PlainColumn,
)
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import WIDTH, Keys, SharedHashes, SharedTexts
from snapshots.frames.shared_arrays import Array, ArrayCache, Gathered, GrowingArray

UNPACKED_BYTES = 16 << 20
"""How many bytes of gathered arrays are kept."""

MAX_GROWTH = 3
"""A frame joins a pool that has at most this many times as many records."""

_SAMPLE = 256
# The latest of the records with a hash: more are hardly ever needed, and by no mistake very many.
_MAX_ALIKE = 8
_INDEX_BYTES = 12

Records = npt.NDArray[np.int32]


class Pools:
    """The pools of a process's frames. May be used by several threads."""

    def __init__(self, unpacked_bytes: int = UNPACKED_BYTES) -> None:
        self._room = ArrayCache(unpacked_bytes)
        self._pools: WeakSet[Pool] = WeakSet()
        self._lock = Lock()

    def share(self, frame: Frame) -> Frame:
        """Return a frame that is equal in all, and shares what it can."""
        if not len(frame):
            return frame
        with self._lock:
            pool = self._pool_for(frame)
            self._pools.add(pool)
            return pool.share(frame, self._room)

    def _pool_for(self, frame: Frame) -> "Pool":
        keys = frame.hashes.sorted_keys[:: -(-len(frame) // _SAMPLE)]
        best, most = None, (len(keys) + 1) // 2
        for pool in self._pools:
            if pool.num_records <= MAX_GROWTH * len(frame):
                num_common = pool.count(keys)
                if num_common >= most:
                    best, most = pool, num_common
        return Pool() if best is None else best


class Pool:
    """Distinct records, column by column. Only one thread at a time may add to it."""

    def __init__(self) -> None:
        self.num_records = 0
        self._words = GrowingArray(np.uint64, WIDTH // 8)
        self._keys = GrowingArray(np.uint64)
        self._fingerprints = GrowingArray(np.uint64)
        self._facts = defaultdict[str, GrowingArray](partial(GrowingArray, np.uint8))
        self._values = defaultdict[str, SharedValues](SharedValues)
        self._texts = SharedTexts(self._words)
        self._index = np.empty(0, np.uint64), np.empty(0, np.int32)

    @property
    def num_bytes(self) -> int:
        """About how many bytes it takes, with the texts of hashes that queries derive."""
        values = sum(shared.num_bytes for shared in self._values.values())
        arrays = sum(growing.array.nbytes for growing in self._arrays)
        of_record = _INDEX_BYTES + self._texts.bytes_per_record
        return arrays + values + of_record * self.num_records

    @property
    def _arrays(self) -> tuple[GrowingArray, ...]:
        return self._words, self._keys, self._fingerprints, *self._facts.values()

    def count(self, keys: Keys) -> int:
        """Return how many of some keys of hashes are those of records."""
        own, _ = self._index
        places = np.minimum(np.searchsorted(own, keys), len(own) - 1)
        return int(np.count_nonzero(own[places] == keys)) if len(own) else 0

    # -- adding

    def records_of(self, frame: Frame, numbers: Mapping[str, Codes]) -> Records:
        """Return the record of each row; those that are not there are added.

        ``numbers`` are those of the distinct values of columns, by ``number_values``.
        """
        facts: dict[str, Array] = {}
        for name, column in frame.columns.items():
            if isinstance(column, NumberColumn):
                facts[name] = column.numbers
            elif isinstance(column, Column):
                facts[name] = numbers[name].take(column.codes)
        records = self._find(frame, facts)
        is_new = records < 0
        new = np.flatnonzero(is_new)
        if len(new):
            # In the order of rows, so that to gather them is to read on.
            records[new] = np.arange(len(new), dtype=np.int32) + np.int32(self.num_records)
            self._add(frame, facts, new)
            by_hash = frame.hashes.order[is_new[frame.hashes.order]]
            self._remember(frame.hashes.keys[by_hash], records[by_hash])
        return records

    def number_values(self, frame: Frame) -> dict[str, Codes]:
        """Return the pool's numbers of the distinct values of each column; new values are added."""
        return {
            name: self._values[name].numbers(column.values)
            for name, column in frame.columns.items()
            if isinstance(column, Column)
        }

    def _find(self, frame: Frame, facts: Mapping[str, Array]) -> Records:
        """Return the record of each row that is there already, and -1 for the others."""
        records = np.full(len(frame), -1, np.int32)
        own, numbers = self._index
        if not len(own):
            return records
        keys = frame.hashes.keys
        places = np.empty(len(frame), np.int64)
        # Sorted ones are searched for several times as fast.
        places[frame.hashes.order] = np.searchsorted(own, frame.hashes.sorted_keys, "right") - 1
        rows = np.arange(len(frame))
        for _ in range(_MAX_ALIKE):
            rows = rows[(own[places[rows]] == keys[rows]) & (places[rows] >= 0)]
            if not len(rows):
                break
            candidates = numbers[places[rows]]
            equal = self._are_equal(frame, facts, rows, candidates)
            records[rows[equal]] = candidates[equal]
            rows = rows[~equal]
            places[rows] -= 1
        return records

    def _are_equal(
        self, frame: Frame, facts: Mapping[str, Array], rows: Array, records: Records
    ) -> Mask:
        """Tell which rows are equal to records in all facts."""
        ours, theirs = self._words.array.take(records, axis=0), frame.hashes.words_at(rows)
        equal: Mask = np.ones(len(rows), np.bool_)
        if not np.array_equal(ours, theirs):  # keys that collide
            equal = (ours == theirs).all(axis=1)
        for name, values in facts.items():
            equal &= self._facts[name].array.take(records) == values.take(rows)
        return equal

    def _add(self, frame: Frame, facts: Mapping[str, Array], rows: Array) -> None:
        """Add the records of rows: all of each, or none where memory does not suffice."""
        for array in self._arrays:
            array.cut(self.num_records)  # what was left when it did not suffice
        self._words.append(frame.hashes.words[rows])
        self._keys.append(frame.hashes.keys[rows])
        self._fingerprints.append(frame.fingerprints[rows])
        for name, values in facts.items():
            own = values[rows]
            dtype = np.min_scalar_type(own.max()) if name in self._values else own.dtype
            self._facts[name].append(own.astype(dtype))
        self.num_records += len(rows)

    def _remember(self, keys: Keys, records: Records) -> None:
        """Add records to the index; the keys are sorted."""
        keys = np.concatenate((self._index[0], keys))
        records = np.concatenate((self._index[1], records))
        order = np.argsort(keys, kind="stable")  # merges the two runs, the latest behind the others
        self._index = keys[order], records[order]

    # -- sharing

    def share(self, frame: Frame, room: ArrayCache) -> Frame:
        """Return a frame with the records of this pool for its rows."""
        numbers = self.number_values(frame)
        records = self.records_of(frame, numbers)

        def column(name: str, own: FactColumn) -> FactColumn:
            if isinstance(own, PlainColumn):
                return own if own.is_known else PlainColumn(pa.nulls(len(frame)))
            if isinstance(own, NumberColumn):
                sizes = Gathered(self._facts[name], records, room)
                return NumberColumn(sizes, is_known=own.is_known)
            if not isinstance(own, Column):
                words, keys = (
                    Gathered(array, records, room) for array in (self._words, self._keys)
                )
                order = frame.hashes.order
                return SharedHashes(words, keys, order, self._texts, records, room)
            values, places = self._values[name].shared(numbers[name])
            codes = Gathered(self._facts[name], records, room, places)
            if isinstance(own, ListColumn):
                return ListColumn(codes, values, own.items, own.flat)
            return Column(codes, values)

        columns = {name: column(name, own) for name, own in frame.columns.items()}
        return frame.sharing(self, columns, Gathered(self._fingerprints, records, room))


class SharedValues:
    """Numbers values in the order in which they come; one thread at a time may use it."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    @property
    def num_bytes(self) -> int:
        """About how much memory the values take beside what frames count for them."""
        return 120 * len(self._values)

    def numbers(self, values: Sequence[Any]) -> Codes:
        """Return the number of each value; new ones get the next."""
        numbers = self._numbers
        for value in values:
            if value not in numbers:
                # In this order: if memory runs out in between, no number is used twice.
                self._values.append(value)
                numbers[value] = len(self._values) - 1
        return np.fromiter(map(numbers.__getitem__, values), np.int32, len(values))

    def shared(self, numbers: Codes) -> tuple[list[Any], Codes]:
        """Return the values with these numbers, and the place of each number among them.

        Numbers of other values have no place of their own.
        """
        places = np.zeros(int(numbers.max(initial=-1)) + 1, np.int32)
        places[numbers] = np.arange(len(numbers), dtype=np.int32)
        return list(map(self._values.__getitem__, numbers.tolist())), places

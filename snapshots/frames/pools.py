"""Records that the frames of several revisions share.

The states of a series differ by a few specs in a hundred. So what the rows of their frames say
stands in a pool, each distinct record once, and a frame has no more of its own than the numbers of
its records and the distinct values of its columns. A record is a hash with all facts of codes and
numbers; texts that nearly every spec has another one of stay with their frame.

A pool lives as long as a frame that has joined it. So that it never keeps much that no frame has,
a frame joins one only where it finds half of its hashes, and which is not much larger than itself.
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
from snapshots.frames.shared_arrays import Array, Gathered, GrowingArray, Room

UNPACKED_BYTES = 16 << 20
"""How much is kept of what was gathered for all rows of a frame."""

MAX_GROWTH = 3
"""A pool takes in a frame where it has at most so many times as many records."""

_SAMPLE = 256
# The latest of the records with a hash: more are hardly ever needed, and by no mistake very many.
_MAX_ALIKE = 8
_INDEX_BYTES = 12

Records = npt.NDArray[np.int32]


class Pools:
    """The pools of a process's frames. May be used by several threads."""

    def __init__(self, unpacked_bytes: int = UNPACKED_BYTES) -> None:
        self._room = Room(unpacked_bytes)
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
                found = pool.count(keys)
                if found >= most:
                    best, most = pool, found
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
        self._known = np.empty(0, np.uint64), np.empty(0, np.int32)

    @property
    def num_bytes(self) -> int:
        """About how much memory it takes, with the texts that queries will make of hashes."""
        values = sum(it.num_bytes for it in self._values.values())
        of_record = _INDEX_BYTES + self._texts.bytes_per_record
        return sum(it.array.nbytes for it in self._arrays) + values + of_record * self.num_records

    @property
    def _arrays(self) -> tuple[GrowingArray, ...]:
        return self._words, self._keys, self._fingerprints, *self._facts.values()

    def count(self, keys: Keys) -> int:
        """Return how many of some keys of hashes are those of records."""
        known, _ = self._known
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return int(np.count_nonzero(known[places] == keys)) if len(known) else 0

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
        """Return what the pool calls the distinct values of each column; it knows them from now."""
        return {
            name: self._values[name].numbers(column.values)
            for name, column in frame.columns.items()
            if isinstance(column, Column)
        }

    def _find(self, frame: Frame, facts: Mapping[str, Array]) -> Records:
        """Return the record of each row that is there already, and -1 for the others."""
        found = np.full(len(frame), -1, np.int32)
        known, numbers = self._known
        if not len(known):
            return found
        keys = frame.hashes.keys
        places = np.empty(len(frame), np.int64)
        # Sorted ones are searched for several times as fast.
        places[frame.hashes.order] = np.searchsorted(known, frame.hashes.sorted_keys, "right") - 1
        rows = np.arange(len(frame))
        for _ in range(_MAX_ALIKE):
            rows = rows[(known[places[rows]] == keys[rows]) & (places[rows] >= 0)]
            if not len(rows):
                break
            records = numbers[places[rows]]
            equal = self._are_equal(frame, facts, rows, records)
            found[rows[equal]] = records[equal]
            rows = rows[~equal]
            places[rows] -= 1
        return found

    def _are_equal(
        self, frame: Frame, facts: Mapping[str, Array], rows: Array, records: Records
    ) -> Mask:
        """Tell which rows say in all what records do."""
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
        """Have records found from now on; the keys are sorted."""
        keys = np.concatenate((self._known[0], keys))
        records = np.concatenate((self._known[1], records))
        order = np.argsort(keys, kind="stable")  # merges the two runs, the latest behind the others
        self._known = keys[order], records[order]

    # -- sharing

    def share(self, frame: Frame, room: Room) -> Frame:
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
                words, keys = (Gathered(it, records, room) for it in (self._words, self._keys))
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
        known = self._numbers
        for value in values:
            if value not in known:
                # In this order: without memory for both, the value has no number of another one.
                self._values.append(value)
                known[value] = len(self._values) - 1
        return np.fromiter(map(known.__getitem__, values), np.int32, len(values))

    def shared(self, numbers: Codes) -> tuple[list[Any], Codes]:
        """Return the values with these numbers, and the place of each number among them.

        Numbers of other values have no place of their own.
        """
        places = np.zeros(int(numbers.max(initial=-1)) + 1, np.int32)
        places[numbers] = np.arange(len(numbers), dtype=np.int32)
        return list(map(self._values.__getitem__, numbers.tolist())), places

"""The hashes of a frame whose records others share."""

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from snapshots.frames.columns import Image, Rows
from snapshots.frames.gathered import Array, Gathered, GrowingArray, Room, Unpacked
from snapshots.frames.hashes import WIDTH, Hashes, Keys, texts_of


class SharedTexts:
    """Texts of the hashes of records, and what functions make of them: made once for all frames.

    May be used by several threads.
    """

    bytes_per_record = 2 * 8 + 2 * 50 + 2 * WIDTH
    """How many bytes a hash takes as text, plain and quoted."""

    def __init__(self, words: GrowingArray) -> None:
        self._words = words
        self._texts: list[str] = []
        self._mapped: dict[Any, list[Any]] = {}
        self._lock = Lock()

    def texts(self, num_records: int) -> list[str]:
        """Return the texts of the first records, so many at least."""
        if len(self._texts) < num_records:
            with self._lock:
                known = len(self._texts)
                self._texts += texts_of(self._words.array[known:num_records])
        return self._texts

    def mapped(self, function: Callable[[str], Image], num_records: int) -> list[Image]:
        """Return what a function makes of them."""
        mapped = self._mapped.setdefault(function, [])
        if len(mapped) < num_records:
            texts = self.texts(num_records)
            with self._lock:
                mapped += map(function, texts[len(mapped) : num_records])
        return mapped


class SharedHashes(Hashes):
    """Hashes that are those of records; ``order`` has the rows by rising hash."""

    def __init__(
        self,
        words: Gathered,
        keys: Gathered,
        order: Rows,
        texts: SharedTexts,
        records: Array,
        room: Room,
    ) -> None:
        self._words = words
        self._keys = keys
        self.order = order
        self._shared = texts
        self._records = records
        self._num_records = int(records.max(initial=-1)) + 1
        self._sorted = Unpacked(room)

    @property
    def num_bytes(self) -> int:
        """How much memory is the frame's alone: the numbers of its records, and their order."""
        return self._records.nbytes + self.order.nbytes

    @property
    def sorted_keys(self) -> Keys:
        """The keys in rising order."""
        return self._sorted.get(self._sort)

    def _sort(self) -> Keys:
        return self.keys.take(self.order)

    def same_records(self, other: Hashes) -> Rows | None:
        """Return for each row the other's row with the same record, or -1."""
        if not isinstance(other, SharedHashes) or other._shared is not self._shared:  # noqa: SLF001
            return None
        rows = np.full(max(self._num_records, other._num_records), -1, np.int32)  # noqa: SLF001
        rows[other._records] = np.arange(len(other), dtype=np.int32)  # noqa: SLF001
        return rows.take(self._records)

    @property
    def texts(self) -> list[str]:
        """Every hash as text."""
        texts = self._shared.texts(self._num_records)
        return list(map(texts.__getitem__, self._records.tolist()))

    def texts_at(self, rows: Rows) -> list[str]:
        """Return the hash of each row as text."""
        texts = self._shared.texts(self._num_records)
        return list(map(texts.__getitem__, self._records[rows].tolist()))

    def mapped_at(self, function: Callable[[str], Image], rows: Rows) -> list[Image]:
        """Return what a function makes of the hash of each row; kept for all, as for any hashes."""
        mapped = self._shared.mapped(function, self._num_records)
        return list(map(mapped.__getitem__, self._records[rows].tolist()))

"""Arrays that many frames share, and the arrays of one frame that are gathered from them.

A frame that shares its records has no array of its own for each fact, but the numbers of its
records. The values of all rows are gathered on demand, and cached as long as there is room.
"""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol
from weakref import ref

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Shared(Protocol):
    """What several frames share."""

    @property
    def num_bytes(self) -> int:
        """About how many bytes it takes, with what queries derive from it."""


class GrowingArray:
    """An array that is appended to by one thread at a time while others read what is there.

    ``array`` has the values so far, followed by spare capacity. A reader gets it anew for each
    query: it is replaced when there is no capacity left, or when a value needs a wider type.
    """

    def __init__(self, dtype: npt.DTypeLike, width: int | None = None) -> None:
        self.array: Array = np.empty(0 if width is None else (0, width), dtype)
        self._length = 0

    def append(self, values: Array) -> None:
        """Add values at the end."""
        length = self._length + len(values)
        dtype = np.promote_types(self.array.dtype, values.dtype)
        array = self.array
        if length > len(array) or dtype != array.dtype:
            array = np.empty((length + length // 16, *array.shape[1:]), dtype)
            array[: self._length] = self.array[: self._length]
        array[self._length : length] = values
        self.array, self._length = array, length

    def cut(self, length: int) -> None:
        """Truncate to ``length`` values; the rest must not be read."""
        self._length = min(self._length, length)


class ArrayCache:
    """A cache of gathered arrays within ``max_bytes``, for all frames that share.

    May be used by several threads.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._kept: deque[tuple[ref[Unpacked], int]] = deque()
        self._num_bytes = 0
        self._lock = Lock()

    def admit(self, unpacked: "Unpacked", num_bytes: int) -> bool:
        """Make room for an array by dropping others; return whether there is room for it at all.

        The oldest are dropped first, but those used since they were last considered stay once more.
        """
        if num_bytes > self.max_bytes:
            return False
        dropped = []
        with self._lock:
            self._kept.append((ref(unpacked), num_bytes))
            self._num_bytes += num_bytes
            while self._num_bytes > self.max_bytes:
                oldest, size = self._kept.popleft()
                holder = oldest()
                if holder is not None and holder.was_used and holder is not unpacked:
                    holder.was_used = False
                    self._kept.append((oldest, size))
                else:
                    self._num_bytes -= size
                    dropped.append(holder)
        for holder in dropped:
            if holder is not None:
                holder.drop()
        return True


class Unpacked:
    """An array that is computed on demand, and cached as long as there is room.

    ``array`` is None while it is not cached. Whoever uses it directly sets ``was_used``.
    """

    def __init__(self, room: ArrayCache) -> None:
        self.was_used = False
        self._room = room
        self.array: Array | None = None

    def get(self, make: Callable[[], Array]) -> Array:
        """Return the array; ``make`` computes it unless it is cached."""
        array = self.array
        if array is None:
            array = make()
            self.array = array
            if not self._room.admit(self, array.nbytes):
                self.array = None
        else:
            self.was_used = True
        return array

    def drop(self) -> None:
        """Drop the array from the cache."""
        self.array = None


class Gathered:
    """The values of some records of a growing array; behaves like an array with a row for each.

    ``records`` are the numbers of the records, row by row. With ``places`` the values are codes,
    and ``places`` maps each code to the value of the row.
    """

    def __init__(
        self, source: GrowingArray, records: Array, room: ArrayCache, places: Array | None = None
    ) -> None:
        self._source = source
        self._records = records
        self._places = places
        self._unpacked = Unpacked(room)
        self._num_taken = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def nbytes(self) -> int:
        """How many bytes it takes, without what is shared."""
        return 0 if self._places is None else self._places.nbytes

    def __getitem__(self, rows: Any) -> Any:
        """Return the values of rows; ``rows`` is any index that numpy accepts."""
        array = self._unpacked.array
        if array is not None:
            self._unpacked.was_used = True
            return array[rows]
        return self._decoded(self._source.array[self._records[rows]])

    def take(self, rows: Array) -> Array:
        """Return the values of rows, by their numbers."""
        array = self._unpacked.array
        if array is None:
            self._num_taken += len(rows)
            if self._num_taken > len(self):  # gathering all would have cost no more
                array, self._num_taken = self.whole, 0
        if array is not None:
            self._unpacked.was_used = True
            return array.take(rows, axis=0)
        return self._decoded(self._source.array.take(self._records.take(rows), axis=0))

    @property
    def whole(self) -> Array:
        """The values of all rows."""
        return self._unpacked.get(self._gather)

    def _gather(self) -> Array:
        return self._decoded(self._source.array.take(self._records, axis=0))

    def _decoded(self, values: Array) -> Array:
        return values if self._places is None else self._places.take(values)


def whole(array: Array | Gathered) -> Array:
    """Return the whole array, gathered if need be."""
    return array.whole if isinstance(array, Gathered) else array


def taken(array: Array | Gathered, rows: Array) -> Array:
    """Return the values of rows of an array, gathered if need be."""
    return array.take(rows) if isinstance(array, Gathered) else array.take(rows, axis=0)

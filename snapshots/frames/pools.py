"""Hashes that the frames of several revisions share.

The revisions of a series differ in a few per cent of their specs. A pool stores each distinct hash
of their frames once, with its texts. A frame stores only the number of each row's hash in the pool.

A pool exists as long as a frame uses it. To limit the number of hashes in a pool that no frame
uses, a frame joins a pool only if the pool has half of its hashes and is not much larger than it.
"""

from collections.abc import Callable
from threading import Lock
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Image, Rows, rows_where
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import Hashes, Keys, Words

MAX_GROWTH = 3
"""A frame joins a pool only if it has at most this many times the number of the frame's hashes."""

_SAMPLE = 256


class Pool:
    """Distinct, numbered hashes. Only one thread at a time may add hashes."""

    def __init__(self) -> None:
        self.hashes = Hashes(b"")

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the hashes and the texts that queries derive, in bytes."""
        return self.hashes.num_bytes

    def share(self, hashes: Hashes) -> "SharedHashes":
        """Return the same hashes, stored in this pool; those that it does not have are added."""
        numbers = hashes.match(self.hashes)
        new = rows_where(numbers < 0)
        if len(new):
            numbers[new] = np.arange(len(new)) + len(self.hashes)
            self.hashes = self.hashes.followed_by(hashes.at_rows(new))
        return SharedHashes(self, numbers, hashes.order)


class SharedHashes(Hashes):
    """The hashes with some numbers in a pool; ``order`` has the rows in ascending order of hash."""

    def __init__(self, pool: Pool, numbers: Rows, order: Rows) -> None:
        self.pool = pool
        self.numbers = numbers
        self.order = order

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def num_bytes(self) -> int:
        """Memory that belongs to the frame alone (numbers, order, sorted keys), in bytes."""
        return self.numbers.nbytes + self.order.nbytes + 8 * len(self)

    @property
    def keys(self) -> Keys:
        """The prefix of each hash as a number."""
        return self.pool.hashes.keys_at(self.numbers)

    @property
    def words(self) -> Words:
        """The hashes as four numbers per row."""
        return self.pool.hashes.words_at(self.numbers)

    def at(self, row: int) -> str:
        """Return the hash of a row."""
        return self.pool.hashes.at(self.numbers[row])

    @property
    def texts(self) -> list[str]:
        """All hashes as text."""
        return self.pool.hashes.texts_at(self.numbers)

    def mapped_at(self, function: Callable[[str], Image], rows: Rows) -> list[Image]:
        """Apply a function to the hash of each row; the results are cached in the pool."""
        return self.pool.hashes.mapped_at(function, self.numbers.take(rows))

    def keys_at(self, rows: npt.NDArray[np.integer]) -> Keys:
        """Return the keys of rows."""
        return self.pool.hashes.keys_at(self.numbers.take(rows))

    def words_at(self, rows: npt.NDArray[np.integer]) -> Words:
        """Return the hashes of rows as four numbers each."""
        return self.pool.hashes.words_at(self.numbers.take(rows))

    def match(self, head: Hashes) -> Rows:
        """Return for each row the row in ``head`` with the same hash, or -1."""
        if not isinstance(head, SharedHashes) or head.pool is not self.pool:
            return super().match(head)
        rows = np.full(len(self.pool.hashes), -1, np.int32)
        rows[head.numbers] = np.arange(len(head), dtype=np.int32)
        return rows.take(self.numbers)


class Pools:
    """The pools of all frames of a process; thread-safe."""

    def __init__(self) -> None:
        self._pools: WeakSet[Pool] = WeakSet()
        self._lock = Lock()

    def share(self, frame: Frame) -> Frame:
        """Move a new frame's hashes to the pool that has most of them; return the frame."""
        if len(frame):
            with self._lock:
                pool = self._pool_for(frame.hashes)
                self._pools.add(pool)
                frame.keep_hashes(pool.share(frame.hashes))
        return frame

    def _pool_for(self, hashes: Hashes) -> Pool:
        sample = hashes.at_rows(hashes.order[:: -(-len(hashes) // _SAMPLE)])
        best, most = None, (len(sample) + 1) // 2
        for pool in self._pools:
            if len(pool.hashes) <= MAX_GROWTH * len(hashes):
                num_common = int(np.count_nonzero(sample.match(pool.hashes) >= 0))
                if num_common >= most:
                    best, most = pool, num_common
        return Pool() if best is None else best


def pool_of(frame: Frame) -> Pool | None:
    """Return the pool that stores a frame's hashes, if any."""
    return frame.hashes.pool if isinstance(frame.hashes, SharedHashes) else None

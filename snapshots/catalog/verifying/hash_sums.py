"""Sets of hashes, each as a number: what changes add and remove must lead from one to the next.

Sets that differ have the same number by chance once in 2^64 times.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from snapshots.changes.kept_changes import numbers_of

MODULUS = 1 << 64
"""What the sums are counted to."""


class SetOfHashes(NamedTuple):
    """How many hashes, and the sum of their numbers, modulo 2^64."""

    size: int
    total: int

    def after(self, added: "SetOfHashes", removed: "SetOfHashes") -> "SetOfHashes":
        """Return the set after some came and some went."""
        return SetOfHashes(
            self.size + added.size - removed.size,
            (self.total + added.total - removed.total) % MODULUS,
        )


def sum_of(hashes: Iterable[str]) -> SetOfHashes:
    """Return the number of some hashes."""
    numbers = numbers_of(pa.chunked_array([pa.array(hashes, pa.string())]))
    # Numbers of 64 bits are summed modulo 2^64.
    return SetOfHashes(len(numbers), int(numbers.sum(dtype=np.uint64)))

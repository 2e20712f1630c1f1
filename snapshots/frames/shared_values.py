"""The distinct values of a column that several frames have, each of them once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from snapshots.frames.columns import Codes


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

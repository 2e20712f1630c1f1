"""Arrays that grow while they are read, and what is gathered from them."""

import numpy as np

from snapshots.frames.shared_arrays import (
    ArrayCache,
    Unpacked,
)


def test_room_is_bounded() -> None:
    """The latest are kept, and of the others those that were read again."""
    room = ArrayCache(24)
    made: list[int] = []

    def get(unpacked: Unpacked, number: int) -> None:
        def make() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
            made.append(number)
            return np.full(1, number, np.int64)

        assert unpacked.get(make).tolist() == [number]

    holders = [Unpacked(room) for _ in range(5)]
    for number in (0, 1, 2, 0, 3, 0, 2, 3, 1):
        get(holders[number], number)
    assert made == [0, 1, 2, 3, 1]


def test_what_is_larger_than_the_room() -> None:
    """It is made each time, and nothing else has to go for it."""
    room = ArrayCache(8)
    small, large = Unpacked(room), Unpacked(room)
    first = small.get(lambda: np.zeros(1))
    assert large.get(lambda: np.zeros(2)) is not large.get(lambda: np.zeros(2))
    assert small.get(lambda: np.ones(1)) is first

"""Arrays that grow while they are read, and what is gathered from them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.shared_arrays import (
    ArrayCache,
    Gathered,
    GrowingArray,
    Unpacked,
    taken,
    whole,
)


@given(st.lists(st.lists(st.integers(0, 1 << 40), min_size=1)))
def test_growing(parts: list[list[int]]) -> None:
    """All values are there, in the narrowest type that holds them, also for who read before."""
    growing = GrowingArray(np.uint8)
    read = growing.array
    expected: list[int] = []
    for part in parts:
        growing.append(np.array(part, np.min_scalar_type(max(part))))
        assert read.tolist()[: len(expected)] == expected
        read = growing.array
        expected += part
        assert read[: len(expected)].tolist() == expected
    assert growing.array.dtype == np.min_scalar_type(max(expected, default=0))


def test_gathered() -> None:
    """It is like the array that it stands for, with places and without."""
    growing = GrowingArray(np.uint8)
    growing.append(np.array([3, 1, 0], np.uint8))
    records, places = np.array([1, 1, 0]), np.array([10, 11, 12, 13])
    for gathered, expected in (
        (Gathered(growing, records, ArrayCache(99)), np.array([1, 1, 3])),
        (Gathered(growing, records, ArrayCache(99), places), np.array([11, 11, 13])),
    ):
        assert len(gathered) == 3
        assert whole(gathered).tolist() == whole(expected).tolist()
        for rows in (2, slice(1, 3), np.array([True, False, True]), np.array([2, 0])):
            assert gathered[rows].tolist() == expected[rows].tolist()
        rows = np.array([2, 2, 0])
        assert taken(gathered, rows).tolist() == taken(expected, rows).tolist()
    assert Gathered(growing, records, ArrayCache(99)).nbytes == 0
    assert Gathered(growing, records, ArrayCache(99), places).nbytes == places.nbytes


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


def test_taking_often() -> None:
    """What was taken row by row as often as there are rows is kept whole."""
    growing = GrowingArray(np.uint8)
    growing.append(np.arange(9, dtype=np.uint8))
    room = ArrayCache(8)
    gathered = Gathered(growing, np.arange(8), room)
    kept = []
    for _ in range(5):
        assert gathered.take(np.array([1, 7, 1])).tolist() == [1, 7, 1]
        kept.append(gathered.kept)
    assert kept == [False, False, True, True, True]
    Gathered(growing, np.arange(8), room).whole.sum()
    Gathered(growing, np.arange(8), room).whole.sum()
    assert not gathered.kept
    assert gathered.take(np.array([1, 7])).tolist() == [1, 7]
    assert not gathered.kept

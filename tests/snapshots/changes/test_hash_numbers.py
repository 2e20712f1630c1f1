"""Numbers of hashes: few of them are found among many."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.kept_changes import places_of

NUMBERS = st.lists(
    # Some agree in the bits that are looked at first, and in nothing else.
    st.builds(
        lambda high, low: high * 2**16 + low, st.integers(-(2**47), 2**47 - 1), st.integers(0, 3)
    ),
    max_size=30,
)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_wanted_numbers_are_found_where_they_stand(
    some: list[int], wanted: list[int], others: list[int]
) -> None:
    """Each as often as it is there, in an array of its own or a part of another one."""
    numbers = np.array([*some, *wanted, *others], np.int64)
    known = {*some, *wanted[::2]}
    expected = [place for place, number in enumerate(numbers.tolist()) if number in known]
    told = np.array([*known], np.int64)
    assert places_of(told, numbers).tolist() == expected
    apart = np.repeat(numbers, 2)[::2]
    assert places_of(told, apart).tolist() == expected

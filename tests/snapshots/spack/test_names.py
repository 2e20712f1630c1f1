"""The order that people expect of names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.spack.names import natural_key, natural_order

NAMES = st.text("ab-_.0123456789", min_size=1, max_size=30)


def as_people_do(name: str) -> tuple[list[tuple[int, int]], str]:
    """Return a key that takes a number for one item, which stands before every character."""
    pieces = re.findall(r"[0-9]+|[^0-9]", name)
    return [(0, int(it)) if it.isdigit() else (1, ord(it)) for it in pieces], name


@pytest.mark.parametrize("length", [1, 9, 10, 13, 200])
def test_numbers_of_any_length(length: int) -> None:
    """A shorter number stands first, however long both are: 1718000000 is a time of Unix."""
    shorter, longer = f"ci-{'9' * (length - 1)}", f"ci-1{'0' * (length - 1)}"
    assert natural_order([longer, shorter]) == [shorter, longer]


@given(st.lists(NAMES, unique=True))
def test_names_stand_as_people_sort_them(names: list[str]) -> None:
    """Numbers count as numbers; names with equal keys stand by their text."""
    expected = sorted(names, key=as_people_do)
    assert natural_order(names) == expected
    assert sorted(sorted(names), key=natural_key) == expected

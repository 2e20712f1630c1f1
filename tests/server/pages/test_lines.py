"""Lines and bars that are drawn without a script."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.pages.charts import MOST_POINTS, Bars, Line, bars, line

COUNTS = st.integers(0, 10**7)


def box(values: Sequence[int | None], times: tuple[int, ...] = ()) -> Line | None:
    """Return the line through values in a box of 100 by 50."""
    return line(values, width=100, height=50, times=times)


def places(path: str) -> list[list[tuple[int, int]]]:
    """Return the points of each piece of a path, as a browser goes through them."""
    found: list[list[tuple[int, int]]] = []
    for letter, numbers in re.findall(r"([Ml])([-\d ]+)", path):
        flat = [int(it) for it in re.findall(r"-?\d+", numbers)]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        if letter == "M":
            found.append(pairs)
        else:
            for right, down in pairs:
                x, y = found[-1][-1]
                found[-1].append((x + right, y + down))
    return found


@pytest.mark.parametrize(
    ("values", "times", "expected"),
    [
        ([1, 2, 3], (), [[(0, 49), (50, 25), (100, 1)]]),
        ([3, 1], (), [[(0, 1), (100, 49)]]),
        ([5, 5], (), [[(0, 25), (100, 25)]]),
        ([0, 10, 0], (0, 10, 100), [[(0, 49), (10, 1), (100, 49)]]),
        ([1, 2, None, 2, 1], (), [[(0, 49), (25, 1)], [(75, 1), (100, 49)]]),
        ([1, None, 2], (), [[(0, 49), (1, 49)], [(100, 1), (101, 1)]]),
        ([None, 1, 2], (), [[(50, 49), (100, 1)]]),
        ([1, 2], (7, 7), [[(0, 49), (0, 1)]]),
    ],
)
def test_a_line_goes_through_what_is_known(
    values: list[int | None], times: tuple[int, ...], expected: list[list[tuple[int, int]]]
) -> None:
    """From left to right, the largest at the top, with gaps where nothing is known."""
    drawn = box(values, times)
    assert drawn
    assert places(drawn.path) == expected


@pytest.mark.parametrize("values", [[], [1], [None, None], [None, 1, None]])
def test_too_few_values_are_no_line(values: list[int | None]) -> None:
    """One value has nothing to be joined with."""
    assert box(values) is None


@given(st.lists(st.none() | COUNTS, max_size=700))
def test_a_line_stays_in_its_box(values: list[int | None]) -> None:
    """However many values there are; its ends and extremes are those of the values."""
    known = [it for it in values if it is not None]
    drawn = box(values)
    if len(known) < 2:
        assert drawn is None
        return
    assert drawn
    assert (drawn.first, drawn.last) == (known[0], known[-1])
    assert (drawn.lowest, drawn.highest) == (min(known), max(known))
    every = [place for piece in places(drawn.path) for place in piece]
    assert len(every) <= 2 * MOST_POINTS
    assert all(0 <= x <= 101 and 0 <= y <= 50 for x, y in every)


def test_a_long_line_ends_where_its_values_end() -> None:
    """What is left out stands between others."""
    drawn = box([0] * 998 + [1, 9])
    assert drawn
    assert places(drawn.path)[0][-1] == (100, 1)


def drawn_bars(up: list[int], down: list[int]) -> Bars | None:
    """Return bars in a box of 102 by 50."""
    return bars(up, down, width=102, height=50)


def test_bars_stand_on_the_middle() -> None:
    """Those of what came reach up and those of what went down, by one scale; no bar for nothing."""
    drawn = drawn_bars([10, 0, 5], [0, 5, 5])
    assert drawn
    assert drawn.up == "M0 25v-25h2v25zM100 25v-12h2v12z"
    assert drawn.down == "M50 25v12h2v-12zM100 25v12h2v-12z"
    assert (drawn.most_up, drawn.most_down) == (10, 5)


def test_what_is_little_is_seen_too() -> None:
    """A single spec among thousands has a bar."""
    drawn = drawn_bars([10_000, 1], [0, 0])
    assert drawn
    assert drawn.up.endswith("v-1h2v1z")


def test_nothing_has_no_bars() -> None:
    """Where nothing came or went there is nothing to draw."""
    assert drawn_bars([], []) is None
    assert drawn_bars([0, 0], [0, 0]) is None


@given(st.lists(COUNTS, min_size=1, max_size=700))
def test_the_largest_bar_is_there(values: list[int]) -> None:
    """Where not all can be told apart, the largest of neighbours stands for them."""
    drawn = drawn_bars(values, [0] * len(values))
    if not any(values):
        assert drawn is None
        return
    assert drawn
    assert "v-25" in drawn.up
    assert drawn.up.count("M") <= MOST_POINTS

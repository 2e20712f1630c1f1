"""Charts that are drawn without a script."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.pages.charts import MAX_POINTS, Line, bars, line

COUNTS = st.integers(0, 10**7)


def line_in_a_box(values: Sequence[int | None], times: tuple[int, ...] = ()) -> Line | None:
    """Return the line through values in a box of 100 by 50."""
    return line(values, width=100, height=50, times=times)


def points_of(path: str) -> list[list[tuple[int, int]]]:
    """Return the points of each piece of a path."""
    pieces: list[list[tuple[int, int]]] = []
    for letter, numbers in re.findall(r"([Ml])([-\d ]+)", path):
        flat = [int(number) for number in re.findall(r"-?\d+", numbers)]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        if letter == "M":
            pieces.append(pairs)
        else:
            for right, down in pairs:
                x, y = pieces[-1][-1]
                pieces[-1].append((x + right, y + down))
    return pieces


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
def test_lines(
    values: list[int | None], times: tuple[int, ...], expected: list[list[tuple[int, int]]]
) -> None:
    """From left to right, the largest value at the top, with gaps for unknown values."""
    drawn = line_in_a_box(values, times)
    assert drawn
    assert points_of(drawn.path) == expected


@given(st.lists(st.none() | COUNTS, max_size=700))
def test_line_stays_in_its_box(values: list[int | None]) -> None:
    """For any number of values; its ends and extremes are those of the values."""
    present = [value for value in values if value is not None]
    drawn = line_in_a_box(values)
    if len(present) < 2:
        assert drawn is None
        return
    assert drawn
    assert (drawn.first, drawn.last) == (present[0], present[-1])
    assert (drawn.lowest, drawn.highest) == (min(present), max(present))
    points = [point for piece in points_of(drawn.path) for point in piece]
    assert len(points) <= 2 * MAX_POINTS
    assert all(0 <= x <= 101 and 0 <= y <= 50 for x, y in points)


def test_last_value_of_a_long_line() -> None:
    """Only values between others are omitted."""
    drawn = line_in_a_box([0] * 998 + [1, 9])
    assert drawn
    assert points_of(drawn.path)[0][-1] == (100, 1)


@pytest.mark.parametrize(
    ("up", "down", "expected"),
    [
        (
            [10, 0, 5],
            [0, 5, 5],
            ("M0 25v-25h2v25zM100 25v-12h2v12z", "M50 25v12h2v-12zM100 25v12h2v-12z", 10, 5),
        ),
        ([10_000, 1], [0, 0], ("M0 25v-25h2v25zM100 25v-1h2v1z", "", 10_000, 0)),
        ([], [], None),
        ([0, 0], [0, 0], None),
    ],
    ids=["on the axis", "small values", "no bars", "no changes"],
)
def test_bars(up: list[int], down: list[int], expected: tuple[str, str, int, int] | None) -> None:
    """Increases above the axis and decreases below it, by one scale; no bar for zero."""
    drawn = bars(up, down, width=102, height=50)
    assert (drawn and (drawn.up, drawn.down, drawn.most_up, drawn.most_down)) == expected


def test_largest_bar_is_drawn() -> None:
    """If there are too many bars, the largest of neighbours represents them."""
    drawn = bars([1] * 500 + [9] + [1] * 200, [0] * 701, width=102, height=50)
    assert drawn
    assert "v-25" in drawn.up
    assert drawn.up.count("M") <= MAX_POINTS

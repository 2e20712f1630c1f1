"""Lines and bars of charts as SVG paths, which are drawn without a script."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

import msgspec

MAX_POINTS = 120
"""Maximum number of points or bars in a chart; more could not be distinguished."""

Point = tuple[int, int]


class Line(msgspec.Struct, frozen=True):
    """A line in a box of ``width`` and ``height``, with the values that describe it in words.

    The scale of ``path`` ranges from the lowest to the highest value; it does not begin at 0, so
    the area below the line is not filled. The origin of the box is its upper left corner.
    """

    path: str
    width: int
    height: int
    first: int
    last: int
    lowest: int
    highest: int


class Bars(msgspec.Struct, frozen=True):
    """Bars that start at the middle of a box: up for additions, and down for removals.

    ``most_up`` and ``most_down`` are the largest values.
    """

    up: str
    down: str
    width: int
    height: int
    most_up: int
    most_down: int


def line(
    values: Sequence[int | None], *, width: int, height: int, times: Sequence[int] = ()
) -> Line | None:
    """Return the line through values, with gaps for unknown ones.

    The points are spaced in proportion to ``times``, or evenly. Returns None if fewer than two
    values are known.
    """
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return None
    lowest, highest = min(numbers), max(numbers)
    across = _x_coordinates(times or range(len(values)), width)

    def point_of(number: int, value: int) -> Point:
        share = (value - lowest) / (highest - lowest) if highest > lowest else 0.5
        return across(number), round(1 + (1 - share) * (height - 2))

    path = "".join(_svg_path(run) for run in _runs(values, point_of))
    return Line(path, width, height, numbers[0], numbers[-1], lowest, highest)


def bars(
    up: Sequence[int], down: Sequence[int], *, width: int, height: int, times: Sequence[int] = ()
) -> Bars | None:
    """Return the bars of additions and removals; None if there are none.

    If there are too many to be distinguished, each bar shows the maximum of several neighbors.
    """
    most = max([*up, *down], default=0)
    if not most:
        return None
    middle = height // 2
    across = _x_coordinates(times or range(len(up)), width - 2)

    def drawn(values: Sequence[int], sign: int) -> str:
        heights = {
            number: round(values[number] / most * middle) or 1 for number in _largest(values)
        }
        return "".join(
            f"M{across(number)} {middle}v{-sign * height}h2v{sign * height}z"
            for number, height in heights.items()
        )

    return Bars(drawn(up, 1), drawn(down, -1), width, height, max(up), max(down))


def _x_coordinates(times: Sequence[int], width: int) -> Callable[[int], int]:
    """Return a function from the number of a point to its x coordinate."""
    first, span = times[0], (times[-1] - times[0]) or 1
    return lambda number: round((times[number] - first) / span * width)


def _largest(values: Sequence[int]) -> Iterator[int]:
    """Yield the number of the largest value in each group of neighbors, unless it is 0."""
    step = -(-len(values) // MAX_POINTS)
    for start in range(0, len(values), step):
        some = range(start, min(start + step, len(values)))
        largest = max(some, key=values.__getitem__)
        if values[largest]:
            yield largest


def _runs(
    values: Sequence[int | None], point_of: Callable[[int, int], Point]
) -> Iterator[list[Point]]:
    """Yield the coordinates of each run of known values.

    Of too many values, evenly selected ones are used, including the last one.
    """
    step = -(-len(values) // MAX_POINTS)
    points = [*enumerate(values)][(len(values) - 1) % step :: step]
    for is_known, some in groupby(points, key=lambda point: point[1] is not None):
        if is_known:
            yield [point_of(number, value) for number, value in some if value is not None]


def _svg_path(points: Sequence[Point]) -> str:
    """Return a line as an SVG path, in relative coordinates because they are shorter.

    A single point becomes a short dash.
    """
    (x, y), *_ = points
    steps = [(to[0] - start[0], to[1] - start[1]) for start, to in pairwise(points)] or [(1, 0)]
    return f"M{x} {y}l" + " ".join(
        f"{right}{'' if down < 0 else ' '}{down}" for right, down in steps
    )

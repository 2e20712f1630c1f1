"""Lines and bars for charts that are drawn without a script: the paths of SVG."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

import msgspec

MOST_POINTS = 120
"""How many points or bars are drawn at most: more cannot be told apart."""

Place = tuple[int, int]


class Line(msgspec.Struct, frozen=True):
    """A line in a box of ``width`` and ``height``, with what can be said of it in words.

    ``path`` goes from the lowest to the highest value: the scale does not begin at 0, so there is
    no area to fill below it. The box begins at its upper left.
    """

    path: str
    width: int
    height: int
    first: int
    last: int
    lowest: int
    highest: int


class Bars(msgspec.Struct, frozen=True):
    """Bars from the middle of a box, up for what came and down for what went.

    ``most_up`` and ``most_down`` are the largest of the values.
    """

    up: str
    down: str
    width: int
    height: int
    most_up: int
    most_down: int


def line(
    values: Sequence[int | None],
    *,
    width: int,
    height: int,
    times: Sequence[int] = (),
) -> Line | None:
    """Return the line through values, with gaps for those that are not known.

    They stand as far from each other as their ``times``, or evenly. None where fewer than two
    are known: that is not a line.
    """
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return None
    lowest, highest = min(numbers), max(numbers)
    across = _across(times or range(len(values)), width)

    def place(number: int, value: int) -> Place:
        share = (value - lowest) / (highest - lowest) if highest > lowest else 0.5
        return across(number), round(1 + (1 - share) * (height - 2))

    path = "".join(_drawn(run) for run in _runs(_thinned(values), place))
    return Line(path, width, height, numbers[0], numbers[-1], lowest, highest)


def bars(
    up: Sequence[int], down: Sequence[int], *, width: int, height: int, times: Sequence[int] = ()
) -> Bars | None:
    """Return bars for what came and went; None where nothing did.

    Where there are too many to be told apart, each stands for the largest of some neighbours.
    """
    most = max([*up, *down], default=0)
    if not most:
        return None
    middle = height // 2
    across = _across(times or range(len(up)), width - 2)

    def drawn(values: Sequence[int], sign: int) -> str:
        heights = {
            number: round(values[number] / most * middle) or 1 for number in _largest(values)
        }
        return "".join(
            f"M{across(number)} {middle}v{-sign * height}h2v{sign * height}z"
            for number, height in heights.items()
        )

    return Bars(drawn(up, 1), drawn(down, -1), width, height, max(up), max(down))


def _across(times: Sequence[int], width: int) -> Callable[[int], int]:
    """Return what tells where a point stands from left to right, by its number."""
    first, span = times[0], (times[-1] - times[0]) or 1
    return lambda number: round((times[number] - first) / span * width)


def _thinned(values: Sequence[int | None]) -> Iterator[tuple[int, int | None]]:
    """Yield some of the values with their numbers: evenly chosen, the last one among them."""
    step = -(-len(values) // MOST_POINTS)
    numbers = range((len(values) - 1) % step, len(values), step)
    return ((number, values[number]) for number in numbers)


def _largest(values: Sequence[int]) -> Iterator[int]:
    """Yield where the largest value of each few neighbours is, where there is any."""
    step = -(-len(values) // MOST_POINTS)
    for start in range(0, len(values), step):
        some = range(start, min(start + step, len(values)))
        largest = max(some, key=values.__getitem__)
        if values[largest]:
            yield largest


def _runs(
    points: Iterator[tuple[int, int | None]], place: Callable[[int, int], Place]
) -> Iterator[list[Place]]:
    """Yield the places of neighbours that are all known."""
    for is_known, some in groupby(points, key=lambda point: point[1] is not None):
        if is_known:
            yield [place(number, value) for number, value in some if value is not None]


def _drawn(places: Sequence[Place]) -> str:
    """Return a line in the language of SVG's paths, each step by its length: that is shorter.

    A single point is a short dash.
    """
    (x, y), *_ = places
    steps = [(to[0] - start[0], to[1] - start[1]) for start, to in pairwise(places)] or [(1, 0)]
    return f"M{x} {y}l" + " ".join(
        f"{right}{'' if down < 0 else ' '}{down}" for right, down in steps
    )

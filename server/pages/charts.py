"""Charts of a series: points that a script draws, and bars as SVG paths, which need no script."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec
import orjson
from markupsafe import Markup

Data = Mapping[str, Any]

LINES = {"specs": "numSpecs", "packages": "numPackages", "size": "totalSize"}
"""The fields that lines show, by the names of their charts."""

_MINUTE, _MEBIBYTE = 60, 1 << 20


def growth_points(points: Sequence[Data]) -> Markup | None:
    """Return the points of a series' growth as JSON for a script; None if there are fewer than two.

    Times are minutes, each but the first relative to the preceding one, and sizes are MiB.
    """
    if len(points) < 2:
        return None
    columns = {
        name: [None if (value := point[field]) is None else int(value) for point in points]
        for name, field in LINES.items()
    }
    minutes = [_seconds(point["takenAt"]) // _MINUTE for point in points]
    numbers = {
        "taken": [minutes[0], *(after - before for before, after in pairwise(minutes))],
        **columns,
        "size": [None if size is None else round(size / _MEBIBYTE) for size in columns["size"]],
        # In the first revision all specs are new: its bar would make the others invisible.
        "added": [0, *(point["numSpecsAdded"] for point in points[1:])],
        "removed": [0, *(point["numSpecsRemoved"] for point in points[1:])],
    }
    # These are only numbers, but "<" is escaped in any case: nothing can end the script element.
    return Markup(orjson.dumps(numbers).decode().replace("<", "\\u003c"))  # noqa: S704


WIDTH, HEIGHT = 240, 24
MAX_BARS = 120
"""Maximum number of bars in a chart; more could not be distinguished."""


class Bars(msgspec.Struct, frozen=True):
    """Bars in a box of ``width`` and ``height`` as an SVG path; ``most`` is the largest value."""

    path: str
    most: int
    width: int = WIDTH
    height: int = HEIGHT


def cause_bars(causes: Iterable[Data], points: Sequence[Data]) -> list[Bars | None]:
    """Return the bars of each cause over time, at the points of a series' growth.

    A bar shows the specs of one revision. An item is None if no spec has the cause as its main one.
    """
    times = [_seconds(point["takenAt"]) for point in points]
    drawings = []
    for cause in causes:
        explained = {
            _seconds(point["revision"]["takenAt"]): point["numSpecs"] for point in cause["points"]
        }
        drawings.append(bars([explained.get(time, 0) for time in times], times))
    return drawings


def bars(values: Sequence[int], times: Sequence[int]) -> Bars | None:
    """Return the bars of values, spaced in proportion to their times; None if there are none.

    If there are too many to be distinguished, each bar shows the maximum of several neighbors.
    """
    most = max(values, default=0)
    if not most:
        return None
    span = (times[-1] - times[0]) or 1
    step = -(-len(values) // MAX_BARS)
    path = []
    for start in range(0, len(values), step):
        largest = max(range(start, min(start + step, len(values))), key=values.__getitem__)
        if values[largest]:
            x = round((times[largest] - times[0]) / span * (WIDTH - 2))
            height = round(values[largest] / most * HEIGHT) or 1
            path.append(f"M{x} {HEIGHT}v-{height}h2v{height}z")
    return Bars("".join(path), most)


def _seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())

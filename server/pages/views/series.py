"""What the page of a series shows beside its answer: charts of its growth."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import orjson
from markupsafe import Markup

from server.pages.views.lines import bars, line

WIDTH, HEIGHT = 600, 120
_MINUTE, _MEBIBYTE = 60, 1 << 20

LINES = {"specs": "numSpecs", "packages": "numPackages", "size": "totalSize"}
"""The lines by the names of their charts, with the fields that they show."""


def series_view(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the charts, where the growth is known and has any points to be drawn between.

    ``drawn`` has them as paths, by name, None where nothing is known; ``points`` has them as JSON.
    """
    points = (data.get("growing") or {}).get("growth") or []
    if len(points) < 2:
        return {"drawn": {}, "points": None, "num_points": len(points)}
    columns = {name: [_whole(it[field]) for it in points] for name, field in LINES.items()}
    taken = [int(datetime.fromisoformat(it["takenAt"]).timestamp()) for it in points]
    # Of the first all is new: beside that bar the others could not be seen.
    came = [0, *(it["specsAdded"] for it in points[1:])]
    went = [0, *(it["specsRemoved"] for it in points[1:])]
    box = {"width": WIDTH, "height": HEIGHT}
    drawn: dict[str, Any] = {
        name: line(values, times=taken, **box) for name, values in columns.items()
    }
    drawn["changes"] = bars(came, went, times=taken, **box)
    return {
        "drawn": drawn,
        "points": _for_a_script(taken, columns, came, went),
        "num_points": len(points),
    }


def _for_a_script(
    taken: Sequence[int],
    columns: Mapping[str, Sequence[int | None]],
    came: Sequence[int],
    went: Sequence[int],
) -> Markup:
    """Return points as JSON that can stand in a page, as short as a chart can do with.

    Times are minutes, all but the first since the one before; sizes are MiB.
    """
    minutes = [it // _MINUTE for it in taken]
    sizes = [None if it is None else round(it / _MEBIBYTE) for it in columns["size"]]
    shown = {
        "taken": [minutes[0], *(after - before for before, after in pairwise(minutes))],
        **columns,
        "size": sizes,
        "added": came,
        "removed": went,
    }
    # Numbers alone, and yet: what ends a script cannot be in it, whatever else comes in.
    return Markup(orjson.dumps(shown).decode().replace("<", "\\u003c"))  # noqa: S704


def _whole(value: str | int | None) -> int | None:
    return None if value is None else int(value)

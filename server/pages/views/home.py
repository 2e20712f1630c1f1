"""What the first page shows beside its answer: a small line of each series."""

from collections.abc import Mapping
from typing import Any

from server.pages.views.lines import Line, line

_SMALL, _LARGE = (120, 24), (600, 120)
"""How wide and high lines are: beside a series in a table, and of the first of them."""


def home_view(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of each series by its name, and whether a generator made any of them up."""
    every = data["allSeries"]
    return {
        "lines": {it["name"]: _line(it, _LARGE if it is every[0] else _SMALL) for it in every},
        "is_synthetic": any(it["latest"]["source"]["synthetic"] for it in every),
    }


def _line(series: Mapping[str, Any], size: tuple[int, int]) -> Line | None:
    newest_first = [it["numSpecs"] for it in series["revisions"]["nodes"]]
    return line(newest_first[::-1], width=size[0], height=size[1])

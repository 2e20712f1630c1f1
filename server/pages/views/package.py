"""A package as its page shows it: coverage as a matrix, and of its specs what tells them apart."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from server.pages.views.spec_tables import telling_apart

MOST_COLUMNS, MOST_ROWS = 12, 40
"""How many versions and other values a matrix has: the newest, and those with most specs."""

MOST_DEPENDENTS = 40
"""How many packages that need one are named."""

_LEVELS = 4


class Cell(NamedTuple):
    """A version in combination with another value: how many specs, and how dark that is.

    ``level`` goes from 0, where there is none, to 4.
    """

    version: str
    num_specs: int
    level: int


class Matrix(NamedTuple):
    """Versions beside each other, newest first, and below them a row for each other value.

    ``num_rows`` and ``num_columns`` count all, ``rows`` and ``versions`` are those that are shown.
    ``num_specs`` is the sum of all cells.
    """

    versions: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    num_columns: int
    num_rows: int
    num_specs: int


def package_view(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the matrix, the variants, and the packages that need the package."""
    package = data["revision"]["package"]
    above = ((data.get("needed") or {}).get("package") or {}).get("dependents")
    return {
        "matrix": matrix(package["coverage"], package["versions"]),
        "dependents": above and above[:MOST_DEPENDENTS],
        "dependents_left": max(0, len(above or ()) - MOST_DEPENDENTS),
        **telling_apart(package["specs"]["nodes"]),
    }


def matrix(cells: Sequence[Mapping[str, Any]], versions: Sequence[str]) -> Matrix:
    """Return the matrix of cells whose values are another value and a version, of these."""
    counts: dict[str, dict[str, int]] = {}
    for cell in cells:
        value, version = cell["values"]
        counts.setdefault(value, {})[version] = cell["numSpecs"]
    columns = versions[:MOST_COLUMNS]
    weighty = sorted(counts, key=lambda value: -sum(counts[value].values()))[:MOST_ROWS]
    largest = max((cell["numSpecs"] for cell in cells), default=1)
    shown = set(weighty)
    rows = [
        (value, [_cell(version, of_value.get(version, 0), largest) for version in columns])
        for value, of_value in counts.items()
        if value in shown
    ]
    total = sum(cell["numSpecs"] for cell in cells)
    return Matrix(columns, rows, len(versions), len(counts), total)


def _cell(version: str, num_specs: int, largest: int) -> Cell:
    level = -(-_LEVELS * num_specs // largest)
    return Cell(version, num_specs, level)

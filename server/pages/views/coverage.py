"""Lost and gained coverage as a matrix."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MOST_FIELDS = 2_500
"""How many fields the matrix may have, empty ones too: its page is to stay small."""

Cells = Mapping[str, Mapping[str, Any]]


class Row(NamedTuple):
    """A row of the matrix: its names, and its cells by the names of their columns."""

    names: tuple[str, ...]
    cells: Cells


class Matrix(NamedTuple):
    """Cells by rows and columns; ``num_shown`` of all there are stand in it."""

    columns: list[str]
    rows: list[Row]
    num_shown: int


def matrix(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return lost and gained cells as a matrix.

    Its columns are the values of the first dimension that was asked for; its rows are the packages,
    with the values of the others. It ends before it has more than MOST_FIELDS.
    """
    rows: list[Row] = []
    columns: set[str] = set()
    num_shown = 0
    for names, cells in _by_row(data["compare"]["matrix"]["nodes"]).items():
        if len(columns | cells.keys()) * (len(rows) + 1) > MOST_FIELDS:
            break
        columns |= cells.keys()
        rows.append(Row(names, cells))
        num_shown += len(cells)
    return {"cells": Matrix(sorted(columns), rows, num_shown)}


def _by_row(nodes: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return cells by the names of their rows and the name of their column, in their order."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for node in nodes:
        column, *others = node["values"] or [""]
        rows.setdefault((node["package"], *others), {})[column] = node
    return rows

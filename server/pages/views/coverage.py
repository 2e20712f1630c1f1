"""Lost and gained coverage as a matrix."""

from collections.abc import Mapping
from typing import Any, NamedTuple

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
    with the values of the others.
    """
    nodes = data["compare"]["matrix"]["nodes"]
    columns = {it["values"][0] for it in nodes if it["values"]}
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for node in nodes:
        first, *others = node["values"] or [""]
        rows.setdefault((node["package"], *others), {})[first] = node
    told = [Row(names, cells) for names, cells in rows.items()]
    return {"cells": Matrix(sorted(columns) or [""], told, len(nodes))}

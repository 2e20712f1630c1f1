"""Costs of building specs: measured costs, and their sums over rows.

A cost is looked up by the hash of a spec. If the hash has none, the median of its package is used
and counts as estimated. docs/questions.md defines the terms.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.frames.columns import Arrays, Mask, Rows
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import Hashes, words_of
from snapshots.texts import counted

Numbers = npt.NDArray[np.float64]

_MINUTE, _HOUR = 60, 3_600


class BuildCost(msgspec.Struct, frozen=True):
    """The cost of building some specs: the sum over those whose cost is known or estimated.

    ``seconds`` and ``cost`` are None if the cost of no spec is known; ``cost`` is in ``unit``, as
    the file of costs names it, and None without a unit. ``num_estimated`` specs are included with
    the median of their package. ``num_unknown`` specs have no known cost and are not included in
    the sums.
    """

    seconds: float | None
    cost: float | None
    unit: str | None
    num_estimated: int
    num_unknown: int

    def __add__(self, other: "BuildCost") -> "BuildCost":
        """Return the sum of two costs, which must have the same unit."""
        return BuildCost(
            _sum(self.seconds, other.seconds),
            _sum(self.cost, other.cost),
            self.unit or other.unit,
            self.num_estimated + other.num_estimated,
            self.num_unknown + other.num_unknown,
        )

    def __str__(self) -> str:
        """Return the cost for terminal output: 12.5 hours, 3.40 USD (2 estimated, 1 unknown)."""
        if self.seconds is None:
            return "build time unknown" if self.num_unknown else "no build time"
        text = duration(self.seconds)
        if self.cost is not None:
            text += f", {self.cost:,.2f} {(self.unit or '').upper()}"
        doubts = {"estimated": self.num_estimated, "unknown": self.num_unknown}
        named = [f"{number:,} {doubt}" for doubt, number in doubts.items() if number]
        return f"{text} ({', '.join(named)})" if named else text


NO_COST = BuildCost(None, None, None, 0, 0)
"""The cost of building no specs."""


def sum_of(costs: Iterable[BuildCost]) -> BuildCost:
    """Return the sum of several costs, which must have the same unit."""
    return reduce(BuildCost.__add__, costs, NO_COST)


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def duration(seconds: float) -> str:
    """Return a build time in the largest unit of which it is at least one."""
    if round(seconds) < _MINUTE:
        return counted(round(seconds), "second")
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} minutes"
    return f"{seconds / _HOUR:,.1f} hours"


class FrameCosts(Arrays, msgspec.Struct, frozen=True):
    """The cost of building each row of a frame; NaN if it is not known.

    ``cost`` is None if costs are only in seconds.
    """

    seconds: Numbers
    cost: Numbers | None
    unit: str | None
    is_estimated: Mask

    def total(self, rows: npt.NDArray[np.integer[Any]]) -> BuildCost:
        """Return the sum over some rows."""
        seconds = self.seconds[rows]
        known = ~np.isnan(seconds)
        num_unknown = len(rows) - int(np.count_nonzero(known))
        is_known = num_unknown < len(rows)
        return BuildCost(
            float(seconds[known].sum()) if is_known else None,
            float(self.cost[rows][known].sum()) if is_known and self.cost is not None else None,
            self.unit,
            int(np.count_nonzero(self.is_estimated[rows] & known)),
            num_unknown,
        )


def costs_by_number(
    costs: FrameCosts, rows: Rows, numbers: npt.NDArray[np.integer[Any]]
) -> dict[int, BuildCost]:
    """Return the sum over the rows of each number; rows with the number -1 are omitted."""
    order = np.argsort(numbers, kind="stable")
    order = order[np.searchsorted(numbers[order], 0) :]
    distinct, starts = np.unique(numbers[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return {
        number: costs.total(part) for number, part in zip(distinct.tolist(), parts, strict=False)
    }


class Costs:
    """The costs of a catalog: rows with ``hash`` or ``name``, ``seconds``, ``cost`` and ``unit``.

    If several rows have the same hash, the last one counts.
    """

    def __init__(self, rows: pa.Table) -> None:
        by_hash = rows.filter(pc.is_valid(rows["hash"]))
        texts = by_hash["hash"].combine_chunks()
        _, places = np.unique(np.asarray(texts.to_pylist(), object)[::-1], return_index=True)
        by_hash = by_hash.take(pa.array(np.sort(len(texts) - 1 - places)))
        self._rows = pa.concat_tables([by_hash, rows.filter(pc.is_null(rows["hash"]))])
        self._hashes = Hashes(words_of(by_hash["hash"]))
        units = pc.unique(rows["unit"].drop_null()).to_pylist()
        self.unit: str | None = units[0] if units else None

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, frame: Frame) -> FrameCosts:
        """Return the cost of building each row of a frame."""
        places = frame.hashes.match(self._hashes)
        is_estimated = places < 0
        columns = {
            name: self._looked_up(frame, values, medians, places)
            for name, (values, medians) in self._columns.items()
        }
        cost = columns["cost"] if self.unit is not None else None
        return FrameCosts(columns["seconds"], cost, self.unit, is_estimated)

    def of_packages(self, names: Sequence[str]) -> FrameCosts:
        """Return the cost of building a spec of each package: the median of its rows."""
        seconds, cost = (
            np.array([medians.get(name, np.nan) for name in names], np.float64)
            for _, medians in self._columns.values()
        )
        is_estimated = np.ones(len(names), np.bool_)
        return FrameCosts(seconds, None if self.unit is None else cost, self.unit, is_estimated)

    def _looked_up(
        self, frame: Frame, values: Numbers, medians: dict[str, float], places: Rows
    ) -> Numbers:
        of_packages = np.array([medians.get(name, np.nan) for name in frame.packages], np.float64)
        estimates: Numbers = of_packages[frame.package.codes]
        if len(self._hashes):
            estimates = np.where(places < 0, estimates, values[np.maximum(places, 0)])
        return estimates

    @cached_property
    def _columns(self) -> dict[str, tuple[Numbers, dict[str, float]]]:
        """The values of each column, and their medians by package name."""
        names = self._rows["name"].combine_chunks().dictionary_encode()
        codes = np.asarray(names.indices.fill_null(-1))
        packages = names.dictionary.to_pylist()
        columns = {}
        for name in ("seconds", "cost"):
            values = np.asarray(pc.fill_null(self._rows[name], np.nan), np.float64)
            columns[name] = values, dict(zip(packages, _medians(codes, values), strict=True))
        return columns


def _medians(codes: npt.NDArray[np.int32], values: Numbers) -> list[float]:
    """Return the median of the values of each code; values of code -1 are omitted."""
    order = np.lexsort((values, codes))
    order = order[np.searchsorted(codes[order], 0) :]
    counts = np.bincount(codes[order])
    starts = np.cumsum(counts) - counts
    in_order = values[order]
    halves = in_order[starts + (counts - 1) // 2] + in_order[starts + counts // 2]
    medians: list[float] = (halves / 2).tolist()
    return medians

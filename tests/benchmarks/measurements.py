"""Measurements of contenders, which alternate: other load on the machine affects them equally."""

import gc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Literal

import msgspec

Turn = Callable[[], float]
"""One contender's part of a round: it measures itself, and returns the value."""


class Target(msgspec.Struct, frozen=True):
    """A bound of cachelog: of the ratio to the reference, or of the median."""

    at_most: float
    of: Literal["ratio", "median"] = "ratio"


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one contender; ``values`` are those of the rounds, in their order.

    ``ratio`` is its median divided by that of the first contender, the reference. It is None if a
    subject has only one contender, or contenders that cannot be compared.
    """

    benchmark: str
    subject: str
    contender: str
    unit: str
    median: float
    low: float
    high: float
    values: list[float]
    ratio: float | None
    target: Target | None
    met: bool | None


def measure(
    benchmark: str,
    subject: str,
    contenders: Mapping[str, Turn],
    *,
    unit: str,
    rounds: int,
    targets: Mapping[str, Target] | None = None,
) -> list[Measurement]:
    """Give every contender one turn per round, A B C A B C ..., and compare the results.

    A round before the first only warms up, unless there is a single round, which only shows that
    all contenders run.
    """
    values: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(0 if rounds > 1 else 1, rounds + 1):
        for name, turn in contenders.items():
            if rounds > 1:
                gc.collect()  # the garbage of the previous turn
            value = turn()
            if number:
                values[name].append(value)
    return compared(benchmark, subject, values, unit=unit, targets=targets or {})


def compared(
    benchmark: str,
    subject: str,
    values: Mapping[str, Sequence[float]],
    *,
    unit: str,
    targets: Mapping[str, Target],
) -> list[Measurement]:
    """Return the measurement of each contender; the first one is the reference.

    ``values`` are those of the rounds. Values and targets are by contender.
    """
    reference = median(next(iter(values.values())))
    return [
        summary(
            benchmark,
            subject,
            name,
            unit=unit,
            values=[*of_name],
            ratio=median(of_name) / reference if len(values) > 1 else None,
            target=targets.get(name),
        )
        for name, of_name in values.items()
    ]


def summary(
    benchmark: str,
    subject: str,
    contender: str,
    *,
    unit: str,
    values: list[float],
    ratio: float | None = None,
    target: Target | None = None,
) -> Measurement:
    """Return the measurement of one contender."""
    middle = median(values)
    met = None
    if target is not None:
        bounded = middle if target.of == "median" else ratio
        met = bounded is not None and bounded <= target.at_most
    return Measurement(
        benchmark=benchmark,
        subject=subject,
        contender=contender,
        unit=unit,
        median=middle,
        low=min(values),
        high=max(values),
        values=values,
        ratio=ratio,
        target=target,
        met=met,
    )


def milliseconds(function: Callable[[], object]) -> float:
    """Return the duration of one call."""
    started = perf_counter()
    function()
    return (perf_counter() - started) * 1_000


def set_aside() -> None:
    """Exclude all existing objects from garbage collections: they are no work of a contender."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()

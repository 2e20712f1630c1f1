"""Contenders take turns, so that what disturbs the machine disturbs all of them alike."""

import gc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Literal

import msgspec

Turn = Callable[[], float]
"""One contender's part of a round: it measures itself and returns what it measured."""


class Target(msgspec.Struct, frozen=True):
    """What cachelog means to keep to: a bound of the ratio to the reference, or of the median."""

    at_most: float
    of: Literal["ratio", "median"] = "ratio"


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What the rounds of one contender came to; ``values`` has each of them, in their order.

    ``ratio`` is the median over that of the first contender, which is the reference; None where a
    subject has a single contender, or where its contenders cannot be compared.
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
    """Give every contender a turn a round, A B C A B C ..., and return one Measurement each.

    The first contender is the reference. A round before the first warms up and does not count; a
    single round only shows that all run, and needs none. ``targets`` are by contender.
    """
    values: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(0 if rounds > 1 else 1, rounds + 1):
        for name, turn in contenders.items():
            if rounds > 1:
                gc.collect()  # what the one before left is not this one's to collect
            value = turn()
            if number:
                values[name].append(value)
    reference = median(next(iter(values.values())))
    return [
        summary(
            benchmark,
            subject,
            name,
            unit=unit,
            values=found,
            ratio=median(found) / reference if len(values) > 1 else None,
            target=(targets or {}).get(name),
        )
        for name, found in values.items()
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
    """Return what the values of one contender came to."""
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


def beside_first(
    benchmark: str,
    subject: str,
    values: Mapping[str, Sequence[float]],
    *,
    unit: str,
    target: Target | None = None,
) -> list[Measurement]:
    """Return a measurement of each contender; the first is the reference, of the others the target.

    It serves where contenders cannot take turns, or one turn measures many things.
    """
    reference = median(next(iter(values.values())))
    return [
        summary(
            benchmark,
            subject,
            name,
            unit=unit,
            values=[*of_name],
            ratio=median(of_name) / reference,
            target=target if number else None,
        )
        for number, (name, of_name) in enumerate(values.items())
    ]


def milliseconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = perf_counter()
    function()
    return (perf_counter() - started) * 1_000


def set_aside() -> None:
    """Spare the collector what all contenders have prepared: it is not part of their work."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()

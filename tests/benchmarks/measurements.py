"""Measurements of contenders, which alternate: other load on the machine affects them equally."""

import gc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter

import msgspec

Turn = Callable[[], float]
"""One contender's part of a round: it measures itself, and returns the value."""


class Measurement(msgspec.Struct, frozen=True):
    """The results of one contender; ``values`` are those of the rounds, in their order.

    ``ratio`` is its median divided by that of the first contender, the reference. It is None if a
    subject has only one contender, or contenders that cannot be compared.
    """

    benchmark: str
    subject: str
    contender: str
    unit: str
    values: list[float]
    ratio: float | None = None

    @property
    def median(self) -> float:
        """The value that counts."""
        return median(self.values)


def measure(
    benchmark: str,
    subject: str,
    contenders: Mapping[str, Turn],
    *,
    unit: str,
    rounds: int,
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
    return compared(benchmark, subject, values, unit=unit)


def compared(
    benchmark: str, subject: str, values: Mapping[str, Sequence[float]], *, unit: str
) -> list[Measurement]:
    """Return the measurement of each contender from the values of its rounds.

    The first contender is the reference.
    """
    reference = median(next(iter(values.values())))
    return [
        Measurement(
            benchmark,
            subject,
            name,
            unit,
            [*of_name],
            median(of_name) / reference if len(values) > 1 else None,
        )
        for name, of_name in values.items()
    ]


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

"""Random choices that are the same in every version of Python, and access to the data files."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw(Random):
    """A seeded source of random choices.

    It uses only ``random()``, the one method whose sequence Python guarantees, and arithmetic that
    IEEE 754 defines exactly.
    """

    def low(self) -> float:
        """Return a number from 0 (inclusive) to 1 (exclusive); low numbers are more likely."""
        number = self.random()
        return number * number

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices, all equally likely."""
        return choices[int(self.random() * len(choices))]

    def some(self, choices: Sequence[T], number: int) -> list[T]:
        """Return ``number`` different choices, or all if there are fewer, in random order."""
        remaining = list(choices)
        picks = min(number, len(remaining))
        return [remaining.pop(int(self.random() * len(remaining))) for _ in range(picks)]


def data_of(name: str) -> str:
    """Return the text of a file in this module's folder."""
    return Path(__file__).with_name(name).read_text("utf-8")

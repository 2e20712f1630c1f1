"""Random choices that are the same in every version of Python, and the data they are made of."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw(Random):
    """A seeded source of choices.

    It builds on ``random()`` alone, the one method whose sequence Python promises to keep, and on
    arithmetic that IEEE 754 defines to the last bit.
    """

    def low(self) -> float:
        """Return a number from 0 up to but not 1, more often a low one than a high one."""
        number = self.random()
        return number * number

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices, each as likely as the others."""
        return choices[int(self.random() * len(choices))]

    def pick_early(self, choices: Sequence[T]) -> T:
        """Return one of the choices, more often one of the first."""
        return choices[int(self.low() * len(choices))]

    def some(self, choices: Sequence[T], number: int) -> list[T]:
        """Return that many different choices, or all where there are fewer, in random order."""
        left = list(choices)
        picks = min(number, len(left))
        return [left.pop(int(self.random() * len(left))) for _ in range(picks)]


def data_of(name: str) -> str:
    """Return the text of a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")

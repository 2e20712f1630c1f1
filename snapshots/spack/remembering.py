"""Functions of texts that remember what they returned, in little memory whatever they are asked.

Clients send texts, too: a version of 4,000 characters is no real one, but its sort key has 150 kB.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result")

_FEW = 64
"""So many longer texts are remembered: those of a query, which is asked of many specs."""


def remembered(
    most: int, longest: int = 64
) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Have a function remember its results of so many texts, and of a few longer ones.

    ``longest`` is how many characters each of the many may have.
    """

    def decorated(function: Callable[[str], Result]) -> Callable[[str], Result]:
        of_usual, of_long = lru_cache(most)(function), lru_cache(_FEW)(function)

        @wraps(function)
        def remembering(text: str) -> Result:
            return of_usual(text) if len(text) <= longest else of_long(text)

        return remembering

    return decorated

"""What is tried anew where others commit to a table at the same time."""

from collections.abc import Iterator
from random import random
from time import sleep

_ATTEMPTS = 12
_WAIT_SECONDS = 0.05


def attempts() -> Iterator[int]:
    """Yield the number of each attempt, and wait after those that failed, each time longer."""
    for attempt in range(_ATTEMPTS):
        yield attempt
        sleep(_WAIT_SECONDS * (attempt + random()))  # noqa: S311 - so that two do not keep pace

"""What processes do beside this one, done in it: so tests can look at each step."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from snapshots.catalog.workers import _functions


@contextmanager
def in_one_thread(
    _jobs: int, _location: str, function: Callable[[Any], Any]
) -> Iterator[ThreadPoolExecutor]:
    """Yield one thread in place of so many processes, which calls the function as they do."""
    with ThreadPoolExecutor(1, initializer=_functions.append, initargs=(function,)) as pool:
        yield pool

"""What processes do beside this one, done in it: so tests can look at each step."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def in_one_thread(
    _jobs: int, location: str, begin: Callable[[str], None], _needed: str
) -> Iterator[ThreadPoolExecutor]:
    """Yield one thread in place of so many processes, which has begun as they do."""
    with ThreadPoolExecutor(1, initializer=begin, initargs=(location,)) as pool:
        yield pool

"""Memory usage, measured by Python's own tracing of allocations."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def measured(make: Callable[[], Result], use: Callable[[Result], object]) -> tuple[Result, int]:
    """Return the result of ``make``, and the number of bytes that it holds after its use.

    Arrays of numpy are counted. Those of Arrow are not, as Python does not allocate them.
    """
    use(make())  # so that imports and shared caches are not counted
    gc.collect()
    tracemalloc.start()
    try:
        result = make()
        use(result)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, held

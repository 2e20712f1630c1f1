"""How much memory things take, as Python's own tracing of allocations measures it."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def measured(make: Callable[[], Made], use: Callable[[Made], object]) -> tuple[Made, int]:
    """Return what ``make`` returns, and the bytes that it holds once it was used.

    numpy's arrays count, Arrow's do not: of those Python knows nothing.
    """
    use(make())  # what is imported or kept for all is not counted
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        use(made)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return made, held

"""What a request may use while it runs: time, and bytes of its answer."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from schema.limits import Limits

Item = TypeVar("Item")


class BudgetExceeded(BaseException):
    """A request has used what it may, or nobody waits for its answer any longer.

    ``code`` is for programs. No Exception, so that it leaves the executor at once instead of
    becoming a field's error: what the request held is freed on the way.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


TIMEOUT = "QUERY_TIMEOUT"
TOO_MANY_BYTES = "ANSWER_TOO_LARGE"
CANCELLED = "REQUEST_CANCELLED"
QUERY_TOO_LARGE = "QUERY_TOO_LARGE"

MAX_LEVELS = 50_000
"""How many levels of dependencies a request may walk through; a level takes some 15 µs.

Those of real caches are some 40 deep, which prices are made for.
"""


class Budget:
    """What one request has used of what it may.

    The clock starts when the budget is made, and stands still while the request waits for what is
    loaded for everybody. ``cancel`` may be called from any thread; the request ends at its next
    check, which is never further away than one field of a list.
    """

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - a frozen record
        self.limits = limits
        self.num_bytes = 0
        self._num_levels = 0
        self._max_bytes = limits.max_answer_bytes
        self._ends = monotonic() + limits.max_seconds
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the request: nobody waits for its answer."""
        self._is_cancelled = True
        self._ends = float("-inf")

    def check(self) -> None:
        """Raise BudgetExceeded where the time is over, or the request was cancelled."""
        if monotonic() > self._ends:
            raise self._exceeded()

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, with a check before each of them."""
        for item in items:
            self.check()
            yield item

    def levels(self, levels: Iterable[Item]) -> Iterator[Item]:
        """Yield the levels of a walk; raises BudgetExceeded after too many in all walks."""
        for level in self.each(levels):
            self._num_levels += 1
            if self._num_levels > MAX_LEVELS:
                message = (
                    f"The request walks through more than {MAX_LEVELS:,} levels of dependencies, "
                    "which is what is allowed. Take smaller pages, or no transitive lists."
                )
                raise BudgetExceeded(QUERY_TOO_LARGE, message)
            yield level

    def spend(self, num_bytes: int) -> None:
        """Count bytes of the answer, with a check; raises BudgetExceeded where either is over."""
        self.num_bytes += num_bytes
        if self.num_bytes > self._max_bytes:
            self.reach(self.num_bytes)
        if monotonic() > self._ends:
            raise self._exceeded()

    def reach(self, num_bytes: int) -> None:
        """Say how many bytes the answer has so far; raises BudgetExceeded as ``spend``."""
        self.num_bytes = num_bytes
        if num_bytes > self._max_bytes:
            message = (
                f"The answer has more than {self._max_bytes:,} bytes, which is what is allowed. "
                "Take smaller pages, or select fewer fields."
            )
            raise BudgetExceeded(TOO_MANY_BYTES, message)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Stop the clock for what is done for all requests, such as loading a revision."""
        began = monotonic()
        try:
            yield
        finally:
            self._ends += monotonic() - began
            if self._is_cancelled:  # perhaps between the two halves of the line above
                self._ends = float("-inf")

    def _exceeded(self) -> BudgetExceeded:
        if self._is_cancelled:
            return BudgetExceeded(CANCELLED, "The request was cancelled.")
        seconds = f"{self.limits.max_seconds:g}"
        message = (
            f"The request takes longer than {seconds} seconds, which is what is allowed. "
            "Take smaller pages, or ask for less at a time."
        )
        return BudgetExceeded(TIMEOUT, message)
